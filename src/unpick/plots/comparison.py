"""A table as a picture: what came out for every seed, beside what was published."""

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
class Entry:
    """One line: its values, the published mean and deviation, and what chance gives, if known."""

    name: str
    values: Float[np.ndarray, "s"]
    published: tuple[float, float] | None = None
    chance: float | None = None


def comparison(groups: Mapping[str, Sequence[Entry]], label: str) -> Figure:
    """A dot a seed, a bar at their mean; published means hollow, with their deviation.

    Args:
        groups: Lines that belong together, under the name of what they share.
        label: What is compared, in words.
    """
    if not any(groups.values()):
        raise ValueError("groups must hold at least one entry, got none")
    lines = sum(len(entries) + 1 for entries in groups.values())
    figure = Figure(figsize=(6.4, LINE * lines + 1.0), layout="constrained")
    axes = figure.subplots()
    place, places, names = 0.0, [], []
    for group, entries in groups.items():
        axes.text(
            0, place, group, weight="bold", va="center", transform=axes.get_yaxis_transform()
        )
        for entry in entries:
            place -= 1
            places.append(place)
            names.append(entry.name)
            _entry(axes, entry, place)
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
    some = [entry for entries in groups.values() for entry in entries]
    if all(entry.chance is None for entry in some):
        key.pop()
    figure.legend(handles=key, loc="outside lower center", ncols=len(key))
    return figure


def _entry(axes: Axes, entry: Entry, place: float) -> None:
    if entry.chance is not None:
        axes.plot([entry.chance] * 2, [place - 0.5, place + 0.5], color=GREY, ls="--", lw=0.9)
    values = entry.values[np.isfinite(entry.values)]
    above = place + 0.14
    axes.plot(values, np.full(len(values), above), "o", color=BLUE, ms=3.5, alpha=0.45, mew=0)
    if len(values):
        axes.plot(values.mean(), above, "|", color=BLUE, markersize=11, markeredgewidth=1.8)
    if entry.published is not None:
        mean, deviation = entry.published
        spread = deviation if np.isfinite(deviation) else None
        axes.errorbar(
            mean, place - 0.2, xerr=spread, fmt="D", color=ORANGE, mfc="white", ms=4.5, lw=1.2
        )
