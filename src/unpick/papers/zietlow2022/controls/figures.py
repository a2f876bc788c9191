"""Angles of the latent axes by control, and in exact descent."""

import numpy as np
import torch
from matplotlib.figure import Figure

from unpick.papers.zietlow2022.chapter3 import CLOUDS
from unpick.papers.zietlow2022.controls.descent import STEPS
from unpick.papers.zietlow2022.controls.readings import degrees_of
from unpick.plots.style import BLACK, BLUE, COLOURS, GREY
from unpick.study.study import Results

LINE = 0.3  # inches
UNIFORM = 22.5  # degrees: the mean angle of a random rotation


def draw_angles(results: Results) -> Figure | None:
    """The angle of every seed, a line a control, a panel a data set."""
    rows = {data: columns for data, columns in results.rows().items() if data in CLOUDS}
    if not rows:
        return None
    names = list(dict.fromkeys(name for columns in rows.values() for name in columns))
    figure = Figure(figsize=(7.2, LINE * len(names) + 1.1), layout="constrained")
    panels = figure.subplots(1, len(rows), sharey=True, squeeze=False)[0]
    for axes, (data, columns) in zip(panels, rows.items(), strict=True):
        axes.axvline(UNIFORM, color=GREY, linestyle="--", linewidth=0.9)
        for name, outcome in columns.items():
            angles, place = outcome.values["angle, degrees"], -names.index(name)
            axes.plot(angles, np.full(len(angles), place), "o", color=BLUE, ms=4, alpha=0.4, mew=0)
            axes.plot(angles.mean(), place, "|", color=BLACK, markersize=12, markeredgewidth=1.6)
        axes.set(title=data, xlim=(-1.5, 46.5), xticks=(0, 15, 30, 45))
        axes.set_xlabel("angle (degrees)")
        axes.set_yticks([-k for k in range(len(names))], names)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
    return figure


def draw_factors(results: Results) -> Figure | None:
    """The mean angle over exact descent, with its standard error, for both kinds of factor."""
    courses = results.computed.get("factors")
    if courses is None:
        return None
    figure = Figure(figsize=(5.2, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.axhline(UNIFORM, color=GREY, linestyle="--", linewidth=0.9)
    for (name, course), colour in zip(courses.items(), COLOURS, strict=False):
        angles = degrees_of(torch.tensor(course, dtype=torch.float64)).numpy()
        mean, error = angles.mean(1), angles.std(1, ddof=1) / angles.shape[1] ** 0.5
        axes.errorbar(STEPS, mean, error, color=colour, marker="o", markersize=3, label=name)
    axes.set_xscale("symlog", linthresh=100)
    axes.set(xlabel="step", ylabel="angle (degrees)")
    axes.legend()
    return figure
