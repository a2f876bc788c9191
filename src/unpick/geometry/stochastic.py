"""What the noise of the posterior costs: the stochastic part of the reconstruction loss."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.arrays import Array, to_tensor
from unpick.geometry.curvature import chunks, observations, outputs
from unpick.geometry.jacobian import decoder_jacobians
from unpick.models import likelihood as likelihoods
from unpick.models.likelihood import Likelihood


@dataclass(frozen=True, eq=False)
class Estimate:
    """An expectation over the posterior's noise.

    Attributes:
        mean: Over observations.
        error: Standard error of `mean` that comes from drawing the noise; 0 if nothing is drawn.
        per_sample: One value an observation.
    """

    mean: float
    error: float
    per_sample: Float[Tensor, "n"]


@dataclass(frozen=True, eq=False)
class StochasticLoss:
    """The reconstruction loss in parts: total = deterministic + stochastic + bias.

    Attributes:
        linearity: linearised / stochastic; 1 for a decoder that is linear as far as the posterior
            reaches, nan without noise.
        total: Loss with noise.
        deterministic: Loss at the posterior's mean.
        stochastic: What the noise would cost if the reconstruction were the observation.
        bias: How far the noise shifts the mean reconstruction, along the residual: the term that
            the published split assumes away.
        linearised: The stochastic part of the linearised decoder.
    """

    linearity: float
    total: Estimate
    deterministic: Estimate
    stochastic: Estimate
    bias: Estimate
    linearised: Estimate


def stochastic_loss(
    decode: Callable[[Tensor], Tensor],
    x: Array,
    mean: Array,
    deviation: Array,
    *,
    likelihood: Likelihood = "gaussian",
    samples: int = 64,
    generator: torch.Generator | None = None,
    chunk: int | None = None,
) -> StochasticLoss:
    r"""The split of the reconstruction loss (Zietlow 2022, eq. 3.8 to 3.13).

    .. math:: E\|x - D(\mu + L\epsilon)\|^2 = \|x - D(\mu)\|^2
              + E\|D(\mu + L\epsilon) - D(\mu)\|^2
              + 2 \langle D(\mu) - x,\, E D(\mu + L\epsilon) - D(\mu) \rangle

    Linearised, the second part is \|J L\|_F^2. The third vanishes if D(mu + L eps) has the mean
    D(mu), which the paper's proposition 4 assumes.

    `bernoulli` splits in the same way, with D for the logits and p for their sigmoid: the second
    part is E KL(p(x|mu) || p(x|mu + L eps)), linearised \|diag(p(1 - p))^{1/2} J L\|_F^2 / 2, and
    the third is <p - x, E D(mu + L eps) - D(mu)>.

    Args:
        decode: Mean decoder (n, d) -> (n, ...), for `bernoulli` the decoder of logits.
        x: Observations.
        mean: Of their posteriors.
        deviation: Standard deviations, or Cholesky factors L of the covariances.
        likelihood: `gaussian` is the squared error itself.
        samples: Draws an observation, an even number: they come in pairs +eps, -eps, so that what
            is odd in the noise cancels.
        generator: Draws the noise; None seeds one with 0.
        chunk: Observations at a time; None takes as many as make 2^18 pixels.

    Example:
        >>> x, mean, deviation = torch.ones(1, 1), torch.zeros(1, 1), torch.full((1, 1), 0.1)
        >>> parts = stochastic_loss(lambda z: 3 * z, x, mean, deviation)
        >>> parts.deterministic.mean, round(parts.linearised.mean, 4), parts.bias.mean
        (1.0, 0.09, 0.0)
    """
    mean = to_tensor("mean", mean, "observations, latents")
    x = observations(x, mean, likelihood)
    factor = cholesky_factor(mean, deviation)
    shifts = factor @ paired_noise(samples, mean, generator)
    with torch.no_grad():
        parts = [
            _parts(decode, likelihood, *part) for part in chunks(chunk, x, mean, factor, shifts)
        ]
    drawn, deterministic, linearised = (torch.cat(part, -1) for part in zip(*parts, strict=True))
    total, stochastic, bias = (estimate(pairs) for pairs in drawn.unbind(1))
    linear, fixed = estimate(linearised[None]), estimate(deterministic[None])
    linearity = linear.mean / stochastic.mean if stochastic.mean > 0 else float("nan")
    return StochasticLoss(linearity, total, fixed, stochastic, bias, linear)


def _parts(
    decode: Callable[[Tensor], Tensor],
    likelihood: Likelihood,
    x: Float[Tensor, "n p"],
    mean: Float[Tensor, "n d"],
    factor: Float[Tensor, "n d d"],
    shifts: Float[Tensor, "n d pairs"],
) -> tuple[Float[Tensor, "pairs 3 n"], Float[Tensor, "n"], Float[Tensor, "n"]]:
    """Total, stochastic part and bias of each pair of draws; deterministic and linearised."""

    def loss(x: Float[Tensor, "n p"], output: Float[Tensor, "n p"]) -> Float[Tensor, "n"]:
        return likelihoods.distortion(likelihood, x, output).sum(1)

    output = outputs(decode, mean, x)
    expected = likelihoods.mean(likelihood, output)
    slope = likelihoods.slope_factor(likelihood) * (expected - x)
    entropy = loss(expected, output)  # 0 for the squared error

    def at(z: Float[Tensor, "n d"]) -> Float[Tensor, "3 n"]:
        moved = outputs(decode, z, x)
        bias = (slope * (moved - output)).sum(1)
        return torch.stack([loss(x, moved), loss(expected, moved) - entropy, bias])

    drawn = torch.stack([(at(mean + s) + at(mean - s)) / 2 for s in shifts.unbind(2)])
    spread = (decoder_jacobians(decode, mean).double() @ factor.double()).square().sum(2)
    linearised = (likelihoods.curvature(likelihood, output) * spread).sum(1) / 2
    return drawn, loss(x, output), linearised


def cholesky_factor(mean: Float[Tensor, "n d"], deviation: Array) -> Float[Tensor, "n d d"]:
    """L of the covariance L L^T, from standard deviations or from L itself."""
    n, d = mean.shape
    deviation = to_tensor("deviation", deviation, "observations, latents, ...")
    factor = torch.diag_embed(deviation) if deviation.ndim == 2 else deviation
    if factor.shape != (n, d, d):
        raise ValueError(
            f"deviation must have shape {(n, d)} or {(n, d, d)}, got {tuple(deviation.shape)}"
        )
    if not (factor.tril() == factor).all() or (factor.diagonal(dim1=1, dim2=2) < 0).any():
        raise ValueError(
            "deviation must be standard deviations, or lower triangular Cholesky factors, "
            "without a negative number on the diagonal"
        )
    return factor.to(mean)


def paired_noise(
    samples: int, mean: Float[Tensor, "n d"], generator: torch.Generator | None
) -> Float[Tensor, "n d pairs"]:
    """Standard normal noise; the second of each pair is the negative of the first."""
    if samples < 4 or samples % 2:
        raise ValueError(f"samples must be an even number of at least 4, got {samples}")
    generator = generator or torch.Generator().manual_seed(0)
    return torch.randn(*mean.shape, samples // 2, generator=generator).to(mean)


def estimate(pairs: Float[Tensor, "pairs n"]) -> Estimate:
    """Mean over pairs of draws, with its standard error; a single row is exact."""
    mean = pairs.mean(0)
    if not mean.isfinite().all():
        raise ValueError("decode must give outputs of which the loss is finite; it is not")
    error = 0.0
    if len(pairs) > 1:
        error = float((pairs.var(0) / len(pairs)).sum().sqrt() / pairs.shape[1])
    return Estimate(float(mean.mean()), error, mean)
