"""Figures of several quantities of the same models: along training, over beta, and ranked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import (
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from unpick.papers.across.explanations.claims import (
    DATA,
    FOUR,
    RANKED,
    WHEN,
    Kind,
    mean,
    ranks,
    select,
    series,
    values,
)
from unpick.plots.style import BLUE, GREEN, GREY, ORANGE, PINK, YELLOW
from unpick.study.study import Outcome, Results

TINTS = (BLUE, ORANGE)  # of data sets
CURVES = (BLUE, ORANGE, GREEN, PINK, YELLOW)  # of quantities
ORIGIN = 1 / 3  # where step 0 is drawn, as a share of the first step after it

# The title of each quantity, and whether its axis is logarithmic.
PANELS: Mapping[str, tuple[str, bool]] = {
    "DtO": ("DtO (Rolinek, Zietlow)", False),
    "IMA": ("IMA contrast, nats (Reizinger)", True),
    "OD-Score": ("OD-Score, matched (Bhowal)", True),
    "off-diagonal": ("Hessian: off / on diagonal (Allen)", False),
    "price": ("price of a diagonal \N{GREEK CAPITAL LETTER SIGMA}, nats", True),
    "scatter": ("scatter of variances, log (Allen)", True),
    "MIG": ("MIG", False),
    "error": ("reconstruction error", True),
    "compared": ("latents compared", False),
}


@dataclass(frozen=True, eq=False)
class Line:
    """One quantity on one data set at t steps or betas, s seeds each.

    Attributes:
        at: Steps or betas, ascending; 0 may come first.
        values: The quantity; nan where a run has none.
        turned: Its value after a random rotation of the latent space; None if not computed.
    """

    at: Float[np.ndarray, "t"]
    values: Float[np.ndarray, "t s"]
    turned: Float[np.ndarray, "t"] | None = None


@dataclass(frozen=True, eq=False)
class Panel:
    """A quantity: its title, its lines by data set, and its axis.

    Attributes:
        title: Above the panel.
        lines: By data set.
        log: Whether the vertical axis is logarithmic.
        counts: Whether the quantity is a whole number.
    """

    title: str
    lines: Mapping[str, Line]
    log: bool = False
    counts: bool = False


def quantities(panels: Sequence[Panel], label: str) -> Figure:
    """A panel a quantity, three in a row: a line a seed, dashed for a random rotation.

    Args:
        panels: In reading order.
        label: Of the horizontal axis.
    """
    if not panels:
        raise ValueError("panels must hold at least one, got none")
    rows = -(-len(panels) // 3)
    figure = Figure(figsize=(9.6, 0.7 + 2.2 * rows), layout="constrained")
    grid = figure.subplots(rows, 3, squeeze=False, sharex=True)
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    start = _origin([line for panel in panels for line in panel.lines.values()])
    for axes, panel in zip(grid.flat, panels, strict=False):
        for name, line in panel.lines.items():
            _draw(axes, line, TINTS[names.index(name) % len(TINTS)], start)
        axes.set_title(panel.title, loc="left", fontsize=9, weight="bold")
        axes.set_xscale("log")
        if panel.log:
            _logarithmic(axes)
        else:
            axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        if panel.counts:
            axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    for axes in list(grid.flat)[len(panels) :]:
        axes.axis("off")
    if start is not None:
        powers = 10.0 ** np.arange(np.ceil(np.log10(start)) + 1, 7)
        last = max(line.at.max() for panel in panels for line in panel.lines.values())
        ticks = [start, *[power for power in powers if power <= last]]
        grid[0, 0].set_xticks(ticks)
        grid[0, 0].xaxis.set_major_formatter(FuncFormatter(lambda x, _: _step(x, start)))
        grid[0, 0].xaxis.set_minor_locator(NullLocator())
    for axes in grid[-1]:
        axes.set_xlabel(label)
    marks = [
        Line2D([], [], color=TINTS[k % len(TINTS)], marker="o", markersize=3, label=name)
        for k, name in enumerate(names)
    ]
    dashed = "latent space turned at random"
    marks.append(Line2D([], [], color=GREY, linestyle="dashed", label=dashed))
    figure.legend(handles=marks, loc="outside lower center", ncols=len(marks))
    return figure


def _logarithmic(axes: Axes) -> None:
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 30 * low else (1,)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _origin(lines: Sequence[Line]) -> float | None:
    """Where step 0 is drawn on a logarithmic axis; None if no line has it."""
    if not any((line.at == 0).any() for line in lines):
        return None
    return float(min(line.at[line.at > 0].min() for line in lines) * ORIGIN)


def _step(x: float, start: float) -> str:
    return "0" if np.isclose(x, start) else f"{x:,.0f}".replace(",", " ")


def _draw(axes: Axes, line: Line, colour: str, start: float | None) -> None:
    at = line.at if start is None else np.where(line.at == 0, start, line.at)
    for seed in line.values.T:
        axes.plot(at, seed, "o-", color=colour, markersize=2.5, linewidth=1, alpha=0.8)
    if line.turned is not None:
        axes.plot(at, line.turned, color=colour, linestyle="dashed", linewidth=1.1, alpha=0.6)


def rank_table(
    names: Sequence[str], tables: Mapping[str, Float[np.ndarray, "q q"]], columns: int = 2
) -> Figure:
    """Rank correlations of quantities, the lower half of a matrix for each set of models."""
    if not tables:
        raise ValueError("tables must hold at least one, got none")
    rows, side = -(-len(tables) // columns), 0.55 * len(names)
    width = min(columns, len(tables))
    figure = Figure(
        figsize=(0.6 + (side + 0.9) * width, (side + 0.5) * rows), layout="constrained"
    )
    grid = figure.subplots(rows, width, squeeze=False, sharex=True, sharey=True)
    for axes, (title, table) in zip(grid.flat, tables.items(), strict=False):
        shown = np.where(np.tri(len(names), k=-1, dtype=bool), table, np.nan)[1:, :-1]
        image = axes.imshow(shown, cmap="PuOr", vmin=-1, vmax=1)
        for (i, j), value in np.ndenumerate(shown):
            if np.isfinite(value):
                colour = "white" if abs(value) > 0.7 else "black"
                axes.text(
                    j, i, f"{value:+.2f}", ha="center", va="center", color=colour, fontsize=8
                )
        axes.set_title(title, loc="left", fontsize=9, weight="bold")
        axes.set_xticks(range(len(names) - 1), names[:-1], rotation=40, ha="right")
        axes.set_yticks(range(len(names) - 1), names[1:])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    for axes in list(grid.flat)[len(tables) :]:
        axes.axis("off")
    figure.colorbar(image, ax=grid, shrink=0.5, label="rank correlation")
    return figure


def two_columns(
    ratios: Float[np.ndarray, "r"],
    curves: Mapping[str, Mapping[str, Float[np.ndarray, "r"]]],
    label: str,
) -> Figure:
    """Quantities of a decoder with two columns, against the ratio of their lengths.

    Args:
        ratios: Length of the shorter column over that of the longer one.
        curves: For each angle the quantities, by name.
        label: Of the vertical axis.
    """
    figure = Figure(figsize=(0.6 + 3.6 * len(curves), 3.3), layout="constrained")
    grid = figure.subplots(1, len(curves), squeeze=False, sharey=True)
    for axes, (title, lines) in zip(grid[0], curves.items(), strict=True):
        for (name, curve), colour in zip(lines.items(), CURVES, strict=False):
            axes.plot(ratios, curve, color=colour, linewidth=1.6, label=name)
        axes.set_title(title, loc="left", fontsize=9, weight="bold")
        axes.set_xscale("log")
        axes.set_xlabel("length of the shorter column / of the longer one")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    grid[0, 0].set_ylabel(label)
    grid[0, 0].set_ylim(bottom=0)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def draw_quantities(kind: Kind, label: str, results: Results) -> Figure | None:
    """Every quantity over training or over beta."""
    rows = series(results, kind)
    if not rows:
        return None
    panels = [
        Panel(
            title,
            {data: _line(outcomes, name) for data, outcomes in rows.items()},
            log,
            counts=name == "compared",
        )
        for name, (title, log) in PANELS.items()
    ]
    return quantities(panels, label)


def _line(outcomes: Mapping[float, Outcome], name: str) -> Line:
    seeds = max(len(outcome.runs) for outcome in outcomes.values())
    table = np.full((len(outcomes), seeds), np.nan)
    for row, outcome in zip(table, outcomes.values(), strict=True):
        row[: len(outcome.runs)] = values(outcome, name)
    against = FOUR.get(name, f"{name}, turned")
    turned = np.array([mean(values(outcome, against)) for outcome in outcomes.values()])
    return Line(np.array(list(outcomes)), table, turned if np.isfinite(turned).any() else None)


def draw_ranks(results: Results) -> Figure | None:
    """Rank correlations of the quantities, a matrix for each data set and kind."""
    tables = {
        f"{data}, {when}": table
        for data in DATA
        for kind, when in WHEN.items()
        if np.isfinite(table := ranks(select(results, data, kind))).any()
    }
    return rank_table(RANKED, tables) if tables else None


def draw_two_columns(results: Results) -> Figure:
    """The same quantities of a decoder with two columns."""
    computed = results.computed["two-columns"]
    curves = {
        title: {name: np.array(each) for name, each in lines.items()}
        for title, lines in computed["curves"].items()
    }
    return two_columns(np.array(computed["ratios"]), curves, "value")
