"""Local decoders as the released code of Bhowal et al. (2024) fits and judges them.

Kept to be compared with, not to be used: see `local_decoder` for what the paper describes.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.arrays import Array
from unpick.geometry.jacobian import decoder_jacobians
from unpick.geometry.local_decoder import LocalDecoder, errors
from unpick.geometry.neighbourhood import (
    FUNCTIONS,
    Neighbourhood,
    Nonlinearity,
    decode_flat,
    neighbourhoods,
    noise_pairs,
    posteriors,
)
from unpick.names import unknown_choice

RATES = {"linear": 1e-4, "tanh": 0.1}
MOMENTUM = 0.9


@dataclass(frozen=True, eq=False)
class ReleasedErrors:
    """What the released code prints as errors.

    Attributes:
        fit: Of the local decoder, mean over samples.
        jacobian: Of the Jacobian.
        per_sample: Both for each sample.
    """

    fit: float
    jacobian: float
    per_sample: Float[Tensor, "n 2"]


@torch.no_grad()
def fit_released_decoder(
    decode: Callable[[Tensor], Tensor],
    mean: Array,
    deviation: Array,
    *,
    nonlinearity: Nonlinearity = "tanh",
    samples: int = 10,
    steps: int = 1,
    memory: int = 2**24,
    generator: torch.Generator | None = None,
) -> LocalDecoder:
    """A linear layer with a bias, from its random start, by SGD on the mean squared error.

    Momentum 0.9, rate 0.1 (tanh) or 1e-4 (linear). The mean over pixels makes the gradient small,
    so the matrix stays near its start: at 1024 pixels it has moved by 0.01 % after one step, the
    code's default, and by half after 1000, still far worse than no fit at all. This is the fit
    of tables 1 and 2. In that for the OD-Score the code adds a term to the loss, which rewards
    orthogonality for one model and punishes it for others; it is left out.

    Args:
        decode: Maps latents (n, d) to observations (n, ...), each on its own.
        mean: The posterior's mean for each sample.
        deviation: Its standard deviation.
        nonlinearity: f.
        samples: Noise draws, one batch; drawn in pairs, which the original does not do.
        steps: Of SGD.
        memory: Bytes to work in.
        generator: Draws the noise and the start; seed 0 by default.
    """
    if nonlinearity not in FUNCTIONS:
        raise unknown_choice("nonlinearity", nonlinearity, Nonlinearity)
    mean, deviation = posteriors(mean, deviation, samples)
    generator = generator or torch.Generator().manual_seed(0)
    fresh, noise = noise_pairs(mean, samples, generator)
    base = decode_flat(decode, mean)
    matrices, offsets = base.new_empty(*base.shape, mean.shape[1]), torch.empty_like(base)
    for around in neighbourhoods(decode, mean, deviation, base, noise, memory):
        weights = _sgd(around, nonlinearity, steps, generator)
        matrices[around.rows], offsets[around.rows] = weights[:, :-1].mT, weights[:, -1]
    tests = neighbourhoods(decode, mean, deviation, base, fresh, memory)
    found = errors(tests, matrices, offsets, nonlinearity)
    return LocalDecoder(found.residual, found, matrices, base, offsets, nonlinearity)


@torch.no_grad()
def released_errors(
    decode: Callable[[Tensor], Tensor],
    mean: Array,
    deviation: Array,
    fit: LocalDecoder,
    *,
    samples: int = 10,
    memory: int = 2**24,
    generator: torch.Generator | None = None,
) -> ReleasedErrors:
    """The released code's numbers for the paper's tables 1 and 2.

    With A the mean square of Dec(z) - Dec(mu) over noise and pixels and P that of the residual,
    the fit's number is (A - P)^2: A^2 for a perfect fit, 0 for one as good as nothing. The
    Jacobian's is (A - |J eps|)^2, with J at the first z instead of mu, and a norm summed over
    noise and pixels where A is a mean, so that it grows with their number.
    """
    mean, deviation = posteriors(mean, deviation, samples)
    noise, _ = noise_pairs(mean, samples, generator)
    jacobians = decoder_jacobians(decode, mean + deviation * noise[:, 0])
    offsets = torch.zeros_like(fit.base) if fit.bias is None else fit.bias
    parts = []
    for around in neighbourhoods(decode, mean, deviation, fit.base, noise, memory):
        predicted = around.predict(fit.matrices, offsets, fit.nonlinearity)
        actual = around.moved.square().mean((1, 2))
        left = (around.moved - predicted).square().mean((1, 2))
        norm = (around.scaled @ jacobians[around.rows].mT).square().sum((1, 2)).sqrt()
        parts.append(torch.stack([actual - left, actual - norm], dim=1).square())
    per_sample = torch.cat(parts)
    of_fit, of_jacobian = per_sample.mean(0).tolist()
    return ReleasedErrors(of_fit, of_jacobian, per_sample)


def _sgd(
    around: Neighbourhood, nonlinearity: Nonlinearity, steps: int, generator: torch.Generator
) -> Float[Tensor, "m k p"]:
    """Weights of the noise, and of a constant after it."""
    m, samples, p = around.moved.shape
    inputs = torch.cat([around.scaled, torch.ones_like(around.noise[:, :, :1])], dim=2)
    shape, device = (inputs.shape[2], p), generator.device
    start = torch.stack(
        [
            torch.rand(shape, generator=generator, dtype=inputs.dtype, device=device)
            for _ in range(m)
        ]
    ).to(inputs.device)
    weights = (2 * start - 1) / (inputs.shape[2] - 1) ** 0.5  # as nn.Linear starts
    velocity = torch.zeros_like(weights)
    for _ in range(steps):
        found = FUNCTIONS[nonlinearity](inputs @ weights)
        slope = 1 - found.square() if nonlinearity == "tanh" else 1.0
        gradient = -2 / (samples * p) * (inputs.mT @ (slope * (around.moved - found)))
        velocity = MOMENTUM * velocity + gradient
        weights = weights - RATES[nonlinearity] * velocity
    return weights
