"""Variances of the data and of posteriors, before and after a small change of the data."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Shaped
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from unpick.plots.restart_scores import draw_dots
from unpick.plots.style import COLOURS, GREY


@dataclass(frozen=True, eq=False)
class Latents:
    """Latents of the restarts of a method on one kind of data.

    Attributes:
        distance: Of the decoder to orthogonality over the latents in use, as a share of what a
            random rotation has, a value a restart.
        deviations: Mean posterior deviations, ascending, a row a restart.
    """

    distance: Float[np.ndarray, "s"]
    deviations: Float[np.ndarray, "s d"]


def latent_spectra(panels: Mapping[str, Mapping[str, Latents]]) -> Figure:
    """Above the distance to orthogonality, below how precise the latents are, most precise first.

    Args:
        panels: By data set and kind of data.
    """
    if not any(panels.values()):
        raise ValueError("panels must hold the latents of at least one kind of data, got none")
    figure = Figure(figsize=(0.9 + 3.1 * len(panels), 4.6), layout="constrained")
    grid = figure.subplots(2, len(panels), squeeze=False, sharey="row", height_ratios=(1, 1.3))
    for (above, below), (panel, kinds) in zip(grid.T, panels.items(), strict=True):
        for place, (kind, latents) in enumerate(kinds.items()):
            draw_dots(above, place, latents.distance, COLOURS[place])
            ranks = np.arange(1, latents.deviations.shape[1] + 1)
            below.plot(ranks, latents.deviations.T, color=COLOURS[place], lw=0.6, alpha=0.35)
            mean = latents.deviations.mean(0)
            below.plot(ranks, mean, "o-", color=COLOURS[place], markersize=4, label=kind)
        above.axhline(1, color=GREY, ls="dashed", lw=0.9)
        above.set_title(panel)
        above.set_xticks(range(len(kinds)), list(kinds))
        above.set_xlim(-0.6, len(kinds) - 0.4)
        below.set_xlabel("latent, most precise first")
        below.xaxis.set_major_locator(MaxNLocator(integer=True))
    grid[0, 0].set_ylim(bottom=0)
    grid[1, 0].set_ylim(0, 1.05)
    grid[0, 0].set_ylabel("DtO / chance\nof active latents")
    grid[1, 0].set_ylabel("mean posterior deviation")
    grid[1, 0].legend(loc="upper left")
    return figure


@dataclass(frozen=True, eq=False)
class Course:
    """Restarts of a method after several numbers of steps.

    Attributes:
        steps: Ascending.
        score: MIG, a column a restart.
        distance: To orthogonality over the latents in use, as a share of a random rotation's.
    """

    steps: Shaped[np.ndarray, "t"]
    score: Float[np.ndarray, "t s"]
    distance: Float[np.ndarray, "t s"]


def courses(panels: Mapping[str, Mapping[str, Course]]) -> Figure:
    """Above MIG, below the distance to orthogonality, over steps.

    Args:
        panels: By data set and kind of data.
    """
    if not any(panels.values()):
        raise ValueError("panels must hold the course of at least one kind of data, got none")
    figure = Figure(figsize=(0.9 + 3.1 * len(panels), 4.6), layout="constrained")
    grid = figure.subplots(2, len(panels), squeeze=False, sharey="row", sharex="col")
    for (above, below), (panel, kinds) in zip(grid.T, panels.items(), strict=True):
        for colour, (kind, course) in zip(COLOURS, kinds.items(), strict=False):
            for axes, values in ((above, course.score), (below, course.distance)):
                axes.plot(course.steps, values, "o-", color=colour, lw=0.8, ms=3, alpha=0.5)
                axes.plot(course.steps, values.mean(1), color=colour, lw=2, label=kind)
        above.set_title(panel)
        below.set_xlabel("steps")
        below.axhline(1, color=GREY, ls="dashed", lw=0.9)
        for axes in (above, below):
            axes.set_ylim(bottom=0)
    grid[0, 0].set_ylabel("MIG")
    grid[1, 0].set_ylabel("DtO / chance\nof active latents")
    grid[0, 0].legend()
    return figure


@dataclass(frozen=True, eq=False)
class Pixels:
    """Variances of a data set and its twins, and reconstruction errors.

    Attributes:
        variances: Along the first principal components, by kind of data, as shares of the
            original's total variance.
        errors: Of reconstructions, by method and kind of data.
    """

    variances: Mapping[str, Float[np.ndarray, "_"]]
    errors: Mapping[str, Mapping[str, Float[np.ndarray, "_"]]]


def pixel_spectra(panels: Mapping[str, Pixels]) -> Figure:
    """Above the variances of principal components, below the reconstruction errors.

    Args:
        panels: By data set.
    """
    if not panels:
        raise ValueError("panels must hold at least one data set, got none")
    figure = Figure(figsize=(0.9 + 3.4 * len(panels), 5.2), layout="constrained")
    grid = figure.subplots(2, len(panels), squeeze=False, sharey="row")
    styles = ("solid", (0, (4, 1.5)), (0, (1, 1)))  # curves may lie on each other
    for (above, below), (panel, pixels) in zip(grid.T, panels.items(), strict=True):
        for (kind, variances), colour, style in zip(
            pixels.variances.items(), COLOURS, styles, strict=False
        ):
            ranks = np.arange(1, len(variances) + 1)
            above.plot(ranks, variances, color=colour, linestyle=style, lw=1.6, label=kind)
        above.set_title(panel)
        above.set_yscale("log")
        above.set_xlabel("principal component")
        methods = list(pixels.errors)
        for k, method in enumerate(methods):
            for place, (_, values) in enumerate(pixels.errors[method].items()):
                draw_dots(below, k + 0.27 * (place - 1), values, COLOURS[place], 0.22)
        below.set_xticks(range(len(methods)), methods, rotation=30, ha="right", fontsize=8)
        below.tick_params(axis="x", length=0)
    grid[0, 0].set_ylabel("share of the original's\nvariance")
    grid[1, 0].set_ylabel("reconstruction error\n(rms of a pixel)")
    grid[1, 0].set_ylim(bottom=0)
    for axes in [axes for axes in grid[0] if axes.lines][:1]:  # data may be missing
        axes.legend(loc="upper right")
    return figure
