"""Predictions for the runs of `allen-beta`, and the trained pairs of theorem 3.

No run is needed. The study computes these numbers once, for its claims and figures.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from unpick.data import Dataset
from unpick.data.synthetic import Circles
from unpick.models import linear_vae
from unpick.papers.allen2024.beta.cells import CIRCLES, GRID, LINEAR_LATENTS, PLANTED
from unpick.papers.allen2024.beta.readings import LEVELS, circle_labels, deviations
from unpick.papers.allen2024.ledger.beta import scaled_likelihood
from unpick.study.study import Scale
from unpick.theory.dispersion import Optimiser, train_bernoulli_twins, train_twins

SCALED = (1 / 10, 1 / 3, 3.0, 10.0)  # betas of the pairs: powers of two would hide rounding
TEMPERED = (2.0, 4.0)  # betas with no Bernoulli twin
WHOLE = (0.5, 0.2)  # betas of the mean of two and of five Bernoulli observations
VARIANCE, HIDDEN = 0.5, 16
CURVE = 200  # betas of a curve


def compute_limits(scale: Scale) -> dict[str, Any]:
    """The betas at which `levels` merge, and at which all latents of a row collapse.

    Both are those of the linear VAE; see `merging_limits`.
    """
    circles, planted = CIRCLES.load(), PLANTED.load()
    return {
        "levels": merging_limits(observe_all(circles), circle_labels(circles)),
        "collapse": {
            "circles": 2 * largest_variance(observe_all(circles)),
            "linear-gaussian": 2 * largest_variance(observe_all(planted)),
        },
    }


def compute_linear_vaes(scale: Scale) -> dict[str, Any]:
    """Posterior variances of the best linear VAE, ascending, at each `beta` of the study.

    And of a finer `curve` beyond both ends.
    """
    betas = GRID["linear-gaussian"]
    fine = np.geomspace(min(betas) / 1.3, max(betas) * 1.3, CURVE).tolist()
    x = observe_all(PLANTED.load())
    return {
        name: {"beta": list(grid), "variance": [best_variances(x, beta).tolist() for beta in grid]}
        for name, grid in (("cells", betas), ("curve", fine))
    }


def compute_twins(scale: Scale) -> dict[str, Any]:
    """How far trained pairs of theorem 3 end apart, a value for each beta; see `gaussian`.

    `bernoulli` is by beta: the twin if it is 1/k, else the nearest VAE. `least` is the least
    probability of the only likelihood that a Bernoulli twin could have.
    """
    return {
        "sgd": [gaussian(beta) for beta in SCALED],
        "adam": [gaussian(beta, "adam") for beta in SCALED],
        "not scaled": [gaussian(beta, scaled=False) for beta in SCALED],
        "bernoulli": [bernoulli(beta) for beta in SCALED],
        "tempered": [bernoulli(beta) for beta in TEMPERED],
        "whole": [bernoulli(beta) for beta in WHOLE],
        "least": [
            float(scaled_likelihood("Bernoulli", beta).min()) for beta in (*TEMPERED, *WHOLE)
        ],
    }


COMPUTED = {"limits": compute_limits, "linear": compute_linear_vaes, "twins": compute_twins}


def expected_variances(linear: Mapping[str, Any], beta: float) -> Float[np.ndarray, "d"]:
    """Posterior variances that `compute_linear_vaes` found for a beta of the study."""
    return np.array(linear["cells"]["variance"][linear["cells"]["beta"].index(beta)])


def merging_limits(x: Float[Tensor, "n p"], labels: Int[Tensor, "n 2"]) -> dict[str, float]:
    r"""The beta at which each level merges by the rule of the linear VAE: 2 \lambda.

    \lambda is the largest variance, over directions, of what is to merge: points about their
    circle's centre, about their group's, about the mean. A linear VAE has no other choice than
    the last (Lucas et al. 2019). A nonlinear one can treat each circle as data of its own: with a
    decoder that is free to place its outputs, clusters split in two at the same beta (Rose 1998,
    whose temperature is beta).
    """
    within = torch.stack(list(deviations(x, labels).values())).cumsum(0)
    return {level: 2 * largest_variance(each) for level, each in zip(LEVELS, within, strict=True)}


def largest_variance(x: Float[Tensor, "n p"]) -> float:
    """The largest eigenvalue of the covariance."""
    return float(torch.linalg.eigvalsh(torch.cov(x.double().T, correction=0))[-1])


def best_variances(x: Float[Tensor, "n p"], beta: float) -> Float[np.ndarray, "d"]:
    """Posterior variances of the best linear VAE, ascending."""
    best = linear_vae(x, LINEAR_LATENTS, beta / 2)
    return np.sort(best.posterior_covariance.diagonal().numpy())


def gaussian(beta: float, optimiser: Optimiser = "sgd", *, scaled: bool = True) -> float:
    """How far a beta-VAE and a VAE of beta times its variance end apart, trained on circles.

    Args:
        beta: Of the first.
        optimiser: Of both.
        scaled: Else the second has the same variance as the first.
    """
    twin = beta * VARIANCE if scaled else VARIANCE
    found = train_twins(
        points(), beta, VARIANCE, twin_variance=twin, hidden=HIDDEN, optimiser=optimiser
    )
    return found.difference


def bernoulli(beta: float) -> float:
    """The same for a Bernoulli VAE and its twin, or the nearest VAE where there is none.

    They are trained on the signs of eight projections.
    """
    across = torch.randn(2, 8, generator=torch.Generator().manual_seed(0))
    return train_bernoulli_twins((points() @ across > 0).float(), beta, hidden=HIDDEN).difference


def points() -> Float[Tensor, "n 2"]:
    """A few points on circles, to train pairs on."""
    return observe_all(Circles(points=200).load())


def observe_all(dataset: Dataset) -> Float[Tensor, "n ..."]:
    """Every observation of a small data set."""
    return dataset.observe(torch.arange(len(dataset)))
