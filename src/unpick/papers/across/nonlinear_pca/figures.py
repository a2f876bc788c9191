"""Recovery by method, and what the rule chooses."""

import math

import numpy as np
from matplotlib.figure import Figure

from unpick.papers.across.nonlinear_pca.claims import choices
from unpick.plots.style import BLUE, COLOURS, GREY, ORANGE
from unpick.study.study import Results

ACROSS = 5  # panels in a row


def draw_recovery(results: Results) -> Figure | None:
    """MCC of each method on each planted table: mean and range over seeds."""
    found = results.computed.get("planted", {})
    if not found:
        return None
    methods = list(next(iter(found.values()))[0]["scores"])
    figure = Figure(figsize=(7.4, 3.4), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / len(methods)
    for k, (method, colour) in enumerate(zip(methods, COLOURS, strict=False)):
        values = [[row["scores"][method] for row in rows] for rows in found.values()]
        middle = np.array([np.mean(v) for v in values])
        spread = [middle - [min(v) for v in values], [max(v) for v in values] - middle]
        at = np.arange(len(found)) + (k - len(methods) / 2 + 0.5) * width
        axes.bar(at, middle, width, yerr=spread, color=colour, label=method, ecolor=GREY)
    axes.set_xticks(range(len(found)), [name.replace(", ", ",\n") for name in found])
    axes.set_ylabel("MCC (rank correlation)")
    axes.set_ylim(0, 1.35)
    axes.set_yticks(np.arange(0, 1.01, 0.2))
    axes.legend(ncols=3, loc="upper center")
    return figure


def draw_choice(results: Results) -> Figure | None:
    """DS over beta on each data set, with the chosen beta."""
    rows = {row: cells for row, cells in results.rows().items() if row in choices(results)}
    if not rows:
        return None
    down = math.ceil(len(rows) / ACROSS)
    across = math.ceil(len(rows) / down)
    figure = Figure(figsize=(2.1 * across + 0.6, 2.2 * down + 0.4), layout="constrained")
    grid = figure.subplots(down, across, sharey=True, squeeze=False).flatten()
    for axes in grid[len(rows) :]:
        axes.set_visible(False)
    for axes, (row, cells) in zip(grid, rows.items(), strict=False):
        betas = [outcome.cell.config.objective.beta for outcome in cells.values()]  # type: ignore[union-attr]
        axes.plot(betas, [o.mean("DS") for o in cells.values()], color=BLUE, label="mean DS")
        for beta, outcome in zip(betas, cells.values(), strict=True):
            scores = outcome.values["DS"]
            axes.plot([beta] * len(scores), scores, ".", color=BLUE, alpha=0.4)
            if outcome.values["chosen"].any():
                axes.axvline(beta, color=ORANGE, label="chosen without labels")
        axes.set_xscale("log")
        axes.set_title(row, fontsize=9)
        axes.set_xlabel("beta")
    for axes in grid[::across]:
        axes.set_ylabel("DS")
    grid[0].legend(fontsize=7, loc="upper left")
    return figure
