"""Measures of chapter 4: scores against factors, and what the latents do."""

import torch
from jaxtyping import Bool
from torch import Tensor

from unpick.geometry import distance_to_orthogonality
from unpick.geometry.optimal_posterior import ACTIVE_BELOW
from unpick.metrics import mutual_information_gap
from unpick.probe import FACTOR_SCORES, Measure, Probe
from unpick.probe.measures import JACOBIANS, codes_and_factors, reconstruction


def factor_gaps(probe: Probe) -> dict[str, float]:
    """`MIG, NAME`: the part of MIG that every factor has."""
    gap = mutual_information_gap(*codes_and_factors(probe))
    return {
        f"MIG, {name}": float(part)
        for name, part in zip(probe.factor_names, gap.per_factor, strict=True)
    }


def latent_use(probe: Probe) -> dict[str, float]:
    """`active` latents, and `sigma 1`, `sigma 2`, ...: mean deviations, ascending.

    Active are latents with E(sigma^2) < 0.8 (Zietlow 2022, section 4.3.4).
    """
    if probe.variance is None:
        return {}
    deviations = probe.variance.sqrt().mean(0).sort().values
    spread = {f"sigma {j}": float(each) for j, each in enumerate(deviations, 1)}
    return {"active": float(in_use(probe).sum())} | spread


def alignment_in_use(probe: Probe) -> dict[str, float]:
    """`DtO` and its `chance`; of two active latents or more `DtO, active` and `DtO / chance`."""
    if probe.decode is None:
        return {}
    jacobians, active = probe.first(JACOBIANS).jacobians, in_use(probe)
    dto = distance_to_orthogonality(jacobians)
    values = {"DtO": dto.mean, "chance": dto.chance}
    if active.sum() > 1:
        used = distance_to_orthogonality(jacobians, active=active)
        values |= {"DtO, active": used.mean, "DtO / chance": used.relative}
    return values


def in_use(probe: Probe) -> Bool[Tensor, "d"]:
    """Latents with a mean posterior variance below 0.8; all of an autoencoder's."""
    if probe.variance is None:
        return torch.ones(probe.latents, dtype=torch.bool)
    return probe.variance.mean(0) < ACTIVE_BELOW


READINGS: tuple[Measure, ...] = (
    *FACTOR_SCORES,
    factor_gaps,
    latent_use,
    alignment_in_use,
    reconstruction,
)
