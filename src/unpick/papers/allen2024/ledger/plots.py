"""Drawing of the ledger's figures, from arrays."""

from collections.abc import Mapping, Sized
from typing import Any

import matplotlib as mpl
import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from unpick.plots.style import BLUE, ORANGE, SKY

Array = np.ndarray


def plateau_profiles(
    v: Float[Array, "k"],
    profiles: Mapping[float, Float[Array, "k"]],
    points: Float[Array, "m 2"],
) -> Figure:
    """A decoder along one latent, for several bounds on how steep it may be.

    Args:
        v: The latent.
        profiles: What it is decoded to, by the bound.
        points: Codes and data that the decoder has to pass through.
    """
    _some(profiles, "profiles")
    figure = Figure(figsize=(5.2, 3.4), layout="constrained")
    axes = figure.subplots()
    shades = mpl.colormaps["Blues"](np.linspace(0.35, 1, len(profiles)))
    for (bound, u), shade in zip(sorted(profiles.items()), shades, strict=True):
        axes.plot(v, u, color=shade, linewidth=1.6, label=f"{bound:g}")
    axes.plot(*points.T, "o", color=ORANGE, markersize=7, markeredgecolor="white", zorder=4)
    axes.set(xlabel="latent", ylabel="decoded value")
    axes.locator_params(nbins=5)
    axes.legend(title="steepest slope allowed", loc="upper left")
    return figure


def linear_vae_spectrum(
    eigenvalues: Float[Array, "p"], lengths: Float[Array, "d"], noise: float
) -> Figure:
    r"""Columns of a linear VAE against the spectrum of the data (Lucas et al. 2019).

    At the optimum \|W_j\|^2 + \sigma^2 is the eigenvalue, where that exceeds the noise variance,
    and \sigma^2 for the other latents, which are passive.

    Args:
        eigenvalues: Of the covariance of the data.
        lengths: Of the decoder's columns.
        noise: \sigma^2 of the likelihood.
    """
    figure = Figure(figsize=(5.2, 3.4), layout="constrained")
    axes = figure.subplots()
    values = np.sort(eigenvalues)[::-1]
    explained = np.sort(lengths)[::-1] ** 2 + noise
    index = np.arange(1, len(values) + 1)
    floor = 0.5 * min(values[values > 0].min(), noise)
    bars = "eigenvalue of the data's covariance"
    axes.bar(index, values - floor, 0.7, bottom=floor, color=SKY, alpha=0.6, label=bars)
    axes.axhline(noise, color=ORANGE, linestyle="--", linewidth=1.2, label="noise variance")
    look: dict[str, Any] = {"color": BLUE, "markersize": 6}
    dots = "squared column length + noise variance"
    active = explained > noise * (1 + 1e-6)
    axes.plot(index[: len(active)][active], explained[active], "o", label=dots, **look)
    if not active.all():
        look |= {"markerfacecolor": "white", "label": "the same, passive latent"}
        axes.plot(index[: len(active)][~active], explained[~active], "o", **look)
    axes.set(yscale="log", ylim=(floor, 3 * values[0]))
    axes.set(xlabel="latent, longest column first", ylabel="variance")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="upper right")
    return figure


def _some(given: Sized, name: str) -> None:
    if len(given) == 0:
        raise ValueError(f"{name} must hold at least one, got none")
