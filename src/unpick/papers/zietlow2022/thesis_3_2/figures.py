"""The polarized regime over training."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from unpick.plots.style import BLUE, GREY

POINTS = 150  # of a drawn line, about


def delta_kl_curves(
    panels: Mapping[str, Sequence[tuple[np.ndarray, np.ndarray]]], threshold: float = 3.0
) -> Figure:
    """Delta_KL in percent against the percentage of training, a panel a setting, a line a seed."""
    columns = 2
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(6.8, 1.1 + 1.5 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes, (title, lines) in zip(grid.flat, panels.items(), strict=False):
        for share, error in lines:
            every = slice(None, None, max(1, len(share) // POINTS))
            axes.semilogy(
                share[every], np.maximum(error[every], 1e-3), color=BLUE, linewidth=0.6, alpha=0.6
            )
        axes.axhline(threshold, color=GREY, linestyle="--", linewidth=0.9)
        axes.set_title(title, fontsize=9)
    for axes in grid.flat[len(panels) :]:
        axes.remove()
    figure.supxlabel("share of training (%)")
    figure.supylabel("error of the polarized KL, Delta_KL (%)")
    return figure
