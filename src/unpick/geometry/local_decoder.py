"""Local decoders: what a decoder does within one posterior, as a matrix and one nonlinearity."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.arrays import Array, to_tensor
from unpick.geometry.jacobian import decoder_jacobians
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

MOMENTUM = 0.5


@dataclass(frozen=True, eq=False)
class LocalErrors:
    """How well maps f(M eps) stand for the decoder around each mean.

    Attributes:
        residual: Mean over samples of the relative residual; 0 is exact, 1 as good as no change.
        per_sample: E|Dec(z) - Dec(mu) - f(M eps)|^2 / E|Dec(z) - Dec(mu)|^2, and 0 where the
            decoder does not move.
        loss_error: Of the stochastic loss summed over samples, relative and squared (Bhowal et
            al. 2024, A.8.2): (sum approximated / sum actual - 1)^2.
        actual: E|Dec(z) - Dec(mu)|^2, the stochastic loss of each sample.
        approximated: E|f(M eps)|^2.
        even: The share of the change that is the same for eps and -eps. An odd f without a bias
            knows nothing of it, so that no residual is lower.
    """

    residual: float
    per_sample: Float[Tensor, "n"]
    loss_error: float
    actual: Float[Tensor, "n"]
    approximated: Float[Tensor, "n"]
    even: Float[Tensor, "n"]


@dataclass(frozen=True, eq=False)
class LocalDecoder:
    """Dec(z) is about base + f(M (z - mu) + b) around the mean mu of each sample.

    Attributes:
        residual: The mean relative residual on fresh noise.
        errors: The same sample by sample, and the error of the stochastic loss.
        matrices: M, in the units of a Jacobian.
        base: Dec(mu).
        bias: b, if one was fitted.
        nonlinearity: f.
    """

    residual: float
    errors: LocalErrors
    matrices: Float[Tensor, "n p d"]
    base: Float[Tensor, "n p"]
    bias: Float[Tensor, "n p"] | None
    nonlinearity: Nonlinearity


@torch.no_grad()
def fit_local_decoder(
    decode: Callable[[Tensor], Tensor],
    mean: Array,
    deviation: Array,
    *,
    nonlinearity: Nonlinearity = "tanh",
    bias: bool = False,
    samples: int = 128,
    steps: int = 10,
    memory: int = 2**24,
    generator: torch.Generator | None = None,
) -> LocalDecoder:
    r"""Fit M of each sample to the decoder within its posterior (Bhowal et al. 2024, eq. 11, 12).

    .. math:: \min_M E_\epsilon \| Dec(\mu + \epsilon) - Dec(\mu) - f(M \epsilon) \|^2,
              \qquad \epsilon \sim N(0, diag(\sigma^2))

    Linear: least squares. Tanh: from there, M moves `steps` times by the least-squares fit to
    f' times the residual, with momentum. That is steepest descent where the noise is white, and
    there the loss is curved by at most 1.24 (a decoder of pixels in [0, 1] moves by 1 at most),
    so no rate has to be chosen. Loss, noise and steps are the same for every sample and model.

    Noise is drawn in pairs eps, -eps. What the decoder does alike in both directions cannot be
    taken for a slope then: 64 draws give a line as good as 256 single ones.

    Args:
        decode: Maps latents (n, d) to observations (n, ...), each on its own.
        mean: The posterior's mean for each sample.
        deviation: Its standard deviation.
        nonlinearity: f. The paper says "one non-linearity", its code has tanh.
        bias: Fit f(M eps + b); the paper's local decoder has no b.
        samples: Noise draws to fit with; as many fresh ones give the errors.
        steps: Of the fit with tanh.
        memory: Bytes to work in, besides the result and what the decoder needs for 512 latents;
            the default keeps the work in the processor's cache.
        generator: Draws the noise; seed 0 by default.

    Example:
        >>> mixing = torch.tensor([[1.0, 2.0], [0.0, 3.0], [1.0, 0.0]])
        >>> mean, deviation = torch.zeros(1, 2), torch.full((1, 2), 0.1)
        >>> fit = fit_local_decoder(lambda z: torch.tanh(z @ mixing.T), mean, deviation)
        >>> fit.matrices[0].round(decimals=2).abs()
        tensor([[1., 2.],
                [0., 3.],
                [1., 0.]])
    """
    if nonlinearity not in FUNCTIONS:
        raise unknown_choice("nonlinearity", nonlinearity, Nonlinearity)
    mean, deviation = posteriors(mean, deviation, samples)
    n, d = mean.shape
    if samples < 2 * d + 2:
        raise ValueError(
            f"samples must be at least {2 * d + 2} for {d} latents, got {samples}: "
            "noise comes in pairs, and fewer fit any decoder exactly"
        )
    if steps < 1:
        raise ValueError(f"steps must be positive, got {steps}")
    fresh, noise = noise_pairs(mean, samples, generator)
    base = decode_flat(decode, mean)
    matrices, offsets = base.new_empty(n, base.shape[1], d), torch.zeros_like(base)
    for around in neighbourhoods(decode, mean, deviation, base, noise, memory):
        weights = _least_squares(around, nonlinearity, steps, bias)
        matrices[around.rows] = (weights[:, :d] / around.deviation[:, :, None]).mT
        if bias:
            offsets[around.rows] = weights[:, d]
    tests = neighbourhoods(decode, mean, deviation, base, fresh, memory)
    found = errors(tests, matrices, offsets, nonlinearity)
    return LocalDecoder(
        found.residual, found, matrices, base, offsets if bias else None, nonlinearity
    )


@torch.no_grad()
def jacobian_residual(
    decode: Callable[[Tensor], Tensor],
    mean: Array,
    deviation: Array,
    *,
    jacobians: Array | None = None,
    samples: int = 128,
    memory: int = 2**24,
    generator: torch.Generator | None = None,
) -> LocalErrors:
    """The same errors with the Jacobian at the mean for M, and f linear (Rolinek et al. 2019).

    With the same samples and generator the noise is that of the errors of `fit_local_decoder`.
    The Jacobians are taken unless they are given.

    Example:
        >>> jacobian_residual(lambda z: 3 * z, torch.zeros(1, 2), torch.ones(1, 2)).residual
        0.0
    """
    mean, deviation = posteriors(mean, deviation, samples)
    fresh, _ = noise_pairs(mean, samples, generator)
    base = decode_flat(decode, mean)
    tests = neighbourhoods(decode, mean, deviation, base, fresh, memory)
    if jacobians is None:
        jacobians = decoder_jacobians(decode, mean)
    given = to_tensor("jacobians", jacobians, "samples, outputs, latents").to(base)
    if given.shape != (*base.shape, mean.shape[1]):
        raise ValueError(
            f"jacobians must have shape {(*base.shape, mean.shape[1])}, as decode has, "
            f"got {tuple(given.shape)}"
        )
    return errors(tests, given, torch.zeros_like(base), "linear")


def _least_squares(
    around: Neighbourhood, nonlinearity: Nonlinearity, steps: int, bias: bool
) -> Float[Tensor, "m k p"]:
    """Weights of white noise, and of a constant after it if there is a bias."""
    inputs, moved = around.noise, around.moved
    if bias:
        inputs = torch.cat([inputs, torch.ones_like(inputs[:, :, :1])], dim=2)
    solve = torch.linalg.solve(inputs.mT @ inputs, inputs.mT)
    weights = solve @ moved
    if nonlinearity == "linear":
        return weights
    velocity = torch.zeros_like(weights)
    for _ in range(steps):
        ahead = weights + MOMENTUM * velocity
        found = torch.tanh(inputs @ ahead)
        downhill = solve @ ((1 - found.square()) * (moved - found))
        velocity = ahead + downhill - weights
        weights = weights + velocity
    return weights


def errors(
    tests: Iterable[Neighbourhood],
    matrices: Float[Tensor, "n p d"],
    offsets: Float[Tensor, "n p"],
    nonlinearity: Nonlinearity,
) -> LocalErrors:
    """The errors of given local decoders."""
    sums = []
    for around in tests:
        predicted = around.predict(matrices, offsets, nonlinearity)
        there, opposite = around.moved.chunk(2, dim=1)  # as `noise_pairs` orders them
        terms = (around.moved - predicted, around.moved, predicted, (there + opposite) / 2)
        sums.append(torch.stack([term.square().sum(2).mean(1) for term in terms]).double())
    left, actual, approximated, alike = found = torch.cat(sums, dim=1)
    if not found.isfinite().all():
        raise ValueError("decode must give outputs whose squares are finite; they are not")
    per_sample, even = (torch.where(actual > 0, part / actual, 0.0) for part in (left, alike))
    total = float(actual.sum())
    loss_error = (float(approximated.sum()) / total - 1) ** 2 if total else 0.0
    return LocalErrors(
        float(per_sample.mean()), per_sample, loss_error, actual, approximated, even
    )
