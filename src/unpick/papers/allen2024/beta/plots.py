"""Plots of a VAE with two latents against beta: reconstructions, posteriors, lost variance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from jaxtyping import Float, Int
from matplotlib.collections import EllipseCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from matplotlib.ticker import MaxNLocator

from unpick.plots.style import BLUE, COLOURS, GREEN, GREY, ORANGE

Array = np.ndarray
COLUMNS = 4  # of panels


def reconstructions(
    x: Float[Array, "n 2"], by_beta: Mapping[float, Float[Array, "n 2"]]
) -> Figure:
    """Data in blue and their reconstructions in orange, a panel for each beta.

    After Allen (2024), figure 2, who has it from Rezende & Viola (2018).
    """
    if not by_beta:
        raise ValueError("by_beta must hold at least one beta, got none")
    panels: dict[str, Float[Array, "n 2"] | None] = {"data": None}
    panels |= {f"beta {beta:g}": found for beta, found in by_beta.items()}
    rows = ceil(len(panels) / COLUMNS)
    figure = Figure(figsize=(1.9 * COLUMNS, 2.05 * rows), layout="constrained")
    grid = list(figure.subplots(rows, COLUMNS, squeeze=False, sharex=True, sharey=True).flat)
    for axes in grid:
        axes.set_axis_off()
    for axes, (title, found) in zip(grid, panels.items(), strict=False):
        axes.plot(*x.T, ".", color=BLUE, markersize=1.5, rasterized=True)
        if found is not None:
            axes.plot(*found.T, ".", color=ORANGE, markersize=2.5, rasterized=True)
        axes.set(title=title, aspect="equal")
    return figure


@dataclass(frozen=True, eq=False)
class Posteriors:
    """The posteriors of some observations under one model.

    Attributes:
        title: Which model's.
        mean: In the latent space.
        deviation: Along its axes.
        group: Decides the colour.
    """

    title: str
    mean: Float[Array, "n 2"]
    deviation: Float[Array, "n 2"]
    group: Int[Array, "n"]


def posterior_ellipses(panels: Sequence[Posteriors]) -> Figure:
    """Posteriors as ellipses of one standard deviation; dashed, the same of the prior."""
    if not panels:
        raise ValueError("panels must hold at least one, got none")
    figure = Figure(figsize=(2.3 * len(panels), 2.6), layout="constrained")
    grid = figure.subplots(1, len(panels), squeeze=False, sharex=True, sharey=True)
    reach = 1.05 * max(2.0, *(float((np.abs(p.mean) + p.deviation).max()) for p in panels))
    for axes, panel in zip(grid[0], panels, strict=True):
        colours = [COLOURS[k % len(COLOURS)] for k in panel.group]
        ellipses = EllipseCollection(
            2 * panel.deviation[:, 0],
            2 * panel.deviation[:, 1],
            np.zeros(len(panel.mean)),
            units="xy",
            offsets=panel.mean,
            offset_transform=axes.transData,
            facecolors=colours,
            edgecolors=colours,
            linewidths=0.7,
            alpha=0.2,
        )
        axes.add_collection(ellipses)
        axes.scatter(*panel.mean.T, color=colours, s=3, linewidths=0)
        axes.add_patch(Circle((0, 0), 1, fill=False, linestyle="dashed", color=GREY))
        axes.set(title=panel.title, aspect="equal", xlim=(-reach, reach), ylim=(-reach, reach))
        axes.set_axis_off()
    return figure


def merging(
    beta: Float[Array, "b"],
    kept: Mapping[str, Float[Array, "b s"]],
    overlap: Mapping[str, Float[Array, "b s"]],
    thresholds: Mapping[str, float],
) -> Figure:
    """Variance that reconstructions keep, and overlap of posteriors, against beta.

    Args:
        beta: In rising order.
        kept: Share of a level's variance, for each restart.
        overlap: Mean overlap of posteriors within a level, for each restart.
        thresholds: The beta at which a level is predicted to merge; dotted.
    """
    figure = Figure(figsize=(6.2, 4.6), layout="constrained")
    above, below = figure.subplots(2, sharex=True)
    colours = dict(zip(kept, (BLUE, ORANGE, GREEN), strict=False))
    for axes, curves in ((above, kept), (below, overlap)):
        for level, values in curves.items():
            axes.plot(beta, np.nanmean(values, 1), color=colours[level], lw=1.6, label=level)
            axes.plot(beta, values, "o", color=colours[level], markersize=3, alpha=0.5)
            axes.axvline(thresholds[level], color=colours[level], linestyle="dotted", lw=1.4)
        axes.set(xscale="log", ylim=(-0.04, 1.14))
    above.set_ylabel("share of variance kept")
    below.set(xlabel="beta", ylabel="overlap of posteriors")
    figure.legend(*above.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def collapse(
    beta: Float[Array, "b"],
    variance: Float[Array, "b s d"],
    active: Float[Array, "b s"],
    curve: tuple[Float[Array, "g"], Float[Array, "g d"]],
    thresholds: Sequence[float],
) -> Figure:
    """Mean posterior variances and latents in use of linear VAEs, against beta.

    Lines are the closed form, dots trained models, vertical lines where a latent is predicted to
    be lost.

    Args:
        beta: In rising order.
        variance: Of each latent, ascending, for each restart.
        active: Latents in use.
        curve: Betas, and the closed form of the variances there.
        thresholds: Betas, one for each direction of the data.
    """
    figure = Figure(figsize=(6.2, 4.6), layout="constrained")
    above, below = figure.subplots(2, sharex=True, height_ratios=(1.7, 1))
    grid, exact = curve
    for k in range(exact.shape[1]):
        colour = COLOURS[k % len(COLOURS)]
        above.plot(grid, exact[:, k], color=colour, lw=1.5)
        above.plot(beta, variance[:, :, k], "o", color=colour, markersize=4, alpha=0.6)
    below.plot(grid, (exact < 1).sum(1), color=GREY, lw=1.5)
    below.plot(beta, active, "o", color=BLUE, markersize=4, alpha=0.6)
    for axes in (above, below):
        for threshold in thresholds:
            axes.axvline(threshold, color=GREY, linestyle="dotted", lw=1.3)
    for threshold in thresholds:
        text = f"beta/2 = {threshold / 2:.2g}"
        above.annotate(
            text, (threshold, 1.04), xycoords=above.get_xaxis_transform(), ha="center", fontsize=8
        )
    above.set(xscale="log", ylabel="posterior variance\nof a latent")
    below.set(xlabel="beta", ylabel="active latents", ylim=(-0.4, exact.shape[1] + 0.4))
    below.yaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


def twin_differences(
    curves: Mapping[str, tuple[Float[Array, "b"], Float[Array, "b"]]], rounding: float = 1e-16
) -> Figure:
    """How far two models that are said to be the same end apart, against beta.

    Args:
        curves: For each pair betas in rising order, and the distance of the weights as a share of
            the way they went.
        rounding: Where a distance of 0 is drawn.
    """
    figure = Figure(figsize=(6.2, 3.0), layout="constrained")
    axes = figure.subplots()
    for (name, (beta, values)), colour in zip(curves.items(), COLOURS, strict=False):
        axes.plot(beta, np.maximum(values, rounding), "o-", color=colour, ms=4, label=name)
    axes.set(xscale="log", yscale="log", xlabel="beta", ylabel="weights end apart by")
    axes.set_ylim(rounding / 3, 3)
    figure.legend(loc="outside right upper", fontsize=8)
    return figure
