"""A surface in space with its coordinate curves: what a decoder with two latents spans."""

from collections.abc import Callable, Mapping
from math import cos, radians, sin
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.path import Path

from unpick.papers.zietlow2022.surfaces.cells import BENT
from unpick.papers.zietlow2022.surfaces.readings import probe_pca
from unpick.plots.style import BLUE, GREEN, ORANGE
from unpick.probe import Probe, probe_run, read_posterior
from unpick.study.study import Results

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d import Axes3D

Array = np.ndarray
Decode = Callable[[Float[Array, "m 2"]], Float[Array, "m 3"]]

# Of the eye, in degrees. From -90 degrees the second direction goes up and the first to the right,
# so that right angles between them look right; higher up, others change little.
ELEVATION, AZIMUTH = 65.0, -90.0
SHOWN = 1200  # points
CURVES = 8  # of the net, a latent; even, so that none hides behind the strong one


def draw(column: str, results: Results) -> Figure | None:
    """The surface of PCA or of seed 0 of a column, titled with its measures."""
    if column == "PCA":
        return draw_surface(column, probe_pca(BENT.load()), results.computed["pca"])
    outcome = results.rows().get(BENT.name, {}).get(column)
    if outcome is None:
        return None
    values = {name: float(each[0]) for name, each in outcome.values.items()}
    return draw_surface(column, probe_run(outcome.runs[0]), values)


def draw_surface(name: str, probe: Probe, values: Mapping[str, float]) -> Figure:
    """The surface of a model; blue is the latent that moves the reconstruction more."""
    codes = probe.mean.double()
    square = torch.cartesian_prod(torch.linspace(0, 1, 60), torch.linspace(0, 1, 30))
    grid = read_posterior(probe.encode(BENT.sheet(square))).mean.detach().double()
    reach = codes.std(0) * probe.jacobians.double().norm(dim=1).mean(0)
    order = reach.argsort(descending=True)  # of two latents: its own inverse

    def decode(z: Float[Array, "m 2"]) -> Float[Array, "m 3"]:
        latents = torch.from_numpy(z)[:, order].to(probe.mean.dtype)
        return probe.decoder(latents).detach().double().numpy()

    return coordinate_surface(
        probe.observations.double().numpy(),
        codes[:, order].detach().numpy(),
        grid[:, order].reshape(60, 30, 2).numpy(),
        decode,
        f"{name}: squared error {values['squared error']:.3f}, "
        f"curves cross at {values['crossing angle']:.0f}°",
    )


def coordinate_surface(
    points: Float[Array, "n 3"],
    codes: Float[Array, "n 2"],
    grid: Float[Array, "a b 2"],
    decode: Decode,
    title: str,
) -> Figure:
    """The cloud in green, the decoder's surface in blue, and the curves of either latent.

    Along a curve one latent changes and the other stays: blue where the first changes, orange
    where the second does, strong through the median code and faint beside it. The eye is placed
    by the principal directions of the cloud, so that pictures of one cloud can be compared; a unit
    is as long in all directions.

    Args:
        points: The cloud.
        codes: The latents of each point.
        grid: The latents of a grid laid over the cloud: how far the surface is drawn.
        decode: From latents to space.
        title: Of the picture.
    """
    centre, turn = points.mean(0), principal(points)

    def place(x: Float[Array, "m 3"]) -> Float[Array, "m 3"]:
        return (x - centre) @ turn

    figure = Figure(figsize=(5.0, 3.7))  # a layout engine would shrink axes that are zoomed into
    axes: Axes3D = figure.add_axes((0, 0.04, 1, 1), projection="3d", computed_zorder=False)
    axes.set_proj_type("ortho")
    axes.view_init(ELEVATION, AZIMUTH)
    rows, columns = grid.shape[:2]
    sheet = place(decode(grid.reshape(-1, 2))).reshape(rows, columns, 3)
    look: dict[str, Any] = {"rcount": rows, "ccount": columns, "antialiased": False, "zorder": 2}
    look |= {"facecolors": shades(sheet), "shade": False, "rasterized": True, "clip_on": False}
    axes.plot_surface(*np.moveaxis(sheet, 2, 0), **look)
    scatter(axes, place(points[:SHOWN]), place(decode(codes[:SHOWN])))
    middle = np.median(codes, axis=0)
    for latent, colour, name in ((0, BLUE, "first"), (1, ORANGE, "second")):
        look = {"color": colour, "clip_on": False}
        other = grid[..., 1 - latent]
        for level in np.linspace(other.min(), other.max(), CURVES + 2)[1:-1]:
            net = place(decode(line(grid, latent, level)))
            axes.plot(*net.T, linewidth=0.8, alpha=0.7, zorder=3, **look)
        curve = place(decode(line(grid, latent, middle[1 - latent])))
        axes.plot(*curve.T, linewidth=3, zorder=6, label=f"{name} latent changes", **look)
    cloud = place(points)
    low, high = cloud.min(0), cloud.max(0)
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    axes.set_box_aspect(high - low, zoom=1.3)
    axes.set_axis_off()
    figure.suptitle(title, fontsize="medium", y=0.98)
    figure.legend(loc="lower center", ncols=3, handlelength=1.2, markerscale=2)
    return figure


def shades(sheet: Float[Array, "a b 3"]) -> Float[Array, "a b 4"]:
    """Blue, lighter where the surface faces up; both sides have the same colour."""
    normal = np.cross(np.gradient(sheet, axis=0), np.gradient(sheet, axis=1))
    lit = np.abs(normal[..., 2:]) / np.linalg.norm(normal, axis=2, keepdims=True)
    dark, light = np.array(to_rgba("#5e9fc9")), np.array(to_rgba("#d3e8f6"))
    return dark + lit * (light - dark)


def scatter(axes: "Axes3D", points: Float[Array, "n 3"], foot: Float[Array, "n 3"]) -> None:
    """Draw points in front of the surface over it, and those behind it faintly.

    Args:
        axes: Where to draw.
        points: The cloud.
        foot: The reconstruction of each point, on the surface.
    """
    up, around = radians(ELEVATION), radians(AZIMUTH)
    eye = np.array([cos(up) * cos(around), cos(up) * sin(around), sin(up)])
    before = (points - foot) @ eye > 0
    look: dict[str, Any] = {"s": 6, "linewidth": 0, "depthshade": False}
    look |= {"color": GREEN, "rasterized": True, "clip_on": False}
    axes.scatter(*points[~before].T, zorder=1, **look)
    axes.scatter(*points[~before].T, zorder=4, alpha=0.2, **look)
    axes.scatter(*points[before].T, zorder=5, label="data", **look)


def principal(points: Float[Array, "n 3"]) -> Float[Array, "3 3"]:
    """Principal directions as columns, right-handed, the cloud bulging upwards."""
    x = points - points.mean(0)
    turn = np.linalg.svd(x, full_matrices=False)[2].T
    turn *= np.sign(turn.sum(0))  # an SVD leaves the signs open
    height = x @ turn[:, 2]
    turn[:, 2] *= np.sign(np.median(height) - height.mean())
    turn[:, 1] *= np.linalg.det(turn)
    return turn


def line(grid: Float[Array, "a b 2"], latent: int, level: float) -> Float[Array, "m 2"]:
    """Codes along which `latent` changes and the other is at `level`; nan beyond the sheet."""
    rim = np.concatenate([grid[0], grid[:, -1], grid[-1, ::-1], grid[::-1, 0]])
    codes = np.full((400, 2), level)
    codes[:, latent] = np.linspace(grid[..., latent].min(), grid[..., latent].max(), 400)
    codes[~Path(rim).contains_points(codes)] = np.nan
    return codes
