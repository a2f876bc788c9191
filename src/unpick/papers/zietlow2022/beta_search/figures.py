"""Scores, distances and active latents along a line search over beta."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from unpick.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, SKY, YELLOW

SHADE: dict[str, Any] = {"facecolor": YELLOW, "alpha": 0.22, "linewidth": 0}


@dataclass(frozen=True, eq=False)
class BetaPanel:
    """A line search over beta on one data set, with s restarts of each of b values.

    Attributes:
        title: The data set.
        beta: In rising order.
        ds: Disentanglement scores; nan where a restart is missing.
        dto: Distances to orthogonality; nan where there are too few latents for one.
        active: Numbers of latents in use; nan where a restart is missing.
        factors: How many latents are needed.
        chance: Of the distance.
        published_beta: What the paper took.
        rule_beta: Where a mean posterior variance first reaches one; None if it never does.
        best_beta: Where the mean score is highest.
        thresholds: Where theory says that a latent dies, if it says so.
    """

    title: str
    beta: Float[np.ndarray, "b"]
    ds: Float[np.ndarray, "b s"]
    dto: Float[np.ndarray, "b s"]
    active: Float[np.ndarray, "b s"]
    factors: int
    chance: float
    published_beta: float
    rule_beta: float | None
    best_beta: float
    thresholds: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if len(self.beta) < 2 or not (np.diff(self.beta, prepend=0) > 0).all():
            raise ValueError(
                f"beta must have two or more positive values in rising order, got {self.beta}"
            )
        if np.isnan(self.active).all(1).any():
            raise ValueError(f"active must have a restart of each beta, got {self.active}")

    @property
    def mean_active(self) -> Float[np.ndarray, "b"]:
        """Latents in use, on average over the restarts that are there."""
        return np.nanmean(self.active, axis=1)


def beta_search(panels: Sequence[BetaPanel]) -> Figure:
    """Score, distance and latents in use against beta, a column a data set.

    After Zietlow (2022), figure 3.7. Lines are means over restarts, dots single restarts. Shaded
    is where the model is over-pruned: fewer latents are active, on average, than are needed.
    """
    if not panels:
        raise ValueError("panels must hold at least one, got none")
    figure = Figure(figsize=(0.8 + 3.3 * len(panels), 5.8), layout="constrained")
    grid = figure.subplots(
        3, len(panels), squeeze=False, sharex="col", sharey="row", height_ratios=(3, 3, 1.6)
    )
    for column, panel in zip(grid.T, panels, strict=True):
        score, distance, latents = column
        score.set_title(panel.title)
        score.set_xscale("log")
        _curve(score, panel, panel.ds, BLUE)
        _curve(distance, panel, panel.dto, ORANGE)
        distance.axhline(panel.chance, color=GREY, linestyle=(0, (6, 2)), linewidth=0.9)
        _steps(latents, panel)
        for axes in column:
            axes.axvline(panel.published_beta, color=BLACK, linestyle="dashed", linewidth=1)
            if panel.rule_beta is not None:
                axes.axvline(panel.rule_beta, color=PINK, linestyle="dotted", linewidth=2)
            for low, high in over_pruned(panel):
                axes.axvspan(low, high, zorder=0, **SHADE)
        ends = edges(panel.beta)
        shown = [ends[0], ends[-1], panel.published_beta, panel.rule_beta or ends[0]]
        latents.set_xlim(min(shown), max(shown))
        latents.set_xlabel("beta")
    for axes, label in zip(
        grid[:, 0],
        ("disentanglement\nscore", "distance to\northogonality", "active\nlatents"),
        strict=True,
    ):
        axes.set_ylabel(label)
    grid[0, 0].set_ylim(-0.03, 1.05)
    grid[1, 0].set_ylim(bottom=min(0.0, grid[1, 0].get_ylim()[0]))
    grid[2, 0].set_ylim(bottom=-0.3)
    grid[2, 0].yaxis.set_major_locator(MaxNLocator(4, integer=True))
    figure.align_ylabels(grid[:, 0])
    figure.legend(handles=_key(panels), loc="outside lower left", ncols=min(3, len(panels)))
    return figure


def over_pruned(panel: BetaPanel) -> list[tuple[float, float]]:
    """Stretches of beta where fewer latents are active, on average, than there are factors.

    They begin and end half-way between values of beta, on the log axis.
    """
    low, high = np.log(edges(panel.beta))[:-1], np.log(edges(panel.beta))[1:]
    few = panel.mean_active < panel.factors
    turns = np.flatnonzero(np.diff(few, prepend=False, append=False))
    return [
        (float(np.exp(low[first])), float(np.exp(high[last - 1])))
        for first, last in turns.reshape(-1, 2)
    ]


def edges(beta: Float[np.ndarray, "b"]) -> Float[np.ndarray, "b+1"]:
    """Boundaries between the values of beta, half-way on a log axis.

    Example:
        >>> edges(np.array([1.0, 4.0, 16.0])).tolist()
        [0.5, 2.0, 8.0, 32.0]
    """
    inner = np.sqrt(beta[1:] * beta[:-1])
    return np.concatenate([[beta[0] ** 2 / inner[0]], inner, [beta[-1] ** 2 / inner[-1]]])


def _curve(axes: Axes, panel: BetaPanel, values: Float[np.ndarray, "b s"], colour: str) -> None:
    """Mean over restarts, the restarts, and the best beta."""
    axes.plot(
        np.broadcast_to(panel.beta[:, None], values.shape),
        values,
        "o",
        color=colour,
        markersize=3,
        alpha=0.35,
        markeredgewidth=0,
    )
    known = np.isfinite(values).any(1)
    beta, mean = panel.beta[known], np.nanmean(values[known], axis=1)
    axes.plot(beta, mean, color=colour, linewidth=1.6)
    best = np.interp(np.log(panel.best_beta), np.log(beta), mean)
    axes.plot(
        panel.best_beta, best, "*", color=GREEN, markersize=12, markeredgecolor="white", zorder=4
    )


def _steps(axes: Axes, panel: BetaPanel) -> None:
    """Numbers of active latents, and the betas at which theory predicts a loss."""
    axes.stairs(panel.mean_active, edges(panel.beta), baseline=None, color=BLACK, linewidth=1.6)
    axes.axhline(panel.factors, color=GREY, linewidth=0.7)
    axes.text(
        0.01,
        panel.factors - 0.15,
        f"{panel.factors} needed",
        transform=axes.get_yaxis_transform(),
        fontsize=7,
        color=GREY,
        va="top",
    )
    foot = axes.get_xaxis_transform()
    for threshold in panel.thresholds:
        axes.plot(threshold, 0.1, "^", transform=foot, color=SKY, markersize=7)


def _key(panels: Sequence[BetaPanel]) -> list[Line2D | Patch]:
    """The entries of the legend."""
    marks: list[Line2D | Patch] = [
        Line2D([], [], color=BLUE, marker="o", markersize=3, label="mean; dots are restarts"),
        Line2D(
            [], [], color=BLACK, linestyle="dashed", linewidth=1, label="beta of the publication"
        ),
        Line2D(
            [], [], color=GREEN, marker="*", markersize=10, linewidth=0, label="best mean score"
        ),
    ]
    if any(panel.rule_beta is not None for panel in panels):
        rule = "rule: a mean variance reaches 1"
        marks.append(Line2D([], [], color=PINK, linestyle="dotted", linewidth=2, label=rule))
    marks.append(Line2D([], [], color=GREY, linestyle=(0, (6, 2)), linewidth=0.9, label="chance"))
    if any(over_pruned(panel) for panel in panels):
        shade = "over-pruned: fewer latents active than factors"
        marks.append(Patch(label=shade, **SHADE))
    if any(panel.thresholds for panel in panels):
        theory = "a latent dies here in theory"
        marks.append(
            Line2D([], [], color=SKY, marker="^", markersize=7, linewidth=0, label=theory)
        )
    return marks
