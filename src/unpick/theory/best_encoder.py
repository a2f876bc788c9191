"""The best diagonal Gaussian encoder for a decoder, observation by observation."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, lgamma, log, pi

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.arrays import Array
from unpick.theory.mechanisms import POINTS
from unpick.theory.pushforward import checked_codes, finite_jacobians, log_normal
from unpick.theory.quadrature import gaussian_grid


@dataclass(frozen=True, eq=False)
class BestEncoder:
    """The diagonal Gaussian posterior of each observation that an unlimited encoder would give.

    Attributes:
        mean: Posterior means.
        deviation: Posterior standard deviations.
        elbo: In nats, by quadrature.
    """

    mean: Float[Tensor, "n d"]
    deviation: Float[Tensor, "n d"]
    elbo: Float[Tensor, "n"]


def best_encoder(
    decode: Callable[[Tensor], Tensor],
    z: Array,
    precision: float,
    *,
    nodes: int = 5,
    steps: int = 60,
) -> BestEncoder:
    r"""Maximise the ELBO of x = f(z) over means and variances, the decoder f held.

    .. math:: \max_{\mu, \sigma} E_\epsilon \log N(x;\, f(\mu + \sigma \epsilon),\, \gamma^{-2} I)
              - KL(N(\mu, \sigma^2) \| N(0, I))

    This is the ELBO* of Reizinger et al. (2022). L-BFGS starts at the self-consistent posterior of
    `mechanism_gap`, in coordinates in which the curvature is about the same everywhere. No
    observation ends with a lower ELBO than it started with.

    Args:
        decode: Mean decoder (n, d) -> (n, ...), differentiable by torch.
        z: Codes of the observations, where the search begins.
        precision: gamma^2 of the likelihood.
        nodes: Of Gauss-Hermite quadrature in each of the few latents.
        steps: Most steps of the search.

    Example:
        >>> found = best_encoder(lambda z: 3 * z, torch.ones(1, 2).double(), 1.0)
        >>> found.mean[0]  # of the exact posterior, which is diagonal here
        tensor([0.9000, 0.9000], dtype=torch.float64)
        >>> round(found.deviation[0, 0].item() ** 2, 6)
        0.1
    """
    z = checked_codes(z)
    if not 0 < precision < inf:
        raise ValueError(f"precision must be positive and finite, got {precision}")
    if nodes < 1 or nodes ** z.shape[1] > POINTS:
        raise ValueError(
            f"nodes must be positive and few: {nodes}^{z.shape[1]} points, at most {POINTS}"
        )
    z = z.detach().double()
    jacobians = finite_jacobians(decode, z)
    shape = precision * jacobians.mT @ jacobians + torch.eye(z.shape[1]).to(z)
    whitening = torch.linalg.inv(torch.linalg.cholesky(shape)).mT
    start = -0.5 * shape.diagonal(dim1=1, dim2=2).log()
    grid, weights = (torch.from_numpy(part).to(z) for part in gaussian_grid(z.shape[1], nodes))
    observed = decode(z).detach().flatten(1).double()

    def posterior(moved: Tensor, scaled: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and log-deviation, from coordinates that are 0 at the start."""
        return z + torch.einsum("nij,nj->ni", whitening, moved), start + scaled

    def elbo(moved: Tensor, scaled: Tensor) -> Float[Tensor, "n"]:
        mean, log_deviation = posterior(moved, scaled)
        codes = mean[:, None] + log_deviation.exp()[:, None] * grid
        decoded = decode(codes.flatten(0, 1)).double().reshape(len(z), len(grid), -1)
        error = (decoded - observed[:, None]).square().sum(2) @ weights
        noise = observed.shape[1] * log(2 * pi / precision)
        kl = 0.5 * (mean.square() + (2 * log_deviation).exp() - 1).sum(1) - log_deviation.sum(1)
        return -0.5 * (precision * error + noise) - kl

    moved, scaled = (torch.zeros_like(z).requires_grad_() for _ in range(2))
    search = torch.optim.LBFGS(
        [moved, scaled],
        max_iter=steps,
        history_size=20,
        tolerance_grad=1e-7,
        tolerance_change=1e-10,
        line_search_fn="strong_wolfe",
    )

    def loss() -> Tensor:
        search.zero_grad()
        value = -elbo(moved, scaled).sum()
        value.backward()
        return value

    search.step(loss)
    with torch.no_grad():
        better = (elbo(moved, scaled) > elbo(0 * moved, 0 * scaled))[:, None]
        moved, scaled = moved * better, scaled * better
        mean, log_deviation = posterior(moved, scaled)
        return BestEncoder(mean, log_deviation.exp(), elbo(moved, scaled))


def log_marginal(
    decode: Callable[[Tensor], Tensor],
    x: Float[Tensor, "n p"],
    mean: Float[Tensor, "n d"],
    precision: float,
    *,
    draws: int = 2000,
    seed: int = 0,
) -> Float[Tensor, "n"]:
    r"""\log p_\gamma(x), the likelihood of a decoder with its noise, by importance sampling.

    Codes are drawn about the mean from a multivariate t distribution of the Gauss-Newton
    posterior's shape. It is wider than the posterior, so that no draw has much more weight than
    others.

    Args:
        decode: Mean decoder (n, d) -> (n, ...).
        x: Observations.
        mean: Codes near them, such as those of `best_encoder`.
        precision: gamma^2 of the likelihood.
        draws: Draws for each observation; all share the same ones.
        seed: Seed of the draws.
    """
    mean = checked_codes(mean)
    d, freedom = mean.shape[1], 5
    jacobians = finite_jacobians(decode, mean)
    shape = precision * jacobians.mT @ jacobians + torch.eye(d).to(jacobians)
    factor = torch.linalg.inv(torch.linalg.cholesky(shape)).mT
    generator = torch.Generator().manual_seed(seed)
    steps, chi = (torch.randn(draws, k, generator=generator).double() for k in (d, freedom))
    steps = steps / chi.square().mean(1, keepdim=True).sqrt()
    log_proposal = (
        lgamma((freedom + d) / 2)
        - lgamma(freedom / 2)
        - d / 2 * log(freedom * pi)
        - (freedom + d) / 2 * (steps.square().sum(1) / freedom).log1p()
        - torch.linalg.slogdet(factor).logabsdet[:, None]
    )
    codes = (mean[:, None] + steps @ factor.mT).flatten(0, 1)
    error = (decode(codes).double().reshape(len(x), draws, -1) - x.double()[:, None]).square()
    noise = x.shape[1] * log(2 * pi / precision)
    log_joint = -0.5 * (precision * error.sum(2) + noise)
    log_joint = log_joint + log_normal(codes).sum(1).reshape(len(x), draws)
    return torch.logsumexp(log_joint - log_proposal, 1) - log(draws)
