"""Measures of a trained model, each a function from a probe to named numbers.

A measure returns nothing for a model that it does not apply to: one without a decoder, with a
single latent, or without known factors. To add one, write a function here (or in a paper's
folder, or in your own file); metrics of codes and factors belong to `unpick.metrics`, geometry of
a decoder to `unpick.geometry`, and a measure only names their numbers. An entry in `MEASURES`
makes `unpick measure` print it, on runs that were measured before, too.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from unpick.geometry import (
    column_cosines,
    distance_to_orthogonality,
    ima_contrast,
    polarized_regime,
    settled_after,
)
from unpick.geometry.polarized import delta_kl_of_latents
from unpick.metrics import (
    dci,
    disentanglement_score,
    factor_vae_score,
    mutual_information_gap,
    sap,
)
from unpick.probe.cache import Measure
from unpick.probe.probe import Probe

JACOBIANS = 1000  # observations at which the decoder is linearised


def alignment(probe: Probe) -> dict[str, float]:
    """`DtO` (Zietlow 2022, eq. 3.25), its `chance` value and its `degenerate` share."""
    if probe.decode is None or probe.latents < 2:
        return {}
    dto = distance_to_orthogonality(probe.first(JACOBIANS).jacobians)
    return {"DtO": dto.mean, "chance": dto.chance, "degenerate": dto.degenerate}


def orthogonality(probe: Probe) -> dict[str, float]:
    """`column cosine` (0 is orthogonal) and `IMA contrast` in nats (0 is orthogonal)."""
    if probe.decode is None or probe.latents < 2:
        return {}
    jacobians = probe.first(JACOBIANS).jacobians
    return {
        "column cosine": column_cosines(jacobians).mean,
        "IMA contrast": ima_contrast(jacobians).mean,
    }


def polarization(probe: Probe) -> dict[str, float]:
    """`active` latents, `Delta_KL` and `largest variance`.

    The last is the mean posterior variance of the latent where that is largest.
    """
    if probe.variance is None:
        return {}
    regime = polarized_regime(probe.mean, probe.variance)
    return {
        "active": float(regime.active.sum()),
        "Delta_KL": regime.delta_kl,
        "largest variance": float(regime.mean_variance.max()),
    }


def active_alignment(probe: Probe) -> dict[str, float]:
    """`DtO, active`: DtO of the active latents, if there are two or more."""
    if probe.variance is None or probe.decode is None:
        return {}
    active = polarized_regime(probe.mean, probe.variance).active
    if active.sum() < 2:
        return {}
    dto = distance_to_orthogonality(probe.first(JACOBIANS).jacobians, active=active)
    return {"DtO, active": dto.mean}


def settling(probe: Probe) -> dict[str, float]:
    """`settled`: the percentage of training after which Delta_KL stayed below 3 %."""
    if probe.variance is None:
        return {}
    history = dict(probe.history())
    if not history:
        return {}
    history.pop("step")
    return {"settled": 100 * (1 - settled_after(delta_kl_of_latents(**history)))}


def disentanglement(probe: Probe) -> dict[str, float]:
    """`DS`, if there are two or more factors: a class label alone is no generative factor."""
    if probe.factors is None or probe.factors.shape[1] < 2 or probe.latents < 2:
        return {}
    score = disentanglement_score(probe.mean.cpu().numpy(), probe.factors, probe.categorical)
    return {"DS": score.score}


def reconstruction(probe: Probe) -> dict[str, float]:
    """`error`: the root mean square over pixels of what mean reconstructions miss."""
    return {} if probe.decode is None else {"error": probe.error}


def mig(probe: Probe) -> dict[str, float]:
    """`MIG`, in 20 bins."""
    return {"MIG": mutual_information_gap(*codes_and_factors(probe)).score}


def dci_disentanglement(probe: Probe) -> dict[str, float]:
    """`DCI`: disentanglement, with the fast learner."""
    return {"DCI": dci(*codes_and_factors(probe), learner="fast").disentanglement}


def factor_vae(probe: Probe) -> dict[str, float]:
    """`FactorVAE` score."""
    return {"FactorVAE": factor_vae_score(*codes_and_factors(probe)).score}


def separability(probe: Probe) -> dict[str, float]:
    """`SAP`."""
    return {"SAP": sap(*codes_and_factors(probe)).score}


def codes_and_factors(
    probe: Probe,
) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "n k"]]:
    """What a metric of codes and factors takes."""
    if probe.factors is None:
        raise ValueError("the factors of these observations are not known")
    return probe.mean.cpu().double().numpy(), probe.factors.astype(float)


def take(probe: Probe, measures: Sequence[Measure]) -> dict[str, float]:
    """All numbers of several measures, not cached."""
    return {name: value for measure in measures for name, value in measure(probe).items()}


# What `unpick measure` takes of every run.
MEASURES: tuple[Measure, ...] = (alignment, orthogonality, polarization, active_alignment)
# What a study's table shows unless it names others.
STANDARD: tuple[Measure, ...] = (
    alignment,
    polarization,
    active_alignment,
    settling,
    disentanglement,
)
# Four scores against factors (Zietlow 2022, tables 4.2 to 4.5).
FACTOR_SCORES: tuple[Measure, ...] = (mig, dci_disentanglement, factor_vae, separability)
