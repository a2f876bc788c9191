"""Drawing of the ledger's figures, from arrays."""

from collections.abc import Mapping, Sequence, Sized
from itertools import cycle
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, MaxNLocator

from unpick.plots.style import BLACK, BLUE, COLOURS, GREEN, GREY, ORANGE

Array = np.ndarray
FLOOR = 1e-15  # of what is drawn on a log axis: rounding
BAND: dict[str, Any] = {"color": GREY, "alpha": 0.2, "linewidth": 0}
CLOUD: dict[str, Any] = {"markersize": 2.5, "alpha": 0.6, "mew": 0, "rasterized": True}
FEW = 8  # lines that are drawn strongly


def rotation_descent(
    paths: Mapping[str, Mapping[str, Sequence[Float[Array, "_"]]]], optimum: float
) -> Figure:
    """How far a search over rotations lies above the least product of column lengths.

    Args:
        paths: Of the log of that product, from several starts: by the method, a panel each, then
            by the kind of start, a colour each.
        optimum: Its least value.
    """
    _some(paths, "paths")
    figure = Figure(figsize=(1.2 + 2.9 * len(paths), 3.2), layout="constrained")
    row = figure.subplots(1, len(paths), sharey=True, squeeze=False)[0]
    for axes, (method, kinds) in zip(row, paths.items(), strict=True):
        for lines, colour in zip(kinds.values(), cycle(COLOURS), strict=False):
            width = 1.4 if len(lines) <= FEW else 0.7
            for path in lines:
                excess = np.maximum(path - optimum, FLOOR)
                axes.semilogy(excess, color=colour, linewidth=width, alpha=0.7)
                axes.plot(len(path) - 1, excess[-1], "o", color=colour, markersize=2.5)
        axes.set(title=method, xlabel="steps")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    row[0].set_ylabel("log product of column lengths\nabove its least value")
    row[0].yaxis.set_major_locator(LogLocator(numticks=6))
    handles = [
        Line2D([], [], color=colour, label=kind)
        for kind, colour in zip(next(iter(paths.values())), cycle(COLOURS), strict=False)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def budget_allocation(
    lengths: Float[Array, "n d"],
    allocations: Mapping[str, tuple[Float[Array, "n d"], Float[Array, "n"]]],
) -> Figure:
    r"""Noise variances against column lengths: panels are ways to spend a budget of KL.

    A point is a latent of a sample. Where the KL is polarized, points lie on lines of a constant
    c^2 \sigma^2: one line, the water level, if it is the same for all samples; a grey band of
    them otherwise.

    Args:
        lengths: Of the columns of n Jacobians.
        allocations: Variances and each sample's level, by their name.
    """
    _some(allocations, "allocations")
    if lengths.shape[1] > len(COLOURS):
        raise ValueError(f"lengths must have at most {len(COLOURS)} columns, got {lengths.shape}")
    figure = Figure(figsize=(1.0 + 2.3 * len(allocations), 3.3), layout="constrained")
    row = figure.subplots(1, len(allocations), sharex=True, sharey=True, squeeze=False)[0]
    ends = np.array([lengths.min() / 1.3, lengths.max() * 1.3])
    for axes, (name, (variance, level)) in zip(row, allocations.items(), strict=True):
        axes.set(title=name, xlabel="column length", xscale="log", yscale="log", xlim=ends)
        for j, colour in zip(range(lengths.shape[1]), COLOURS, strict=False):
            axes.plot(lengths[:, j], variance[:, j], "o", color=colour, **CLOUD)
        low, high = level.min(), level.max()
        if high / low < 1 + 1e-6:
            axes.plot(ends, high / ends**2, color=BLACK, linestyle="--", linewidth=1)
        else:
            axes.fill_between(ends, low / ends**2, high / ends**2, **BAND)
        axes.axhline(1, color=GREY, linewidth=0.7)
    everything = np.stack([variance for variance, _ in allocations.values()])
    row[0].set_ylim(everything.min() / 1.5, max(1.5, everything.max() * 1.5))
    row[0].set_ylabel("noise variance")
    key: list[Line2D | Patch] = [
        Line2D([], [], color=colour, marker="o", markersize=4, lw=0, label=f"latent {j + 1}")
        for j, colour in zip(range(lengths.shape[1]), COLOURS, strict=False)
    ]
    key.append(Line2D([], [], color=BLACK, linestyle="--", linewidth=1, label="water level"))
    key.append(Patch(label="levels of samples", **BAND))
    key.append(Line2D([], [], color=GREY, linewidth=0.7, label="the prior's variance"))
    figure.legend(handles=key, loc="outside lower center", ncols=-(-len(key) // 2))
    return figure


def elbo_gap(
    gamma2: Float[Array, "g"],
    elbo: Float[Array, "g"],
    loglik: Float[Array, "g"],
    ima: Float[Array, "g"],
) -> Figure:
    """The ELBO tends to the IMA-regularised log-likelihood as the decoder's noise falls.

    After Zietlow (2022), figure 7.6, and Reizinger et al. (2022).

    Args:
        gamma2: Precision of the likelihood.
        elbo: With the self-consistent posterior.
        loglik: Of the data.
        ima: The same, less the IMA contrast.
    """
    figure = Figure(figsize=(5.2, 4.8), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(1.4, 1))
    regularised = "log-likelihood − IMA contrast"
    above.semilogx(gamma2, loglik, color=ORANGE, linewidth=1.6, label="log-likelihood")
    above.semilogx(gamma2, ima, color=GREEN, linewidth=5, alpha=0.5, label=regularised)
    above.semilogx(gamma2, elbo, "o-", color=BLUE, markersize=4, linewidth=1.6, label="ELBO")
    arrow = {"arrowstyle": "<->", "color": BLACK, "shrinkA": 0, "shrinkB": 0}
    end = gamma2[-1]
    above.annotate("", (end, loglik[-1]), (end, ima[-1]), arrowprops=arrow)
    middle = (end, (loglik[-1] + ima[-1]) / 2)
    text = f"IMA contrast {loglik[-1] - ima[-1]:.3f}"
    above.annotate(text, middle, (-6, 0), textcoords="offset points", ha="right", va="center")
    above.set_ylabel("nats")
    above.legend()
    for target, colour, name in (
        (loglik, ORANGE, "log-likelihood"),
        (ima, GREEN, regularised),
    ):
        distance = np.maximum(np.abs(target - elbo), FLOOR)
        below.loglog(gamma2, distance, "o-", color=colour, markersize=4, label=f"from {name}")
    below.legend(loc="lower left")
    below.set_xlabel(r"precision of the decoder, $\gamma^2$")
    below.set_ylabel("distance of the ELBO\n(nats)")
    figure.align_ylabels()
    return figure


def _some(given: Sized, name: str) -> None:
    if len(given) == 0:
        raise ValueError(f"{name} must hold at least one, got none")
