"""A table as a picture: the value of every seed beside the published mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from unpick.plots.style import BLUE, GREY, ORANGE

LINE = 0.27  # inches


@dataclass(frozen=True, eq=False)
class ComparedValues:
    """One row: a value a seed; published mean and deviation, and the chance level, if known."""

    name: str
    values: Float[np.ndarray, "s"]
    published: tuple[float, float] | None = None
    chance: float | None = None


def comparison(groups: Mapping[str, Sequence[ComparedValues]], label: str) -> Figure:
    """A dot a seed, a bar at their mean; published means hollow, with their deviation.

    Args:
        groups: Rows that belong together, by the name of the group.
        label: What is compared, in words.
    """
    if not any(groups.values()):
        raise ValueError("groups must hold at least one entry, got none")
    lines = sum(len(rows) + 1 for rows in groups.values())
    figure = Figure(figsize=(6.4, LINE * lines + 1.0), layout="constrained")
    axes = figure.subplots()
    place, places, names = 0.0, [], []
    for group, rows in groups.items():
        axes.text(
            0, place, group, weight="bold", va="center", transform=axes.get_yaxis_transform()
        )
        for row in rows:
            place -= 1
            places.append(place)
            names.append(row.name)
            _draw_row(axes, row, place)
        place -= 1.2
    axes.set_yticks(places, names)
    axes.set_ylim(place + 0.6, 0.7)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(label)
    key = [
        Line2D([], [], color=BLUE, marker="o", linestyle="", markersize=3.5, label="a seed"),
        Line2D([], [], color=BLUE, marker="|", linestyle="", markersize=11, label="their mean"),
        Line2D([], [], color=ORANGE, marker="D", mfc="white", linestyle="-", label="published"),
        Line2D([], [], color=GREY, linestyle="--", label="chance"),
    ]
    if all(row.chance is None for rows in groups.values() for row in rows):
        key.pop()
    figure.legend(handles=key, loc="outside lower center", ncols=len(key))
    return figure


def _draw_row(axes: Axes, row: ComparedValues, place: float) -> None:
    if row.chance is not None:
        axes.plot([row.chance] * 2, [place - 0.5, place + 0.5], color=GREY, ls="--", lw=0.9)
    values = row.values[np.isfinite(row.values)]
    above = place + 0.14
    axes.plot(values, np.full(len(values), above), "o", color=BLUE, ms=3.5, alpha=0.45, mew=0)
    if len(values):
        axes.plot(values.mean(), above, "|", color=BLUE, markersize=11, markeredgewidth=1.8)
    if row.published is not None:
        mean, deviation = row.published
        spread = deviation if np.isfinite(deviation) else None
        axes.errorbar(
            mean, place - 0.2, xerr=spread, fmt="D", color=ORANGE, mfc="white", ms=4.5, lw=1.2
        )
