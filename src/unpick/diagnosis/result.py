"""What a diagnosis holds."""

from dataclasses import dataclass
from pathlib import Path

from jaxtyping import Bool, Float
from torch import Tensor

from unpick.diagnosis.findings import Beta, Finding
from unpick.geometry import (
    ColumnCosines,
    DistanceToOrthogonality,
    IMAContrast,
    ImpliedBeta,
    PolarizedRegime,
    PosteriorAgreement,
)
from unpick.metrics import Scorecard


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What was found about a model.

    Attributes:
        findings: In words.
        beta: Whether the weight of the KL looks too small, right or too large.
        beta_factor: By how much to multiply it, where that can be said.
        active: The latents in use.
        order: Latents by importance: the most precise first, or the widest without variances.
        regime: Active, passive and mixed latents; None without variances.
        alignment: Distance to orthogonality over the active latents; None if fewer than two are.
        cosines: Angles between their Jacobian columns.
        contrast: Volume lost to those angles.
        posterior: Variances against those that the Jacobian asks for; None without variances.
        implied_beta: The beta that the variances speak of, in units of the summed loss.
        asked_variance: Variances that the Jacobian asks for, at the observations examined.
        residual: Share of the posterior noise's effect that the Jacobian misses.
        explained: Share of the variance of x that reconstructions from the means explain.
        scores: Every metric, if factors were given.
        page: The HTML page, if one was written.
    """

    findings: tuple[Finding, ...]
    beta: Beta
    beta_factor: float | None
    active: Bool[Tensor, "d"]
    order: tuple[int, ...]
    regime: PolarizedRegime | None
    alignment: DistanceToOrthogonality | None
    cosines: ColumnCosines | None
    contrast: IMAContrast | None
    posterior: PosteriorAgreement | None
    implied_beta: ImpliedBeta | None
    asked_variance: Float[Tensor, "m d"] | None
    residual: float | None
    explained: float
    scores: Scorecard | None = None
    page: Path | None = None
