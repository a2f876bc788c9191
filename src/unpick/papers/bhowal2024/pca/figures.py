"""Images from chosen principal axes, and their errors (Bhowal et al. 2024, figure 5, table 7)."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from unpick.papers.bhowal2024.pca.claims import PRINTED, scale_to
from unpick.papers.bhowal2024.pca.readings import PICTURED, SETS, survey_of
from unpick.plots.style import COLOURS, GREY
from unpick.study.study import Results

Array = np.ndarray
MARKERS = "osD^v"


def reconstructions(
    rows: Mapping[str, Float[Array, "columns h w"]], columns: Sequence[str]
) -> Figure:
    """One image, reconstructed from sets of axes.

    Args:
        rows: An image a column, by the order of axes.
        columns: The sets of axes.
    """
    figure = Figure(figsize=(0.9 + 1.15 * len(columns), 0.3 + 1.2 * len(rows)))
    figure.set_layout_engine("constrained", w_pad=0.03, h_pad=0.03)
    grid = figure.subplots(len(rows), len(columns), squeeze=False)
    for line, (name, images) in zip(grid, rows.items(), strict=True):
        for axes, image in zip(line, images, strict=True):
            axes.imshow(image, cmap="gray", vmin=0, vmax=1, interpolation="none")
            axes.set_xticks([])
            axes.set_yticks([])
            axes.spines[:].set_visible(False)
        line[0].set_ylabel(name)
    for axes, column in zip(grid[0], columns, strict=True):
        axes.set_title(column, fontsize=9)
    return figure


def printed_and_read(
    columns: Sequence[str],
    printed: Float[Array, "k"],
    readings: Mapping[str, Float[Array, "k"]],
) -> Figure:
    """Printed errors as bars, and errors of each reading as marks, scaled to fit best.

    Args:
        columns: The sets of axes.
        printed: Errors in the unit of the paper.
        readings: Errors in the same unit.
    """
    figure = Figure(figsize=(6.6, 3.6), layout="constrained")
    axes = figure.subplots()
    place = np.arange(len(columns))
    axes.bar(place, printed, 0.8, color=GREY, alpha=0.35, label="printed")
    shift = np.linspace(-0.26, 0.26, len(readings))
    for (name, errors), dx, colour, marker in zip(
        readings.items(), shift, COLOURS, MARKERS, strict=False
    ):
        axes.plot(place + dx, errors, marker, color=colour, label=name, clip_on=False)
    axes.set_xticks(place, [column.replace(" to ", "\nto ") for column in columns])
    axes.set(xlabel="axes used", ylabel="error, in the unit of the table")
    figure.legend(loc="outside lower center", ncols=3)
    return figure


def draw_heart(results: Results) -> Figure:
    """A heart, reconstructed from sets of axes."""
    return reconstructions(survey_of(results).pictures, ["original", *PICTURED])


def draw_table(results: Results) -> Figure:
    """Printed errors and readings of them."""
    readings = {
        f"{order} (misfit {misfit:.0%})": errors
        for order, each in survey_of(results).errors.items()
        for errors, misfit in [scale_to(each, PRINTED)]
    }
    return printed_and_read(list(SETS), PRINTED, readings)
