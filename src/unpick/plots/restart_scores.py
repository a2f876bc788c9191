"""Scores of restarts on a data set and its twins: side by side, along a search, as histograms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from unpick.plots.comparison import ComparedValues
from unpick.plots.style import BLACK, BLUE, COLOURS, GREY, ORANGE

FEWEST = 4  # values that a violin is drawn for; fewer say nothing about a shape
BIN = 0.05  # of histograms


def grouped_scores(
    panels: Mapping[str, Mapping[str, Sequence[ComparedValues]]], label: str
) -> Figure:
    """A dot a seed, a bar at their mean; published means hollow, with their deviation.

    Args:
        panels: By panel and group, the values to compare. Values of the same name have the same
            colour everywhere.
        label: What is compared, in words.
    """
    some = [entry for groups in panels.values() for group in groups.values() for entry in group]
    if not some:
        raise ValueError("panels must hold at least one entry, got none")
    colours = dict(zip(dict.fromkeys(entry.name for entry in some), COLOURS, strict=False))
    figure = Figure(figsize=(7.4, 2.3 * len(panels) + 0.5), layout="constrained")
    grid = figure.subplots(len(panels), squeeze=False, sharex=True, sharey=True)[:, 0]
    columns = list(dict.fromkeys(name for groups in panels.values() for name in groups))
    width = len(colours) + 1.2
    for axes, (panel, groups) in zip(grid, panels.items(), strict=True):
        axes.set_title(panel, loc="left", fontsize=9, weight="bold")
        axes.set_ylabel(label)
        for name, group in groups.items():
            for entry in group:
                place = columns.index(name) * width + list(colours).index(entry.name)
                draw_dots(axes, place, entry.values, colours[entry.name])
                if entry.published is not None:
                    _draw_published(axes, place + 0.3, *entry.published)
        for edge in range(1, len(columns)):
            axes.axvline(edge * width - 1.1, color=GREY, linewidth=0.4)
        axes.axhline(0, color=GREY, linewidth=0.4)
    middle = (len(colours) - 1) / 2
    grid[-1].set_xticks([k * width + middle for k in range(len(columns))], columns)
    for axes in grid:
        axes.tick_params(axis="x", length=0)
    key = [_legend_line(colour, name) for name, colour in colours.items()]
    if any(entry.published is not None for entry in some):
        key.append(Line2D([], [], color=BLACK, marker="D", mfc="white", ms=4, label="published"))
    figure.legend(handles=key, loc="outside lower center", ncols=len(key))
    return figure


def _draw_published(axes: Axes, place: float, mean: float, deviation: float) -> None:
    spread = deviation if np.isfinite(deviation) else None
    axes.errorbar(place, mean, yerr=spread, fmt="D", color=BLACK, mfc="white", ms=3.5, lw=0.8)


def draw_dots(
    axes: Axes, place: float | int, values: Float[np.ndarray, "_"], colour: str, width: float = 0.5
) -> None:
    """Draw a dot for every finite value, side by side, and a bar of that width at their mean."""
    values = values[np.isfinite(values)]
    if not len(values):
        return
    places = place + width * np.linspace(-0.25, 0.25, len(values) + 2)[1:-1]
    axes.plot(places, values, "o", color=colour, markersize=3.5, alpha=0.55, markeredgewidth=0)
    ends = [place - width / 2, place + width / 2]
    axes.plot(ends, [values.mean()] * 2, color=colour, linewidth=1.8)


@dataclass(frozen=True, eq=False)
class Search:
    """Scores along a search over a hyperparameter, on a changed data set.

    Attributes:
        before: On the original data set.
        after: On the changed one, by the name of the hyperparameter's value.
        dropped: Number of runs left out, by the same name; `orig.` for those `before`.
    """

    before: Float[np.ndarray, "_"]
    after: Mapping[str, Float[np.ndarray, "_"]]
    dropped: Mapping[str, int]


def violins(panels: Mapping[str, Mapping[str, Search]], label: str) -> Figure:
    """The distribution of a score for each value of a hyperparameter, with every restart.

    After Zietlow (2022), figures 4.4 to 4.7.

    Args:
        panels: By data set and method.
        label: What is scored, in words.
    """
    if not any(panels.values()):
        raise ValueError("panels must hold at least one search, got none")
    methods = list(dict.fromkeys(name for row in panels.values() for name in row))
    figure = Figure(
        figsize=(1.0 + 2.1 * len(methods), 2.1 * len(panels) + 0.6), layout="constrained"
    )
    grid = figure.subplots(len(panels), len(methods), squeeze=False, sharey="row")
    for line, (panel, row) in zip(grid, panels.items(), strict=True):
        for axes, method in zip(line, methods, strict=True):
            if method not in row:
                axes.set_axis_off()
                continue
            axes.set_title(method, fontsize=9)
            _draw_search(axes, row[method])
        line[0].set_ylabel(f"{panel}\n{label}")
        line[0].set_ylim(bottom=min(0.0, line[0].get_ylim()[0]))
    key = [
        _legend_patch(BLUE, "original data, mean dashed"),
        _legend_patch(ORANGE, "perturbed data"),
    ]
    figure.legend(handles=key, loc="outside lower center", ncols=2)
    return figure


def _draw_search(axes: Axes, search: Search) -> None:
    names = []
    for place, (name, values) in enumerate({"orig.": search.before, **search.after}.items()):
        draw_violin(axes, place, values, ORANGE if place else BLUE)
        lost = search.dropped.get(name, 0)
        names.append(f"{name}\n-{lost}" if lost else name)
    if np.isfinite(search.before).any():
        axes.axhline(np.nanmean(search.before), color=BLUE, linestyle="dashed", linewidth=0.8)
    axes.set_xticks(range(len(names)), names, fontsize=8)
    axes.set_xlim(-0.6, len(names) - 0.4)


def draw_violin(
    axes: Axes, place: float | int, values: Float[np.ndarray, "_"], colour: str
) -> None:
    """Draw the values and, if there are enough, a smoothed distribution."""
    values = values[np.isfinite(values)]
    if len({*values}) >= FEWEST:
        bodies = axes.violinplot([values], [place], widths=0.8, showextrema=False)["bodies"]
        for body in bodies:  # type: ignore[attr-defined]
            body.set(facecolor=colour, alpha=0.25, linewidth=0)
    draw_dots(axes, place, values, colour)


def histograms(
    panels: Mapping[str, Mapping[str, Mapping[str, Float[np.ndarray, "_"]]]], label: str
) -> Figure:
    """Histograms of scores over restarts: filled for the last kind of data, lines for others.

    After Zietlow (2022), figure 4.8.

    Args:
        panels: By data set, method and kind of data.
        label: What is scored, in words.
    """
    kinds = {kind: None for row in panels.values() for each in row.values() for kind in each}
    if not kinds:
        raise ValueError("panels must hold scores of at least one method, got none")
    methods = list(dict.fromkeys(name for row in panels.values() for name in row))
    every = [v for row in panels.values() for each in row.values() for v in each.values()]
    top = max(0.5, *(float(np.nanmax(values, initial=0.0)) for values in every))
    bins = np.arange(0.0, top + BIN, BIN)
    figure = Figure(
        figsize=(1.0 + 2.1 * len(methods), 1.8 * len(panels) + 0.8), layout="constrained"
    )
    grid = figure.subplots(len(panels), len(methods), squeeze=False, sharex=True, sharey="row")
    for line, (panel, row) in zip(grid, panels.items(), strict=True):
        for axes, method in zip(line, methods, strict=True):
            axes.set_title(method, fontsize=9)
            for colour, (kind, values) in zip(COLOURS, row.get(method, {}).items(), strict=False):
                last = kind == list(kinds)[-1]
                axes.hist(
                    values[np.isfinite(values)],
                    bins.tolist(),
                    color=colour,
                    alpha=0.6 if last else 1.0,
                    histtype="stepfilled" if last else "step",
                    zorder=1 if last else 2,
                )
        line[0].set_ylabel(f"{panel}\nrestarts")
        line[0].yaxis.get_major_locator().set_params(integer=True)
    for axes in grid[-1]:
        axes.set_xlabel(label)
    key = [_legend_patch(colour, kind) for colour, kind in zip(COLOURS, kinds, strict=False)]
    for outline, colour in zip(key[:-1], COLOURS, strict=False):
        outline.set(facecolor="none", edgecolor=colour, alpha=1.0)
    figure.legend(handles=key, loc="outside lower center", ncols=len(key))
    return figure


def factor_bars(
    panels: Mapping[str, Mapping[str, Float[np.ndarray, "_ _"]]],
    factors: Mapping[str, Sequence[str]],
    label: str,
) -> Figure:
    """A score of each factor, a bar at the mean and a dot a restart.

    After Zietlow (2022), figure 4.9.

    Args:
        panels: By data set and kind of data: a row a restart, a column a factor.
        factors: Their names, by data set.
        label: What is scored, in words.
    """
    if not any(panels.values()):
        raise ValueError("panels must hold scores of at least one kind of data, got none")
    figure = Figure(figsize=(7.0, 2.3 * len(panels) + 0.5), layout="constrained")
    grid = figure.subplots(len(panels), squeeze=False)[:, 0]
    kinds = list(dict.fromkeys(kind for row in panels.values() for kind in row))
    for axes, (panel, row) in zip(grid, panels.items(), strict=True):
        for kind, values in row.items():
            k, colour = kinds.index(kind), COLOURS[kinds.index(kind)]
            places = np.arange(len(factors[panel])) + (k - (len(kinds) - 1) / 2) * 0.26
            axes.bar(places, np.nanmean(values, axis=0), 0.24, color=colour, alpha=0.45)
            spread = np.linspace(-0.06, 0.06, len(values))[:, None]
            axes.plot(places + spread, values, "o", color=colour, markersize=2.5, mew=0)
        axes.set_xticks(range(len(factors[panel])), factors[panel])
        axes.tick_params(axis="x", length=0)
        axes.set_title(panel, loc="left", fontsize=9, weight="bold")
        axes.set_ylabel(label)
    key = [_legend_patch(colour, kind) for colour, kind in zip(COLOURS, kinds, strict=False)]
    figure.legend(handles=key, loc="outside lower center", ncols=len(key))
    return figure


def _legend_line(colour: str, name: str) -> Line2D:
    return Line2D([], [], color=colour, marker="o", markersize=4, linewidth=1.8, label=name)


def _legend_patch(colour: str, name: str) -> Patch:
    return Patch(facecolor=colour, alpha=0.5, label=name)
