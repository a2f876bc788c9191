"""ELBO, likelihood and IMA contrast of three mixings as the decoder's noise falls."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from unpick.geometry import decoder_jacobians
from unpick.papers.reizinger2022.mixings import (
    Mixing,
    log_density,
    moebius,
    orthogonal_mlp,
    triangular_mlp,
)
from unpick.papers.reizinger2022.published import published
from unpick.study.study import Results, Scale
from unpick.theory.best_encoder import best_encoder, log_marginal
from unpick.theory.mechanisms import mechanism_gap

Array = np.ndarray
SOURCES = 5
DRAWS = 64  # observations of each mixing; a power of two, as they are Sobol points
NODES = 3  # of quadrature: five change mean ELBOs by at most 0.003 nats, where noise is large
STORED = 10 ** np.arange(1, 5.1, 0.5)  # gamma^2 of the stored results
PRECISIONS = 10 ** np.arange(1, 7.1, 0.5)
# Mixings whose Jacobians have orthogonal columns.
INSIDE: dict[str, Mixing] = {
    "Möbius": moebius(SOURCES),
    "orthogonal network": orthogonal_mlp(SOURCES),
}
OUTSIDE = "triangular network"
# Its contrast is 6.4, that of the stored one 7.1. Its observations are small, as are theirs.
MIXINGS = INSIDE | {OUTSIDE: triangular_mlp(SOURCES, seed=1, scale=0.1)}


@dataclass(frozen=True, eq=False)
class Curves:
    r"""Means over observations of one mixing, in nats.

    Attributes:
        precision: \gamma^2 of the likelihood.
        elbo: Of the best encoder, ELBO*.
        inverting: ELBO of the self-consistent encoder, which inverts the decoder.
        noisy: log-likelihood of the decoder with its noise.
        likelihood: The data's log-density, without noise.
        contrast: IMA contrast.
        off_inverse: Root mean square distance of the best encoder's means from the sources.
        off_variance: Root mean square of log(best / self-consistent variance).
    """

    precision: Float[Array, "g"]
    elbo: Float[Array, "g"]
    inverting: Float[Array, "g"]
    noisy: Float[Array, "g"]
    likelihood: float
    contrast: float
    off_inverse: Float[Array, "g"]
    off_variance: Float[Array, "g"]

    @property
    def regularised(self) -> float:
        """The IMA objective: log-likelihood less contrast."""
        return self.likelihood - self.contrast

    def to_json(self) -> dict[str, Any]:
        """By field, arrays as lists."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {k: v.tolist() if isinstance(v, Array) else v for k, v in values.items()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Curves":
        """The inverse of `to_json`."""
        arrays = {k: np.array(v) for k, v in values.items() if isinstance(v, list)}
        return cls(**{**values, **arrays})


def compute_curves(
    mixing: Mixing,
    sources: int = SOURCES,
    precisions: Float[Array, "g"] = PRECISIONS,
    draws: int = DRAWS,
) -> Curves:
    """The curves of one mixing, from the same draws at every precision."""
    points = torch.quasirandom.SobolEngine(sources, scramble=True, seed=0).draw(draws).double()
    z = torch.special.ndtri(points)
    lengths = decoder_jacobians(mixing, z).norm(dim=1)
    columns: dict[str, list[float]] = {}
    for precision in precisions.tolist():
        best = best_encoder(mixing, z, precision, nodes=NODES)
        inverting = mechanism_gap(mixing, z, precision, nodes=NODES)
        ratio = (best.deviation.square() * (1 + precision * lengths.square())).log()
        for column, value in {
            "elbo": best.elbo,
            "inverting": inverting.elbo,
            "noisy": log_marginal(mixing, mixing(z), best.mean, precision),
            "off_inverse": (best.mean - z).square().sum(1).mean().sqrt(),
            "off_variance": ratio.square().mean().sqrt(),
        }.items():
            columns.setdefault(column, []).append(float(value.mean()))
    return Curves(
        precisions,
        likelihood=float(log_density(mixing, z).mean()),
        contrast=float(inverting.contrast.mean()),
        **{column: np.array(values) for column, values in columns.items()},
    )


def compute_all(scale: Scale) -> dict[str, Any]:
    """The curves of every mixing, as JSON; the same at every scale."""
    return {name: compute_curves(mixing).to_json() for name, mixing in MIXINGS.items()}


COMPUTED = {"curves": compute_all}


def curves_of(results: Results) -> dict[str, Curves]:
    """The curves of every mixing that the study computed."""
    return {name: Curves.from_json(v) for name, v in results.computed["curves"].items()}


def inside(results: Results) -> dict[str, Curves]:
    """The curves of the mixings in the class."""
    return {name: each for name, each in curves_of(results).items() if name in INSIDE}


def outside(results: Results) -> Curves:
    """The curves of the mixing outside the class."""
    return curves_of(results)[OUTSIDE]


def stored(row: str) -> Curves:
    """The results that Reizinger et al. (2022) store with their code; others are nan."""
    nan = np.full(len(STORED), np.nan)
    elbo = [published("ima-gap", row, f"{k:g}")["ELBO*"].mean for k in np.log10(STORED)]
    data = {name: value.mean for name, value in published("ima-gap", row, "data").items()}
    likelihood = data["log-likelihood"]
    contrast = likelihood - data["regularised"]
    return Curves(STORED, np.array(elbo), nan, nan, likelihood, contrast, nan, nan)
