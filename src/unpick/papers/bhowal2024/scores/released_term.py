"""The loss term that the released code of Bhowal et al. (2024) adds to its local fits.

With n the noise and N the code's nearest orthogonal matrix of M (see `geometry.od_score`), the
loss is the mean squared error plus a weight times |(M n + b) - N n|. The weight depends on a
model's index in a list: the term rewards orthogonality for the beta-TCVAE and punishes it for the
others. Here one model is fitted with each weight, so every difference comes from the term.
"""

from collections.abc import Callable, Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.geometry import normalised_od_score, od_score
from unpick.geometry.neighbourhood import decode_flat
from unpick.geometry.released_decoder import MOMENTUM, RATES

WEIGHTS: Mapping[str, float] = {"VAE": -1.4, "beta-VAE": -0.7, "beta-TCVAE": 1.0}
SAMPLES = 10  # noise draws, the code's default
STEPS = 5  # of SGD; the code's default is 1, the number used is unknown, 5 comes near table 6


def scores_by_term(
    decode: Callable[[Tensor], Tensor],
    mean: Float[Tensor, "n d"],
    deviation: Float[Tensor, "n d"],
    steps: int = STEPS,
) -> dict[str, float]:
    """The released OD-Score of one decoder, fitted with the weight of each model.

    Args:
        decode: Maps latents (n, d) to observations (n, ...).
        mean: The posterior's mean for each observation.
        deviation: Its standard deviation.
        steps: Of SGD.
    """
    fits = {
        name: od_score(_fit(decode, mean, deviation, weight, steps), variant="released")
        for name, weight in WEIGHTS.items()
    }
    return {name: score.mean for name, score in normalised_od_score(fits).items()}


def _fit(
    decode: Callable[[Tensor], Tensor],
    mean: Float[Tensor, "n d"],
    deviation: Float[Tensor, "n d"],
    weight: float,
    steps: int,
) -> Float[Tensor, "n p d"]:
    """M of each observation; every weight has the same start and the same noise."""
    generator = torch.Generator().manual_seed(0)
    n, d = mean.shape
    noise = deviation[:, None] * torch.randn(n, SAMPLES, d, generator=generator)
    with torch.no_grad():
        there = decode_flat(decode, (mean[:, None] + noise).flatten(0, 1)).unflatten(
            0, (n, SAMPLES)
        )
        moved = there - decode_flat(decode, mean)[:, None]
    p = moved.shape[2]
    start = (2 * torch.rand(n, p, d + 1, generator=generator) - 1) / d**0.5  # as nn.Linear's
    weights, velocity = start.requires_grad_(), torch.zeros_like(start)
    for _ in range(steps):
        matrices, bias = weights[..., :d], weights[..., d:]
        slopes = matrices @ noise.mT + bias  # (n, p, samples)
        inverse = torch.linalg.inv((matrices.mT @ matrices).detach())
        near = matrices @ inverse.clamp(min=0).sqrt() @ noise.mT
        # The code reshapes (p, samples) to (samples, p) where it should transpose.
        apart = slopes.mT - near.reshape(n, SAMPLES, p)
        error = (slopes.mT.tanh() - moved).square().mean((1, 2))
        loss = (error + weight * apart.square().sum((1, 2)).sqrt()).sum()
        velocity = MOMENTUM * velocity + torch.autograd.grad(loss, weights)[0]
        weights = (weights - RATES["tanh"] * velocity).detach().requires_grad_()
    return weights.detach()[..., :d]
