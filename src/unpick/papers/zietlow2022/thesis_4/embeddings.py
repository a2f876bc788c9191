"""Figure 4.1 of Zietlow (2022): small ripples turn the principal directions of a surface."""

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from unpick.papers.zietlow2022.surfaces.figures import shades
from unpick.plots.style import BLACK, BLUE, GREEN, ORANGE
from unpick.study.study import Results
from unpick.theory.columns import plane_turn

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d import Axes3D

Array = np.ndarray
Square = Float[Array, "n 2"]  # points of the unit square
Space = Float[Array, "n 3"]
HALF, WIDTH = np.radians(60), 1.8  # of a strip on a cylinder of radius 1
EPSILON, WAVES = 0.05, 9.0  # size of the ripples, and how many there are from corner to corner
NOISE, POINTS, MOVED = 0.04, 350, 70  # of the cloud; points that are shown moving
GRID = 101  # points a side of a drawn surface


def sheet(square: Square, epsilon: float = 0.0) -> Space:
    """A bent strip, moved by up to epsilon along its normal, in waves along a diagonal."""
    angle = HALF * (2 * square[:, 0] - 1)
    wave = np.sin(2 * np.pi * WAVES * square.mean(1))
    radius = 1 + epsilon * wave
    across = WIDTH * (square[:, 1] - 0.5)
    return np.stack([radius * np.sin(angle), across, radius * np.cos(angle)], 1)


def principal_turn(epsilon: float) -> float:
    """By how many degrees the latents that noise costs least are turned from the two factors.

    Latents are turned factors of unit variance. With the same noise everywhere a turn R costs the
    noise's variances times the diagonal of R^T E[J^T J] R, so the best one diagonalises E[J^T J].
    """
    square = np.random.default_rng(0).uniform(size=(4000, 2))
    step, deviation = 1e-5, np.sqrt(1 / 12)  # that of a uniform factor
    columns = [sheet(square + a, epsilon) - sheet(square - a, epsilon) for a in step * np.eye(2)]
    jacobians = deviation * np.stack(columns, 2) / (2 * step)
    gram = np.einsum("npi,npj->ij", jacobians, jacobians)
    return float(np.degrees(np.arctan2(2 * gram[0, 1], gram[0, 0] - gram[1, 1])) / 2)


def draw_embeddings(results: Results) -> Figure:
    """Figure 4.1: a plane, a curved surface, one with ripples, and how points move to it."""
    draw = np.random.default_rng(1)
    square = draw.uniform(size=(POINTS, 2))
    cloud = sheet(square) + NOISE * draw.normal(size=(POINTS, 3))
    turns = {epsilon: principal_turn(epsilon) for epsilon in (0.0, EPSILON)}
    figure = Figure(figsize=(10.4, 2.6))
    for k, title in enumerate(
        (
            "(i) PCA",
            "(ii) curved: along the factors",
            f"(iii) rippled: turned by {abs(turns[EPSILON]):.0f}°",
            "(iv) where points are to go",
        )
    ):
        axes: Axes3D = figure.add_axes(
            (0.25 * k, -0.04, 0.25, 1.0), projection="3d", computed_zorder=False
        )
        axes.set_proj_type("ortho")
        axes.view_init(60, -90)
        epsilon = EPSILON if k > 1 else 0.0
        level = cloud[:, 2].mean() if k == 0 else None
        _surface(axes, epsilon, level)
        if k < 3:
            for latent, colour in enumerate((BLUE, ORANGE)):
                line = _place(_line(turns[epsilon], latent), epsilon, level)
                axes.plot(*line.T, color=colour, linewidth=2.2, zorder=6)
            axes.scatter(*cloud.T, s=4, color=GREEN, linewidth=0, depthshade=False, zorder=4)
        else:
            _moves(axes, cloud[:MOVED], sheet(square[:MOVED], epsilon))
        low, high = cloud.min(0), cloud.max(0)
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
        axes.set_box_aspect(high - low, zoom=1.22)
        axes.set_axis_off()
        figure.text(0.25 * k + 0.125, 0.93, title, ha="center")
    return figure


def _place(square: Square, epsilon: float, level: float | None) -> Space:
    """On the surface, or on the plane at a height."""
    x = sheet(square, epsilon)
    if level is not None:
        x[:, 2] = level
    return x


def _surface(axes: "Axes3D", epsilon: float, level: float | None) -> None:
    ticks = np.linspace(0, 1, GRID)
    square = np.stack(np.meshgrid(ticks, ticks, indexing="ij"), 2).reshape(-1, 2)
    points = _place(square, epsilon, level).reshape(GRID, GRID, 3)
    look: dict[str, Any] = {"rcount": GRID, "ccount": GRID, "antialiased": False, "zorder": 2}
    look |= {"facecolors": shades(points), "shade": False, "rasterized": True}
    axes.plot_surface(*np.moveaxis(points, 2, 0), **look)


def _line(degrees: float, latent: int) -> Square:
    """Along one latent, through the middle of the square."""
    axis = plane_turn(2, 0, 1, np.radians(degrees))[:, latent]
    line = 0.5 + np.linspace(-0.75, 0.75, 401)[:, None] * axis
    return line[((line >= 0) & (line <= 1)).all(1)]


def _moves(axes: "Axes3D", here: Space, there: Space) -> None:
    """Arrows from points of the cloud to the rippled surface."""
    step = there - here
    axes.quiver(*here.T, *step.T, color=BLACK, linewidth=0.9, arrow_length_ratio=0.35, zorder=5)
    axes.scatter(*here.T, s=8, color=GREEN, linewidth=0, depthshade=False, zorder=6)
