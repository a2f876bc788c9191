"""Theorem 3 of Allen (2024): beta-VAEs beside the VAEs that they are said to be, both trained."""

from functools import cache

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure

from unpick.data.synthetic import Circles
from unpick.papers.allen2024.beta.sweep import twin_differences
from unpick.papers.allen2024.ledger.beta import scaled_likelihood
from unpick.study.study import Results, Verdict
from unpick.theory.dispersion import Optimiser, train_bernoulli_twins, train_twins

SCALED = (0.1, 0.3, 3.0, 10.0)  # betas of Gaussian twins: powers of two would hide rounding
TEMPERED = (2.0, 4.0)  # betas of Bernoulli ones
WHOLE = (0.5, 0.2)  # the mean of two and of five observations
VARIANCE, HIDDEN = 0.5, 16
ROUNDING = 1e-9


@cache
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


@cache
def bernoulli(beta: float) -> float:
    """The same of a Bernoulli VAE and its nearest, trained on the signs of eight projections."""
    across = torch.randn(2, 8, generator=torch.Generator().manual_seed(0))
    return train_bernoulli_twins((points() @ across > 0).float(), beta, hidden=HIDDEN).difference


@cache
def points() -> Float[torch.Tensor, "n 2"]:
    """Some of the circles'."""
    dataset = Circles(points=200).load()
    return dataset.observe(torch.arange(len(dataset)))


def gaussian_twins(results: Results) -> Verdict:
    """They end at the same weights, and would not without the scaled variance."""
    if not results.outcomes:
        return Verdict(None, "")
    sgd = max(gaussian(beta) for beta in SCALED)
    adam = max(gaussian(beta, "adam") for beta in SCALED)
    apart = min(gaussian(beta, scaled=False) for beta in SCALED)
    evidence = f"100 steps at beta {', '.join(f'{b:g}' for b in SCALED)}: weights end {sgd:.0e} "
    evidence += f"of their way apart with SGD, its rate scaled by beta, {adam:.0e} with Adam as "
    evidence += f"it is; {apart:.0%} or more if the variance is not scaled"
    return Verdict(sgd < ROUNDING and adam < 1e-3 < apart, evidence)


def bernoulli_twins(results: Results) -> Verdict:
    """Whether a Bernoulli VAE has a twin of beta times the variance, and they train alike."""
    if not results.outcomes:
        return Verdict(None, "")
    least = {beta: float(scaled_likelihood("Bernoulli", beta).min()) for beta in TEMPERED + WHOLE}
    apart = [bernoulli(beta) for beta in TEMPERED]
    below = [f"{least[beta]:.3f} at beta {beta:g}" for beta in TEMPERED]
    evidence = f"the only candidate has a probability of {' and '.join(below)}; beside the "
    evidence += f"nearest Bernoulli VAE weights end {apart[0]:.0%} and {apart[1]:.0%} of their "
    evidence += "way apart"
    if min(least[beta] for beta in WHOLE) > -ROUNDING:
        evidence += f"; at {WHOLE[0]:g} and {WHOLE[1]:g} there is a twin (ledger A-T3)"
    return Verdict(min(least.values()) > -ROUNDING and max(apart) < ROUNDING, evidence)


def draw_twins(results: Results) -> Figure | None:
    """Distances at the end, against beta."""
    if not results.outcomes:
        return None
    return twin_differences(
        np.array(SCALED),
        {
            "Gaussian, variance not scaled": np.array([gaussian(b, scaled=False) for b in SCALED]),
            "Bernoulli": np.array([bernoulli(b) for b in SCALED]),
            "Gaussian, Adam": np.array([gaussian(b, "adam") for b in SCALED]),
            "Gaussian, SGD": np.array([gaussian(b) for b in SCALED]),
        },
    )
