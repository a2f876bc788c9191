"""Measures of chapter 4: scores against factors, latents, and how far twins are apart."""

from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from unpick.data import DataConfig, split
from unpick.geometry import distance_to_orthogonality
from unpick.geometry.optimal_posterior import ACTIVE_BELOW
from unpick.metrics import mutual_information_gap
from unpick.papers.zietlow2022.thesis_4.cells import config
from unpick.papers.zietlow2022.thesis_4.rings import ring
from unpick.papers.zietlow2022.thesis_4.settings import FACTORS, SETTINGS, Data, Twin
from unpick.probe import FACTOR_SCORES, Measure, Probe
from unpick.probe.measures import JACOBIANS, codes_and_factors, reconstruction
from unpick.study.study import Results, Scale

IMAGES = 1000  # of the test part
COMPONENTS = 30


def factor_gaps(probe: Probe) -> dict[str, float]:
    """`MIG, NAME`: the part of MIG that every factor has."""
    gap = mutual_information_gap(*codes_and_factors(probe))
    return {
        f"MIG, {name}": float(part)
        for name, part in zip(probe.factor_names, gap.per_factor, strict=True)
    }


def hue_rings(probe: Probe) -> dict[str, float]:
    """`ring, NAME` of every hue: the share of its mean codes that a ring explains, 1 if polar."""
    codes, factors = codes_and_factors(probe)
    return {
        f"ring, {name}": ring(codes, factors[:, column]).share
        for column, name in enumerate(probe.factor_names)
        if name.endswith("hue")
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


@dataclass(frozen=True, eq=False)
class Difference:
    """How far a twin is from its original, over test images.

    Attributes:
        largest: Change of any pixel.
        typical: Root mean square change of a pixel.
        share: Variance of the change, as a share of the original's variance.
        variances: Of the twin along its first principal components, as shares of the same.
    """

    largest: float
    typical: float
    share: float
    variances: Float[np.ndarray, "components"]


def difference(original: DataConfig, twin: DataConfig) -> Difference:
    """Of a twin, or of the original from itself."""
    after, before = images(twin), images(original)
    changed = after - before
    whole = (before - before.mean(0)).square().sum()
    return Difference(
        largest=float(changed.abs().max()),
        typical=float(changed.square().mean().sqrt()),
        share=float((changed - changed.mean(0)).square().sum() / whole),
        variances=(principal(after)[:COMPONENTS] / whole).numpy(),
    )


def principal(x: Float[Tensor, "n p"]) -> Float[Tensor, "n"]:
    """Sums of squares along principal components, descending."""
    centred = x - x.mean(0)
    return torch.linalg.eigvalsh(centred @ centred.T).flip(0).clamp(min=0)


def images(data: DataConfig) -> Float[Tensor, "n p"]:
    """Flat test images."""
    dataset = data.load()
    return dataset.observe(split(dataset).test[:IMAGES]).flatten(1).double()


def pixel_changes(data: Data, scale: Scale) -> dict[str, Any]:
    """The `Difference` of each twin, as JSON; nothing where the data set is not used."""
    if data not in SETTINGS[scale]:
        return {}
    chosen = SETTINGS[scale][data]
    kinds: tuple[Twin, ...] = ("perturbed", "original", "noisy")  # first what may be missing
    kinds += ("louder",) if chosen.louder else ()
    original = chosen.data
    found = {t: difference(original, config(data, "beta-vae", t, scale).data) for t in kinds}
    return {
        twin: asdict(each) | {"variances": each.variances.tolist()} for twin, each in found.items()
    }


def found_changes(results: Results, data: Data) -> dict[str, Difference]:
    """The same, from a study's computed values; nothing if a twin is missing."""
    values = results.computed.get(f"pixels-{data}", {})
    return {
        twin: Difference(**each | {"variances": np.array(each["variances"])})
        for twin, each in values.items()
    }


READINGS: tuple[Measure, ...] = (
    *FACTOR_SCORES,
    factor_gaps,
    hue_rings,
    latent_use,
    alignment_in_use,
    reconstruction,
)
COMPUTED = {f"pixels-{data}": partial(pixel_changes, data) for data in FACTORS}
