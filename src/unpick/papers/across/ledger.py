"""Figure of the ledger: how good the approximations of all papers are."""

from collections.abc import Mapping, Sequence
from textwrap import fill

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from unpick.plots.style import BLUE, GREY
from unpick.study import Drawing
from unpick.study.ledger import Judgement

Array = np.ndarray
FLOOR = 1e-15  # the smallest error drawn on a log axis: rounding


def error_orders(curves: Mapping[str, Sequence[tuple[float, float]]]) -> Figure:
    """Relative errors of approximations against the scale of the noise, a panel each.

    The grey line has the nearest whole power through the smallest scale.

    Args:
        curves: Pairs of scale and error, by what is approximated.
    """
    if not curves:
        raise ValueError("curves must hold at least one, got none")
    columns = min(4, len(curves))
    rows = -(-len(curves) // columns)
    figure = Figure(figsize=(0.6 + 1.6 * columns, 0.5 + 1.55 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes, (name, pairs) in zip(grid.flat, curves.items(), strict=False):
        axes.set_title(fill(name, 22), fontsize=8)
        scale, error = np.abs(np.array(sorted(pairs))).T
        if error[:2].max() < 1e-12:
            axes.text(0.5, 0.5, "equal to\nrounding", transform=axes.transAxes, ha="center")
            continue
        error = np.maximum(error, FLOOR)
        power = power_between(scale[:2], error[:2])
        line = error[0] * (scale / scale[0]) ** power
        axes.loglog(scale, line, color=GREY, linewidth=4, alpha=0.35)
        axes.loglog(scale, error, "o-", color=BLUE, markersize=3.5, linewidth=1.2)
        axes.text(0.96, 0.06, f"power {power}", transform=axes.transAxes, ha="right", fontsize=8)
    grid[0, 0].set(xscale="log", yscale="log")
    grid[0, 0].yaxis.set_major_locator(LogLocator(numticks=5))
    for k, axes in enumerate(grid.flat):
        axes.tick_params(labelbottom=k + columns >= len(curves))  # none below
        if k >= len(curves):
            axes.remove()
    figure.supxlabel("scale of the noise", fontsize="medium")
    figure.supylabel("relative error", fontsize="medium")
    return figure


def power_between(scale: Float[Array, "2"], error: Float[Array, "2"]) -> int:
    """The whole power nearest to the slope of a log-log line.

    Example:
        >>> power_between(np.array([0.1, 0.2]), np.array([0.5, 2.1]))
        2
    """
    return round(float(np.diff(np.log(error)).item() / np.diff(np.log(scale)).item()))


def draw_orders(judgements: Sequence[Judgement]) -> Figure | None:
    """The errors of the approximations, as their checks measured them."""
    curves = {
        f"{judgement.entry.id}: {judgement.entry.title}": judgement.evidence.errors
        for judgement in judgements
        if judgement.evidence.errors and judgement.word == "approximate"
    }
    return error_orders(curves) if curves else None


DRAWINGS = (
    Drawing(
        "orders",
        "How good the approximations are",
        "Relative error against the scale of the noise, as the checks measured it.",
        draw_orders,
    ),
)
