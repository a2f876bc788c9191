"""The polarized regime: latents that carry the data, and latents that carry only noise."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from unpick.arrays import Array, to_tensor
from unpick.geometry.optimal_posterior import ACTIVE_BELOW, positive_variance, square
from unpick.models.posterior import Diagonal, Full

ACTIVE_ABOVE = 0.5  # deviation of an active latent's mean (Zietlow 2022, section 3.3.2)
SETTLED_BELOW = 0.03  # Delta_KL in the polarized regime (the same)
LARGEST_LOG = 100.0  # of a log variance: its exponential is far beyond any posterior's
SOME = 0.05  # share of observations that makes a latent mixed; ours


@dataclass(frozen=True, eq=False)
class PolarizedRegime:
    """Which latents are in use.

    Attributes:
        delta_kl: Relative error of the polarized KL; below 0.03 in the regime.
        marginal_delta_kl: The same from the latents' marginals alone. Equal to `delta_kl` unless a
            Cholesky factor was given.
        active: The means deviate by more than 0.5.
        passive: The mean is at most 0.5 (root mean square), the variance 0.8 or more for all but
            5 % of observations. What is neither active nor passive does not fit the regime.
        mixed: The variance is below 0.8 for some observations (5 to 95 %), and not for the others.
        pruned: The mean variance is 0.8 or more.
        over_pruned: Fewer latents than factors are left; None if the factors are not known.
        mean_deviation: Standard deviation of a latent's mean over observations.
        mean_variance: A latent's variance, averaged over observations.
        kl: Of a latent's marginal, in nats, averaged over observations.
        total_kl: Of all latents together, in nats, averaged over observations. The sum of `kl`
            for a diagonal posterior; larger, by the information that latents have about each
            other given x, for a full covariance.
        leak: Share of passive latents in the squared Jacobian; 0 if the decoder ignores them,
            None without Jacobians.
    """

    delta_kl: float
    marginal_delta_kl: float
    active: Bool[Tensor, "d"]
    passive: Bool[Tensor, "d"]
    mixed: Bool[Tensor, "d"]
    pruned: Bool[Tensor, "d"]
    over_pruned: bool | None
    mean_deviation: Float[Tensor, "d"]
    mean_variance: Float[Tensor, "d"]
    kl: Float[Tensor, "d"]
    total_kl: float
    leak: float | None


def polarized_regime(
    mean: Array,
    variance: Array,
    *,
    factor: Array | None = None,
    factors: int | None = None,
    jacobians: Array | None = None,
) -> PolarizedRegime:
    """Sort latents into active and passive (Zietlow 2022, definition 1 and section 3.3.2).

    The definition asks that (a) a passive latent has mean 0 and variance 1 for every observation,
    (b) an active one has a small variance, (c) the decoder ignores passive latents. `passive`
    tests (a), `delta_kl` (a) and (b), `leak` (c).

    Args:
        mean: Of the posteriors of a data set.
        variance: Of the same; the diagonal of a full covariance.
        factor: Cholesky factors L of full covariances L L^T. Without it latents are taken for
            independent given x: `delta_kl` and `total_kl` then leave out their correlations.
            Properties of single latents are of their marginals, and need no factor.
        factors: How many generative factors there are; a model is over-pruned if fewer latents
            have a mean variance below 0.8 (section 4.3.4).
        jacobians: Of the decoder at some of the means.

    Example:
        >>> mean, variance = torch.tensor([[1.0, 0.0], [-1.0, 0.0]]), torch.tensor([[0.01, 1.0]])
        >>> regime = polarized_regime(mean, variance.expand(2, 2), factors=2)
        >>> regime.active.tolist(), regime.passive.tolist(), regime.over_pruned
        ([True, False], [False, True], True)
    """
    mean = to_tensor("mean", mean, "observations, latents").double()
    variance = positive_variance(variance).to(mean.device)
    if len(mean) < 2 or variance.shape != mean.shape:
        raise ValueError(
            "mean and variance must have the same shape with at least 2 rows, "
            f"got {tuple(mean.shape)} and {tuple(variance.shape)}"
        )
    if factor is not None:
        factor = square("factor", factor).to(mean)
        spread = factor.square().sum(-1)
        if spread.shape != mean.shape or not torch.allclose(spread, variance):
            raise ValueError("variance must be the diagonal of L L^T, where L is factor")
    precise = (variance < ACTIVE_BELOW).double().mean(0)  # share of observations
    active = mean.std(0, correction=0) > ACTIVE_ABOVE
    passive = (mean.square().mean(0).sqrt() <= ACTIVE_ABOVE) & (precise <= SOME)
    pruned = variance.mean(0) >= ACTIVE_BELOW
    leak = None
    if jacobians is not None:
        slopes = to_tensor("jacobians", jacobians, "samples, outputs, latents").to(mean)
        if slopes.shape[2] != mean.shape[1]:
            raise ValueError(
                f"jacobians must have {mean.shape[1]} columns, as mean has, got {slopes.shape[2]}"
            )
        squares = slopes.square().sum((0, 1))
        leak = float(squares[passive].sum() / squares.sum()) if squares.any() else 0.0
    kl = Diagonal(mean, variance.log()).kl_per_latent().mean(0)
    marginal = polarized = float(delta_kl(mean, variance.log()))
    total = float(kl.sum())
    if factor is not None:
        whole = Full(mean, factor).kl().mean()
        polarized, total = _delta_kl_of_block(mean, factor, active, whole), float(whole)
    return PolarizedRegime(
        delta_kl=polarized,
        marginal_delta_kl=marginal,
        active=active,
        passive=passive,
        mixed=(precise > SOME) & (precise < 1 - SOME),
        pruned=pruned,
        over_pruned=None if factors is None else int((~pruned).sum()) < factors,
        mean_deviation=mean.std(0, correction=0),
        mean_variance=variance.mean(0),
        kl=kl,
        total_kl=total,
        leak=leak,
    )


def _delta_kl_of_block(
    mean: Float[Tensor, "n d"],
    factor: Float[Tensor, "n d d"],
    active: Bool[Tensor, "d"],
    whole: Float[Tensor, ""],
) -> float:
    r"""Delta_KL of full covariances; eq. 3.5 with the active latents taken together.

    .. math:: L_{\approx KL} = \tfrac12 (|\mu_a|^2 - \log\det \Sigma_{aa} - a)

    a are the active latents. For a diagonal covariance it is eq. 3.5.
    """
    if whole <= 0:
        return 0.0
    if not active.any():
        return 1.0
    block = (factor @ factor.mT)[:, active][:, :, active]
    spread = mean[:, active].square().sum(1) - block.logdet() - int(active.sum())
    return float((whole - spread.mean() / 2).abs() / whole)


def delta_kl(mean: Array, log_variance: Array) -> Float[Tensor, "*s"]:
    r"""|L_KL - L_{\approx KL}| / L_KL (Zietlow 2022, eq. 3.38 and 3.5), one value a member.

    .. math:: L_{\approx KL} = \tfrac12 \sum_{j\ active} (\mu_j^2 - \log \sigma_j^2 - 1)

    Both are averaged over observations first. What is left out is half the variance of the
    active latents and the KL of the others. 0 where the KL is 0. For a full covariance, whose
    correlations this does not see, use `polarized_regime` with the factor.
    """
    mean = to_tensor("mean", mean, "..., observations, latents").double()
    log_variance = to_tensor("log_variance", log_variance, "..., observations, latents").to(mean)
    if mean.shape != log_variance.shape or log_variance.max() > LARGEST_LOG:
        raise ValueError(
            f"log_variance must have the shape of mean, {tuple(mean.shape)}, and be at most "
            f"{LARGEST_LOG:g}, got {tuple(log_variance.shape)} and {float(log_variance.max()):g}"
        )
    return delta_kl_of_latents(
        mean.std(-2, correction=0),
        log_variance.exp().mean(-2),
        Diagonal(mean, log_variance).kl_per_latent().mean(-2),
    )


def delta_kl_of_latents(
    deviation: Float[Tensor, "*s d"], variance: Float[Tensor, "*s d"], kl: Float[Tensor, "*s d"]
) -> Float[Tensor, "*s"]:
    """The same from what is logged of each latent: deviation of its mean, mean variance, KL.

    For a full-covariance posterior these are of the marginals: see `marginal_delta_kl`.
    """
    whole = kl.sum(-1)
    polarized = torch.where(deviation > ACTIVE_ABOVE, kl - variance / 2, 0.0).sum(-1)
    return torch.where(whole > 0, (whole - polarized).abs() / whole, 0.0)


def settled_after(delta_kl_over_time: Array, threshold: float = SETTLED_BELOW) -> float:
    """The share of training after which Delta_KL stays below the threshold; 1 if it never does.

    Zietlow (2022), table 3.2 gives the rest, 1 - settled_after, measured every 500 batches.

    Args:
        delta_kl_over_time: Measured at equal intervals, the last at the end of training.
        threshold: 3 % in the paper.

    Example:
        >>> settled_after(torch.tensor([0.5, 0.02, 0.04, 0.01, 0.01]))
        0.6
    """
    found = to_tensor("delta_kl_over_time", delta_kl_over_time, "times", finite=False, sized=False)
    steps = len(found)
    above = (~(found < threshold)).nonzero()  # nan is not below
    return (int(above[-1]) + 1) / steps if len(above) else 0.0
