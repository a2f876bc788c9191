"""Plots of a decoded prior: its density, curves in it, and lengths along them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unpick.plots.style import BLACK, BLUE, COLOURS, GREY, ORANGE

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


@dataclass(frozen=True, eq=False)
class Line:
    """A line through the latent space and its image, with their names.

    Attributes:
        latent: Its points in the latent space.
        image: The same, decoded.
        names: Of the two, as mathtext.
        ends: Which end of either carries the name: 0 or -1.
    """

    latent: Float[Array, "k 2"]
    image: Float[Array, "k 2"]
    names: tuple[str, str]
    ends: tuple[int, int] = (-1, -1)


@dataclass(frozen=True, eq=False)
class Chart:
    """A decoder of two latents, with lines that cross in it.

    Attributes:
        title: Which decoder, and which lines.
        latents: A grid.
        image: The same, decoded; of a surface, as the eye sees it.
        density: Of the decoded prior, by area.
        lines: Those that cross.
        crossing: Where they do, in the latent space and decoded.
        directions: Singular vectors there as columns, right ones and left ones.
        point: Name of the crossing in the latent space.
    """

    title: str
    latents: Float[Array, "a b 2"]
    image: Float[Array, "a b 2"]
    density: Float[Array, "a b"]
    lines: Sequence[Line]
    crossing: tuple[Float[Array, "2"], Float[Array, "2"]]
    directions: tuple[Float[Array, "2 2"], Float[Array, "2 2"]]
    point: str


def carried_lines(charts: Sequence[Chart]) -> Figure:
    """Lines in the latent space, blue, and what decoders make of them, orange.

    After Allen (2024), figure 1: a column a decoder. Shaded is the density, grey the standard
    grid and its image; arrows are singular vectors where the lines cross.
    """
    if not charts:
        raise ValueError("charts must hold at least one, got none")
    figure = Figure(figsize=(3.7 * len(charts), 6.9), layout="constrained")
    above, below = figure.subplots(2, len(charts), squeeze=False)
    for chart, latent, image in zip(charts, above, below, strict=True):
        prior = np.exp(-0.5 * np.square(chart.latents).sum(2)) / (2 * np.pi)
        _shaded(latent, chart.latents, prior, f"{chart.title}\n\nlatent space")
        _shaded(image, chart.image, chart.density, "its image")
        for axes in (latent, image):
            axes.set_title(axes.get_title(), pad=28)  # names stand below it
        _axes_through_zero(latent, float(chart.latents.max()))
        names = (chart.point, "$f(z^*)$")
        for axes, side, colour, letter in ((latent, 0, BLUE, "v"), (image, 1, ORANGE, "u")):
            for line in chart.lines:
                points = (line.latent, line.image)[side]
                axes.plot(*points.T, color=colour, linewidth=1.8, linestyle=(0, (5, 2)))
                _name_end(axes, points, line.ends[side], line.names[side], colour)
            _arrows(axes, chart.crossing[side], chart.directions[side], letter, names[side])
    return figure


def _axes_through_zero(axes: Axes, reach: float) -> None:
    """The latents' own axes, with their names at the ends."""
    for k, tip in enumerate(np.eye(2) * 1.08 * reach):
        look: dict[str, Any] = {"arrowstyle": "-|>", "color": GREY, "linewidth": 1.0}
        axes.annotate("", tip, -tip, arrowprops=look, annotation_clip=False)
        place = (0, 8) if k else (8, 0)
        look = {"ha": "center", "va": "center", "color": GREY, "annotation_clip": False}
        axes.annotate(f"$z_{k + 1}$", tip, place, textcoords="offset points", **look)


def _name_end(axes: Axes, points: Float[Array, "k 2"], end: int, name: str, colour: str) -> None:
    """Write a name beyond one end of a line."""
    step = points[end] - points[1 if end == 0 else -2]
    away = 13 * step / np.linalg.norm(step)
    look: dict[str, Any] = {"ha": "center", "va": "center", "color": colour, "fontsize": 10}
    axes.annotate(name, points[end], tuple(away), textcoords="offset points", **look)


def _arrows(
    axes: Axes, at: Float[Array, "2"], directions: Float[Array, "2 2"], letter: str, name: str
) -> None:
    """Unit vectors from a point, with their names and the point's."""
    look: dict[str, Any] = {"arrowstyle": "-|>", "color": BLACK, "linewidth": 1.6}
    look |= {"shrinkA": 0, "shrinkB": 0}
    for k, step in enumerate(directions.T):
        axes.annotate("", tuple(at + step), tuple(at), arrowprops=look, zorder=4)
        side = 11 * np.array([-step[1], step[0]]) / np.linalg.norm(step)
        label = f"$\\mathbf{{{letter}}}_{k + 1}$"
        axes.annotate(
            label, tuple(at + 0.8 * step), tuple(side), textcoords="offset points", ha="center"
        )
    axes.plot(*at, "o", color=BLACK, markersize=5, zorder=5)
    between = directions[:, 0] - directions[:, 1]
    aside = 14 * between / np.linalg.norm(between)
    axes.annotate(name, tuple(at), tuple(aside), textcoords="offset points", va="center")


def length_clouds(clouds: Mapping[str, Float[Array, "n 2"]], strips: int = 10) -> Figure:
    """Lengths along the curves of two latents, a panel a decoder.

    Lines are the 10, 50 and 90 % quantiles of the second among draws with a similar first: level
    if the lengths are independent. The outermost 1 % on either side is not shown.
    """
    if not clouds:
        raise ValueError("clouds must hold at least one, got none")
    figure = Figure(figsize=(2.7 * len(clouds), 2.9), layout="constrained")
    grid = figure.subplots(1, len(clouds), squeeze=False)
    for axes, (title, lengths) in zip(grid[0], clouds.items(), strict=True):
        axes.plot(*lengths.T, ".", color=GREY, markersize=2, alpha=0.35, rasterized=True)
        groups = np.array_split(lengths[lengths[:, 0].argsort()], strips)
        middle = [np.median(group[:, 0]) for group in groups]
        bands = np.array([np.quantile(group[:, 1], (0.1, 0.5, 0.9)) for group in groups])
        for band, width in zip(bands.T, (1.4, 2.2, 1.4), strict=True):
            axes.plot(middle, band, color=ORANGE, linewidth=width)
        low, high = np.quantile(lengths, (0.01, 0.99), axis=0)
        axes.set(title=title, xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    figure.supxlabel("length along the first latent's curve", fontsize="medium")
    figure.supylabel("along the second's", fontsize="medium")
    return figure


def gap_and_information(
    names: Sequence[str],
    oblique: Sequence[bool],
    gap: Float[Array, "m"],
    information: Float[Array, "m"],
    chance: float,
) -> Figure:
    """How far densities along the latents miss the density, and how dependent the lengths are.

    Args:
        names: Of decoders.
        oblique: Whether a decoder's columns are, in blue; orthogonal ones are orange.
        gap: In nats.
        information: In nats.
        chance: What an estimate of information stays below if there is none; shaded.
    """
    figure = Figure(figsize=(7.2, 0.9 + 0.28 * len(names)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    rows = np.arange(len(names))[::-1]
    colours = [BLUE if each else ORANGE for each in oblique]
    left.barh(rows, np.maximum(gap, 0), height=0.55, color=colours)
    for row, value in zip(rows, gap, strict=True):
        left.text(max(value, 0), row, f" {abs(value):.2f}", va="center", fontsize=8)
    floor = chance / 10
    right.axvspan(floor, chance, color=GREY, alpha=0.25, linewidth=0)
    right.scatter(
        np.maximum(information, floor), rows, color=colours, s=34, zorder=3, clip_on=False
    )
    right.text(
        chance, len(names) - 0.45, "chance ", ha="right", va="bottom", fontsize=8, color=GREY
    )
    right.set(xscale="log", xlim=(floor, 3 * max(*information, chance)))
    right.grid(axis="y", color=GREY, alpha=0.2)
    left.set(xlabel="density less product along latents (nats)", ylim=(-0.6, len(names) - 0.4))
    left.set_xlim(0, 1.25 * max(*gap, 1e-9))
    right.set(xlabel="mutual information of lengths (nats)")
    left.set_yticks(rows, list(names))
    for label, each in zip(left.get_yticklabels(), oblique, strict=True):
        label.set_color(BLUE if each else ORANGE)
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
    """Length along a polygon, from its first point.

    Example:
        >>> arc_length(np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 6.0]])).tolist()
        [0.0, 5.0, 7.0]
    """
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    return np.concatenate([[0.0], np.cumsum(steps)])
