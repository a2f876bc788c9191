"""Where a decoder carries the prior, and the density along curves."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unpick.figures.style import BLACK, COLOURS, GREY

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve through the latent space, and what a decoder makes of it.

    Attributes:
        name: For the legend.
        latent: Its points in the latent space.
        image: The same, decoded.
        density: Of the decoded prior, by length along the curve.
        crossing: Index of the point where it meets the other curves.
    """

    name: str
    latent: Float[Array, "k 2"]
    image: Float[Array, "k 2"]
    density: Float[Array, "k"]
    crossing: int


def pushforward_density(
    latents: Float[Array, "a b 2"],
    image: Float[Array, "a b 2"],
    density: Float[Array, "a b"],
    curves: Sequence[Curve],
    at_crossing: float,
) -> Figure:
    """The decoded prior in a plane, and the densities along curves that cross in it.

    After Allen (2024), figure 1. Above, the latent space and its image, shaded by density by area.
    Below, the density by length along each curve: where they cross, these multiply to the density
    by area if the curves follow singular directions.

    Args:
        latents: A grid.
        image: The same, decoded.
        density: Of the decoded prior, by area.
        curves: Such as the coordinate lines of a decoder with orthogonal columns.
        at_crossing: The density by area where they cross.
    """
    if not curves:
        raise ValueError("curves must hold at least one, got none")
    figure = Figure(figsize=(6.4, 5.6), layout="constrained")
    panels = figure.subplot_mosaic("AB;CC", height_ratios=(1.7, 1))
    prior = np.exp(-0.5 * np.square(latents).sum(2)) / (2 * np.pi)
    _shaded(panels["A"], latents, prior, "latent space: the prior")
    _shaded(panels["B"], image, density, "its image: the decoded prior")
    along = panels["C"]
    for curve, colour in zip(curves, cycle(COLOURS), strict=False):
        k = curve.crossing
        for axes, points in ((panels["A"], curve.latent), (panels["B"], curve.image)):
            axes.plot(*points.T, color=colour, linewidth=1.8)
            axes.plot(*points[k], "o", color=BLACK, markersize=5, zorder=4)
        length = arc_length(curve.image)
        along.plot(length - length[k], curve.density, color=colour, lw=1.8, label=curve.name)
        along.plot(0, curve.density[k], "o", color=BLACK, markersize=5)
    factors = [curve.density[curve.crossing] for curve in curves]
    product = " × ".join(f"{factor:.3f}" for factor in factors)
    along.set_title(
        f"where they cross: {product} = {np.prod(factors):.3f}; density by area {at_crossing:.3f}",
        fontsize=9,
    )
    along.set(xlabel="length along the curve", ylabel="density by length", ylim=(0, None))
    along.legend()
    return figure


def _shaded(
    axes: Axes, grid: Float[Array, "a b 2"], density: Float[Array, "a b"], title: str
) -> None:
    """A grid in the plane, the darker the denser."""
    shown = np.minimum(density, np.quantile(density, 0.995))  # where it folds it is infinite
    x, y = np.moveaxis(grid, 2, 0)
    look: dict[str, Any] = {"cmap": "Greys", "shading": "gouraud", "rasterized": True}
    axes.pcolormesh(x, y, shown, vmin=0, vmax=1.6 * shown.max(), **look)
    for lines in (grid, np.swapaxes(grid, 0, 1)):
        for line in lines[:: max(1, len(lines) // 10)]:
            axes.plot(*line.T, color=GREY, linewidth=0.4)
    axes.set(title=title, aspect="equal")
    axes.set_axis_off()


def arc_length(points: Float[Array, "k 2"]) -> Float[Array, "k"]:
    """Along a curve, from its beginning.

    Example:
        >>> arc_length(np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 6.0]])).tolist()
        [0.0, 5.0, 7.0]
    """
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    return np.concatenate([[0.0], np.cumsum(steps)])
