"""What is measured of each trained member, without labels, on rows that it was not trained on."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from unpick.estimator.alignment import ensemble_jacobians
from unpick.geometry import distance_to_orthogonality
from unpick.geometry.optimal_posterior import ACTIVE_BELOW
from unpick.models import Model
from unpick.models import likelihood as likelihoods
from unpick.models.posterior import Posterior

DRAWS = 4  # pairs of posterior noise a row
POINTS = 50  # rows at which decoders are differentiated
NUMBERS = 2**24  # at a time


@dataclass(frozen=True, eq=False)
class Member:
    """One trained model, as the rule sees it.

    Attributes:
        beta: Weight of the KL beside the squared error.
        restart: Its number among the restarts, or its seed.
        evidence: The ELBO of each held-out row in nats: a lower bound of its log-density.
        codes: Posterior means of these rows.
        variance: Mean posterior variance of each latent.
        log_variance: Mean of its logarithm.
        distortion: Mean squared error of rows decoded with posterior noise, summed over columns.
        explained: Share of the variance that rows decoded from their means explain.
        orthogonality: DtO of the active latents over chance; nan if fewer than two are active.
    """

    beta: float
    restart: int
    evidence: Float[np.ndarray, "n"]
    codes: Float[np.ndarray, "n d"]
    variance: Float[np.ndarray, "d"]
    log_variance: Float[np.ndarray, "d"] | None = None
    distortion: float = math.nan
    explained: float = math.nan
    orthogonality: float = math.nan

    @property
    def active(self) -> Bool[np.ndarray, "d"]:
        """The latents in use: mean variance below 0.8 (Zietlow 2022, section 4.3.4)."""
        return self.variance < ACTIVE_BELOW


def measure_members(
    model: Model, x: Float[Tensor, "n ..."], betas: Sequence[float], restarts: Sequence[int]
) -> list[Member]:
    """Measure every member of an ensemble on the same rows, with the same noise.

    The evidence of a Gaussian likelihood is of variance beta / 2. A Bernoulli likelihood has no
    variance to choose: its evidence is that of beta 1.

    Args:
        model: The ensemble.
        x: Held-out rows.
        betas: One a member.
        restarts: One a member.
    """
    device = next(model.parameters()).device
    generator = torch.Generator().manual_seed(0)
    parts = []
    with torch.no_grad():
        for rows in x.split(max(1, NUMBERS // (len(betas) * x[0].numel()))):
            noise = torch.randn(DRAWS, len(rows), model.config.latents, generator=generator)
            same = rows.to(device).expand(len(betas), *rows.shape)
            parts.append(_measure(model, same, noise.to(same)))
    codes, variance, kl, noisy, missed = (
        torch.cat(each, 1).cpu() for each in zip(*parts, strict=True)
    )
    total = float((x - x.mean(0)).double().square().sum())
    beta = torch.tensor(betas, dtype=torch.float64)[:, None]
    evidence = -noisy.double() - kl.double()
    if model.config.likelihood == "gaussian":
        evidence = gaussian_evidence(noisy.double(), kl.double(), beta, x[0].numel())
    return [
        Member(
            betas[k],
            restarts[k],
            evidence[k].numpy(),
            codes[k].double().numpy(),
            variance[k].double().mean(0).numpy(),
            variance[k].double().log().mean(0).numpy(),
            float(noisy[k].double().mean()),
            1 - float(missed[k].double().sum()) / total if total > 0 else math.nan,
        )
        for k in range(len(betas))
    ]


def _measure(
    model: Model, x: Float[Tensor, "s n ..."], noise: Float[Tensor, "k n d"]
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Means, variances, KL, distortion with noise, squared error: each (members, rows, ...)."""
    q: Posterior = model.encode(x)
    assert q.variance is not None

    def distortion(z: Float[Tensor, "s n d"]) -> Float[Tensor, "s n"]:
        found = likelihoods.distortion(model.config.likelihood, x, model.decode(z))
        return found.flatten(2).sum(2)

    # In pairs, so that what is odd in the noise drops out.
    draws = [each.expand_as(q.mean) for each in noise]
    noisy = torch.stack([distortion(q.sample(sign * draw)) for draw in draws for sign in (1, -1)])
    missed = (model.decode_mean(q.mean) - x).square().flatten(2).sum(2)
    return q.mean, q.variance, q.kl(), noisy.mean(0), missed


def gaussian_evidence(
    distortion: Float[Tensor, "*n"], kl: Float[Tensor, "*n"], beta: Tensor | float, columns: int
) -> Float[Tensor, "*n"]:
    r"""The ELBO in nats of a Gaussian likelihood of variance beta / 2 (Allen 2024, theorem 3).

    .. math:: -\tfrac p2 \log(\pi \beta) - D / \beta - KL

    Minus beta times it is the loss D + beta KL, up to a constant that depends on beta: with the
    constant, models of different beta can be compared.
    """
    scale = torch.log(torch.as_tensor(beta) * math.pi)
    return -columns / 2 * scale - distortion / beta - kl


def with_orthogonality(model: Model, members: Sequence[Member]) -> list[Member]:
    """The same members, with DtO over chance of their active latents, at their first codes."""
    z = torch.from_numpy(np.stack([m.codes[:POINTS] for m in members]))
    jacobians = ensemble_jacobians(model, z.to(next(model.parameters()))).cpu()
    found = []
    for member, own in zip(members, jacobians, strict=True):
        active = torch.from_numpy(member.active)
        known = active.sum() > 1 and bool(own.isfinite().all())
        dto = distance_to_orthogonality(own, active=active).relative if known else math.nan
        found.append(replace(member, orthogonality=dto))
    return found
