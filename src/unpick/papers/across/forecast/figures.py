"""Forecasts beside what was measured."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from unpick.pages.page import Table
from unpick.papers.across.forecast.cells import CLOUDS, foretold
from unpick.papers.across.forecast.claims import confusions, main_outcomes, scores, sweeps
from unpick.plots.style import BLUE, COLOURS, GREY, ORANGE
from unpick.study.study import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_scores(results: Results) -> Figure | None:
    """DtO, MIG and confusion: foretold against measured."""
    if not results.outcomes:
        return None
    figure = Figure(figsize=(9.6, 3.3), layout="constrained")
    panels = figure.subplots(1, 3)
    for axes, measure, key in zip(panels, ("DtO share", "MIG"), ("dto", "mig"), strict=False):
        for row, ((ahead,), (value,)) in scores(results, measure, f"ideal_{key}").items():
            low, high = foretold()[row]["prediction"][key]
            colour = BLUE if row in CLOUDS else ORANGE
            axes.plot([low, high], [value, value], color=colour, alpha=0.3, linewidth=1)
            axes.plot(ahead, value, "o", color=colour, markersize=4)
        _diagonal(axes)
    panels[0].set_title("DtO, by chance", fontsize=9)
    panels[1].set_title("MIG", fontsize=9)
    panels[2].set_title("confusion of two factors", fontsize=9)
    for row, pairs in confusions(results).items():
        for ahead, value, _ in pairs.values():
            panels[2].plot(
                ahead, value, "o", color=BLUE if row in CLOUDS else ORANGE, markersize=4, alpha=0.7
            )
    _diagonal(panels[2])
    panels[0].set_ylabel("measured")
    for label, colour in (("clouds", BLUE), ("images", ORANGE)):
        panels[2].plot([], [], "o", color=colour, label=label)
    panels[2].legend(fontsize=8)
    return figure


def _diagonal(axes: "Axes") -> None:
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":", zorder=0)
    axes.set_xlabel("foretold")
    axes.set_ylim(bottom=0)


def draw_order(results: Results) -> Figure | None:
    """What is held of each factor over beta, with what it saves."""
    rows = sweeps(results)
    if not rows:
        return None
    across = 4
    down = -(-len(rows) // across)
    figure = Figure(figsize=(2.6 * across, 2.3 * down), layout="constrained")
    grid = figure.subplots(down, across, sharey=True, squeeze=False).flatten()
    for axes, (row, columns) in zip(grid, rows.items(), strict=False):
        outcomes = sorted(columns.values(), key=lambda o: o.cell.config.scalars()["beta"])
        betas = [outcome.cell.config.scalars()["beta"] for outcome in outcomes]
        for factor, colour in zip(foretold()[row]["factors"], COLOURS, strict=False):
            held = [outcome.mean(f"held: {factor['name']}") for outcome in outcomes]
            axes.plot(betas, held, ".-", color=colour, label=factor["name"], linewidth=1)
            axes.axvline(factor["saving"], color=colour, linewidth=0.8, linestyle=":")
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_title(row, fontsize=8)
        axes.legend(fontsize=6, loc="lower left")
    for axes in grid[len(rows) :]:
        axes.set_visible(False)
    for axes in grid[::across]:
        axes.set_ylabel("held")
    for axes in grid[: len(rows)][-across:]:
        axes.set_xlabel("beta")
    return figure


def tables(results: Results) -> list[Table]:
    """Foretold beside measured, by data set and by pair at risk."""
    rows = []
    for row, outcome in main_outcomes(results).items():
        made = foretold()[row]
        ahead = made["prediction"]
        measured = [
            f"{outcome.mean(m):.2f}" if m in outcome.values and outcome.count(m) else ""
            for m in ("DtO share", "MIG")
        ]
        dto, mig = (
            f"{ahead[f'ideal_{key}']:.2f} ({ahead[key][0]:.2f} to {ahead[key][1]:.2f})"
            for key in ("dto", "mig")
        )
        rows.append((row, made["date"][:16], dto, measured[0], mig, measured[1]))
    pairs = [
        (row, f"{first}, {second}", fate, f"{ahead:.2f}", f"{value:.2f}")
        for row, each in confusions(results).items()
        for (first, second), (ahead, value, fate) in each.items()
        if fate != "told apart" or value >= np.float64(0.5)
    ]
    return [
        Table(
            "Foretold (ideal codes, and the range) and measured (mean over seeds). DtO is a share "
            "of chance. Dates are in UTC.",
            ("data", "foretold on", "DtO foretold", "measured", "MIG foretold", "measured"),
            tuple(rows),
        ),
        Table(
            "Pairs that were foretold mixed or open, and those that are: a measured confusion of "
            "0.5 or more.",
            ("data", "pair", "forecast", "confusion foretold", "measured"),
            tuple(pairs),
            words=True,
        ),
    ]
