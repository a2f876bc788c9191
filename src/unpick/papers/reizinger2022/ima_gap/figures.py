"""ELBO, likelihood and IMA objective as the decoder's noise falls (Zietlow 2022, figure 7.6)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from unpick.papers.reizinger2022.ima_gap.curves import Curves, inside, outside, stored
from unpick.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, SKY
from unpick.study.study import Results

Array = np.ndarray
PRECISION = r"precision of the decoder, $\gamma^2$"
DOTS: dict[str, Any] = {"markersize": 4, "linewidth": 1.4}
BESIDE: dict[str, Any] = {"textcoords": "offset points", "ha": "right", "color": GREY}


def elbo_gaps(mixings: Mapping[str, Curves]) -> Figure:
    """Above the values, below how far ELBOs are from the IMA objective; a column a mixing."""
    figure = Figure(figsize=(1.0 + 2.7 * len(mixings), 5.2), layout="constrained")
    grid = figure.subplots(2, len(mixings), sharex=True, squeeze=False, height_ratios=(1.3, 1))
    for (above, below), (name, found) in zip(grid.T, mixings.items(), strict=True):
        x = found.precision
        above.axhline(found.likelihood, color=ORANGE, linewidth=1.6, label="log-likelihood")
        above.axhline(
            found.regularised,
            color=GREEN,
            linewidth=5,
            alpha=0.45,
            label="IMA objective: log-likelihood − contrast",
        )
        above.semilogx(x, found.noisy, ":", color=ORANGE, label="log-likelihood with noise")
        above.semilogx(x, found.elbo, "o-", color=BLUE, label="ELBO*, best encoder", **DOTS)
        above.semilogx(
            x, found.inverting, "s--", color=SKY, label="ELBO, inverting encoder", **DOTS
        )
        above.set_title(f"{name}\ncontrast {found.contrast:.2f}")
        for elbo, colour, mark in ((found.elbo, BLUE, "o-"), (found.inverting, SKY, "s--")):
            distance = elbo - found.regularised
            line = below.loglog(x, np.abs(distance), mark, color=colour, **DOTS)[0]
            line.set_markerfacecolor("none")
            higher = distance > 0  # filled: above the IMA objective
            below.loglog(x[higher], distance[higher], mark[0], color=colour, markersize=4)
        below.set_xlabel(PRECISION)
        ends = x[-3:]
        lowest = min(abs(elbo[-1] - found.regularised) for elbo in (found.elbo, found.inverting))
        guide = 0.2 * lowest * ends[-1] / ends
        below.loglog(ends, guide, color=GREY, linewidth=1)
        below.annotate(r"$\gamma^{-2}$", (ends[0], guide[0]), (-4, -2), **BESIDE)
    grid[0, 0].set_ylabel("nats")
    grid[1, 0].set_ylabel("distance from the\nIMA objective (nats)")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def draw_beside_stored(results: Results) -> Figure:
    """Our curves and the stored ones, outside and inside the class."""
    far = {"stored results": stored("outside"), "here": outside(results)}
    within = {"stored results": stored("inside")} | inside(results)
    return stored_beside(
        {n: (e.precision, (e.likelihood - e.elbo) / e.contrast) for n, e in far.items()},
        {n: (e.precision, e.likelihood - e.elbo) for n, e in within.items()},
    )


def stored_beside(
    outside: Mapping[str, tuple[Float[Array, "_"], Float[Array, "_"]]],
    inside: Mapping[str, tuple[Float[Array, "_"], Float[Array, "_"]]],
) -> Figure:
    """Gaps of the ELBO of different mixings, on a common scale.

    Args:
        outside: gamma^2, and log-likelihood less ELBO in units of the contrast, by whose they are.
        inside: gamma^2, and log-likelihood less ELBO in nats.
    """
    figure = Figure(figsize=(7.4, 3.3), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True)
    for axes, lines in ((left, outside), (right, inside)):
        for (name, (precision, gap)), (colour, mark) in zip(
            lines.items(), ((BLACK, "x-"), (BLUE, "o-"), (SKY, "s-")), strict=False
        ):
            axes.semilogx(precision, gap, mark, color=colour, label=name, **DOTS)
        axes.set_xlabel(PRECISION)
        axes.legend()
    left.axhline(1, color=GREY, linewidth=0.8)
    left.set_ylim(bottom=0)
    right.set_yscale("log")
    left.set(title="outside the class", ylabel="(log-likelihood − ELBO*) / contrast")
    right.set(title="inside the class", ylabel="log-likelihood − ELBO* (nats)")
    return figure
