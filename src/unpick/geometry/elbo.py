"""The ELBO without noise: its second-order expansion about the posterior's mean."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.arrays import Array, to_tensor
from unpick.geometry.curvature import Form, chunks, likelihood_hessian, observations, outputs
from unpick.geometry.optimal_posterior import require_positive
from unpick.geometry.stochastic import Estimate, cholesky_factor, estimate, paired_noise
from unpick.models import likelihood as likelihoods
from unpick.models.likelihood import Likelihood
from unpick.models.posterior import Full


@dataclass(frozen=True, eq=False)
class DeterministicELBO:
    """The ELBO and its expansion, in the units of the loss: elbo = -(distortion + beta KL).

    Attributes:
        relative_gap: gap / |1/2 tr(H S)|: the error of the expansion as a share of what it says
            the noise costs; nan if that is 0.
        gap: elbo - deterministic, with the Monte Carlo error.
        elbo: With noise.
        deterministic: Expanded.
    """

    relative_gap: float
    gap: Estimate
    elbo: Estimate
    deterministic: Estimate


def deterministic_elbo(
    decode: Callable[[Tensor], Tensor],
    x: Array,
    mean: Array,
    deviation: Array,
    *,
    beta: float,
    likelihood: Likelihood = "gaussian",
    form: Form = "exact",
    samples: int = 64,
    generator: torch.Generator | None = None,
    chunk: int | None = None,
) -> DeterministicELBO:
    r"""det-ELBO (Allen 2024, eq. 5 in the form of eq. 16; Kumar & Poole 2020) and what it misses.

    .. math:: \log p(x|\mu) + \tfrac12 tr(H \Sigma)
              - \tfrac\beta2 (\|\mu\|^2 + tr \Sigma - \log|\Sigma| - d), \qquad \Sigma = L L^\top

    H is the Hessian of log p(x|z) at mu. The gap is 0 for a linear decoder with squared error and
    of fourth order in the noise for a smooth one. The Gauss-Newton form makes it of second order
    where there is a residual. H knows nothing of the kinks of a ReLU decoder: third order without
    a residual, second with one.

    The gap is the mean of log p(x|z) - log p(x|mu) - 1/2 eps^T L^T H L eps over paired draws,
    which scatters far less than the ELBO itself.

    Args:
        decode: Mean decoder (n, d) -> (n, ...), for `bernoulli` the decoder of logits.
        x: Observations.
        mean: Of their posteriors.
        deviation: Standard deviations, or Cholesky factors L of the covariances.
        beta: Weight of the KL.
        likelihood: `gaussian` is the squared error itself.
        form: Of the Hessian.
        samples: Draws an observation, an even number.
        generator: Draws the noise; None seeds one with 0.
        chunk: Observations at a time; None takes as many as make 2^18 pixels.

    Example:
        >>> x, mean, deviation = torch.ones(1, 1), torch.zeros(1, 1), torch.ones(1, 1)
        >>> found = deterministic_elbo(lambda z: 3 * z, x, mean, deviation, beta=1.0)
        >>> found.deterministic.mean, round(found.gap.mean, 6) + 0.0
        (-10.0, 0.0)
    """
    mean = to_tensor("mean", mean, "observations, latents")
    x = observations(x, mean, likelihood)
    factor = cholesky_factor(mean, deviation)
    if (factor.diagonal(dim1=1, dim2=2) == 0).any():
        raise ValueError("deviation must be positive, got 0: the KL is infinite")
    hessian = likelihood_hessian(decode, x, mean, likelihood=likelihood, form=form, chunk=chunk)
    shifts = factor @ paired_noise(samples, mean, generator)
    with torch.no_grad():
        parts = [
            _remainder(decode, likelihood, *part)
            for part in chunks(chunk, x, mean, hessian, shifts)
        ]
    remainder, at_mean = (torch.cat(part, -1) for part in zip(*parts, strict=True))
    factor = factor.double()
    second = (factor.mT @ hessian @ factor).diagonal(dim1=1, dim2=2).sum(1) / 2
    expanded = at_mean + second - require_positive(beta) * Full(mean.double(), factor).kl()
    gap = estimate(remainder)
    return DeterministicELBO(
        relative_gap=gap.mean / abs(float(second.mean())) if second.any() else float("nan"),
        gap=gap,
        elbo=estimate(remainder + expanded),
        deterministic=estimate(expanded[None]),
    )


def _remainder(
    decode: Callable[[Tensor], Tensor],
    likelihood: Likelihood,
    x: Float[Tensor, "n p"],
    mean: Float[Tensor, "n d"],
    hessian: Float[Tensor, "n d d"],
    shifts: Float[Tensor, "n d pairs"],
) -> tuple[Float[Tensor, "pairs n"], Float[Tensor, "n"]]:
    """What the second order leaves of log p(x|z) for each pair of draws; log p(x|mean)."""

    def log_likelihood(z: Float[Tensor, "n d"]) -> Float[Tensor, "n"]:
        return -likelihoods.distortion(likelihood, x, outputs(decode, z, x)).sum(1)

    at_mean = log_likelihood(mean)
    remainders = []
    for shift in shifts.unbind(2):
        change = (log_likelihood(mean + shift) + log_likelihood(mean - shift)) / 2 - at_mean
        bend = torch.einsum("ni,nij,nj->n", shift.double(), hessian, shift.double()) / 2
        remainders.append(change - bend)
    return torch.stack(remainders), at_mean
