"""Alignment along training, and MIG on the twins."""

import numpy as np
from matplotlib.figure import Figure

from unpick.geometry.orthogonality import haar_distance
from unpick.papers.across.explicit.claims import IMAGES, cell
from unpick.papers.across.explicit.methods import METHODS
from unpick.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, SKY, YELLOW
from unpick.study.study import Results

# A dashed line is a method that nothing should align.
COLOURS = dict(
    zip(METHODS, (GREY, BLUE, BLUE, SKY, ORANGE, YELLOW, ORANGE, GREEN, PINK), strict=True)
)
DASHED = ("AE", "full covariance", "deterministic, full")


def draw_courses(results: Results) -> Figure | None:
    """Mean DtO over steps, a panel for each cloud."""
    courses = {name: found for name, found in results.computed.items() if found}
    if not courses:
        return None
    figure = Figure(figsize=(2.9 * len(courses), 3.6), layout="constrained")
    panels = figure.subplots(1, len(courses), sharey=True, squeeze=False)[0]
    for axes, (name, methods) in zip(panels, courses.items(), strict=True):
        for method, found in methods.items():
            style = "--" if method in DASHED else "-"
            mean = np.nanmean(np.array(found["DtO"], dtype=float), 1)
            axes.plot(found["steps"], mean, style, color=COLOURS[method], label=method)
        axes.axhline(haar_distance(2), color=BLACK, linewidth=0.6)
        axes.set(xscale="log", xlabel="steps", ylim=(0, None))
        axes.set_title(name, fontsize=9)
    panels[0].set_ylabel("DtO")
    handles, labels = max((p.get_legend_handles_labels() for p in panels), key=lambda h: len(h[0]))
    figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=7)
    return figure


def draw_twins(results: Results) -> Figure | None:
    """MIG of every seed, on the original and on the twin."""
    found = {
        (data, method, twin): values
        for data in IMAGES
        for method in METHODS
        for twin in ("original", "perturbed")
        if (values := cell(results, f"{data}, {twin}", method, "MIG")) is not None
    }
    if not found:
        return None
    figure = Figure(figsize=(6.6, 3.2), layout="constrained")
    panels = figure.subplots(1, len(IMAGES), sharey=True)
    for axes, data in zip(panels, IMAGES, strict=True):
        methods = [method for method in METHODS if (data, method, "original") in found]
        for k, method in enumerate(methods):
            for shift, twin, colour in ((-0.15, "original", BLUE), (0.15, "perturbed", ORANGE)):
                values = found.get((data, method, twin), np.array([]))
                axes.plot(np.full(len(values), k + shift), values, ".", color=colour, label=twin)
                if len(values):
                    axes.plot(k + shift + np.array([-0.1, 0.1]), [values.mean()] * 2, color=colour)
        axes.set_xticks(range(len(methods)), methods, fontsize=7, rotation=35, ha="right")
        axes.set_title(data, fontsize=9)
    panels[0].set_ylabel("MIG")
    handles, labels = panels[0].get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    panels[0].legend(unique.values(), unique.keys(), fontsize=7)
    return figure
