"""The posterior that fits the likelihood best, and how near an encoder comes to it."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.arrays import Array, to_tensor

ACTIVE_BELOW = 0.8  # mean variance of an active latent (Zietlow 2022, section 4.3.4)


def optimal_covariance(hessian: Array, beta: float) -> Float[Tensor, "n d d"]:
    r"""The Gaussian posterior that fits best: (I - H / \beta)^{-1} (Allen 2024, eq. 7 and 8).

    It maximises 1/2 tr(H S) - beta KL over covariances S, so it is the best one for distortion +
    beta KL as far as the second order goes. For the squared error and a linear decoder W that is
    (I + 2 W^T W / beta)^-1, exactly. An exact Hessian can bend upwards so much that I - H / beta
    is not positive definite: no covariance is best there, and the matrix is filled with nan.

    Args:
        hessian: Of the log-likelihood, from `likelihood_hessian`.
        beta: The weight of the KL.

    Example:
        >>> optimal_covariance(torch.tensor([[[-3.0, 1.0], [1.0, -3.0]]]).double(), 1.0)[0]
        tensor([[0.2667, 0.0667],
                [0.0667, 0.2667]], dtype=torch.float64)
    """
    hessian = square("hessian", hessian)
    identity = torch.eye(hessian.shape[-1]).to(hessian)
    factor, failed = torch.linalg.cholesky_ex(identity - hessian / require_positive(beta))
    # A matrix that failed would stop the inversion of all.
    factor = torch.where(failed[:, None, None] > 0, identity, factor)
    covariance = torch.cholesky_inverse(factor)
    return covariance.masked_fill(failed[:, None, None] > 0, float("nan"))


def optimal_variance(hessian: Array, beta: float) -> Float[Tensor, "n d"]:
    r"""Variances of the best posterior among diagonal ones: 1 / (1 - H_{jj} / \beta).

    For the squared error 1 / (1 + 2 \|J_j\|^2 / beta) in Gauss-Newton form, j a column: the
    self-consistency of Reizinger et al. (2022) with gamma^2 = 2 / beta. These are not the diagonal
    of `optimal_covariance`, which is larger. Where H_jj >= beta there is no best one: nan.
    """
    precision = 1 - square("hessian", hessian).diagonal(dim1=1, dim2=2) / require_positive(beta)
    return torch.where(precision > 0, 1 / precision, float("nan"))


@dataclass(frozen=True, eq=False)
class PosteriorAgreement:
    """Variances of an encoder against the best ones.

    Attributes:
        ratio: Geometric mean of encoder's / best over observations and latents; 1 if they agree.
        scatter: Root mean square of log(encoder's / best): 0.1 is off by a tenth.
        correlation: Of the logarithms, over observations and latents; nan if either is constant.
        ratio_per_latent: Geometric mean over observations.
        correlation_per_latent: Over observations: whether the encoder knows where a latent
            matters; nan if either is constant.
        undefined: Share of (observation, latent) without a best variance, left out above.
    """

    ratio: float
    scatter: float
    correlation: float
    ratio_per_latent: Float[Tensor, "d"]
    correlation_per_latent: Float[Tensor, "d"]
    undefined: float


def posterior_agreement(variance: Array, hessian: Array, beta: float) -> PosteriorAgreement:
    """Does a diagonal encoder have the variances that the decoder asks for (Allen 2024, eq. 7)?

    Passive latents agree by themselves (both are 1), so look at the active ones.

    Args:
        variance: Of the encoder.
        hessian: Of the log-likelihood at the encoder's means.
        beta: What the model was trained with.
    """
    best = optimal_variance(hessian, beta).double()
    known = ~best.isnan()
    ours, theirs = positive_variance(variance).to(best.device).log(), best.log()
    if ours.shape != theirs.shape:
        raise ValueError(
            f"variance must have shape {tuple(theirs.shape)}, as hessian has, "
            f"got {tuple(ours.shape)}"
        )
    difference = ours - theirs
    columns = [(a[k], b[k]) for a, b, k in zip(ours.T, theirs.T, known.T, strict=True)]
    return PosteriorAgreement(
        ratio=float(difference[known].mean().exp()),
        scatter=float(difference[known].square().mean().sqrt()),
        correlation=_correlation(ours[known], theirs[known]),
        ratio_per_latent=difference.nanmean(0).exp(),
        correlation_per_latent=torch.tensor([_correlation(a, b) for a, b in columns]).double(),
        undefined=float((~known).double().mean()),
    )


@dataclass(frozen=True, eq=False)
class ImpliedBeta:
    """The beta that an encoder's variances imply.

    Attributes:
        beta: Median over observations and active latents; nan if none is active.
        low: Lower quartile.
        high: Upper quartile.
        per_latent: Median over observations; nan for a passive latent, which tells nothing.
    """

    beta: float
    low: float
    high: float
    per_latent: Float[Tensor, "d"]


def implied_beta(variance: Array, curvature: Array) -> ImpliedBeta:
    r"""Solve \sigma_j^2 = 1 / (1 + c_j / \beta) for beta: c_j \sigma_j^2 / (1 - \sigma_j^2).

    Args:
        variance: Of the encoder. Latents whose mean variance is 0.8 or more are left out.
        curvature: c, the diagonal of -H; for the squared error 2 \|J_j\|^2.

    Example:
        >>> curvature = torch.tensor([[8.0, 2.0]])
        >>> round(implied_beta(1 / (1 + curvature / 0.5), curvature).beta, 6)
        0.5
    """
    variance = positive_variance(variance)
    curvature = to_tensor("curvature", curvature, "observations, latents").to(variance)
    if curvature.shape != variance.shape:
        raise ValueError(
            f"curvature must have the shape of variance, {tuple(variance.shape)}, "
            f"got {tuple(curvature.shape)}"
        )
    estimates = curvature * variance / (1 - variance)
    usable = (variance < 1) & (variance.mean(0) < ACTIVE_BELOW)
    estimates = estimates.masked_fill(~usable, float("nan"))
    low, beta, high = estimates.flatten().nanquantile(
        torch.tensor([0.25, 0.5, 0.75]).to(estimates)
    )
    per_latent = estimates.nanquantile(0.5, dim=0)
    return ImpliedBeta(float(beta), float(low), float(high), per_latent)


def require_positive(beta: float) -> float:
    """Return beta; raise unless it is positive and finite."""
    if not 0 < beta < math.inf:
        raise ValueError(f"beta must be positive, got {beta}")
    return beta


def positive_variance(variance: Array) -> Float[Tensor, "n d"]:
    """Variances as doubles; raise unless they are positive and finite."""
    found = to_tensor("variance", variance, "observations, latents")
    if not bool((found > 0).all()):
        raise ValueError(f"variance must be positive and finite, got {float(found.min()):g}")
    return found.double()


def square(name: str, matrices: Array) -> Float[Tensor, "n d d"]:
    """Square matrices, one an observation."""
    found = to_tensor(name, matrices, "observations, latents, latents")
    if found.shape[1] != found.shape[2]:
        raise ValueError(f"{name} must hold square matrices, got shape {tuple(found.shape)}")
    return found


def _correlation(a: Float[Tensor, "m"], b: Float[Tensor, "m"]) -> float:
    """Pearson's; nan where one of the two is constant to rounding."""
    a, b = a - a.mean(), b - b.mean()
    if len(a) < 3 or min(a.abs().max(), b.abs().max()) < 1e-6:
        return float("nan")
    return float(a @ b / (a.norm() * b.norm()))
