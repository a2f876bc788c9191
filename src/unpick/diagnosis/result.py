"""The result of a diagnosis."""

from dataclasses import dataclass
from pathlib import Path

from jaxtyping import Bool, Float
from torch import Tensor

from unpick.diagnosis.alignment import Alignment
from unpick.diagnosis.beta import Beta
from unpick.diagnosis.findings import Finding
from unpick.geometry import (
    ColumnCosines,
    DistanceToOrthogonality,
    IMAContrast,
    ImpliedBeta,
    PolarizedRegime,
    PosteriorAgreement,
)
from unpick.metrics import Scorecard
from unpick.notebook import html_table


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """The findings about a model, in words and as numbers.

    Latents on a grid of locations count by channel: `active`, `order` and all that follows.

    Attributes:
        bottom_line: A sentence of verdict, one on factors if they are known, and the next step.
        findings: In words, each with a mark.
        beta: Whether the weight of the KL looks too small, right or too large.
        beta_factor: The factor by which to raise it; None where there is no advice.
        active: The latents in use.
        order: Latents by importance: the most precise first, or the widest without variances.
        regime: Active, passive and mixed latents; None without variances.
        axes: The verdict on the axes of the active latents; None if fewer than two are active.
        alignment: Distance to orthogonality over the active latents.
        cosines: Angles between their Jacobian columns.
        contrast: IMA contrast: volume lost because columns are not orthogonal.
        posterior: Variances against the optimal ones; None without variances.
        implied_beta: The beta that the variances imply, in units of the summed loss.
        optimal_variance: The optimal variances for this decoder and the implied beta, at the
            observations examined.
        residual: Share of the posterior noise's effect that the Jacobian misses.
        assumed: What was assumed about the model and the observations, a sentence each.
        explained: Share of the variance of x that reconstructions from the means explain.
        scores: Every metric, if factors were given.
        page: The HTML page, if one was written.
    """

    bottom_line: tuple[str, ...]
    findings: tuple[Finding, ...]
    beta: Beta
    beta_factor: float | None
    active: Bool[Tensor, "d"]
    order: tuple[int, ...]
    regime: PolarizedRegime | None
    axes: Alignment | None
    alignment: DistanceToOrthogonality | None
    cosines: ColumnCosines | None
    contrast: IMAContrast | None
    posterior: PosteriorAgreement | None
    implied_beta: ImpliedBeta | None
    optimal_variance: Float[Tensor, "m d"] | None
    residual: float | None
    assumed: tuple[str, ...]
    explained: float
    scores: Scorecard | None = None
    page: Path | None = None

    def __repr__(self) -> str:
        active = f"{int(self.active.sum())} of {len(self.active)} latents active"
        titles = "; ".join(f"{finding.title} ({finding.mark})" for finding in self.findings)
        return f"Diagnosis({active}; {titles})"

    def _repr_html_(self) -> str:
        """The findings in words."""
        rows = [(finding.mark, finding.title, finding.text) for finding in self.findings]
        active = f"{int(self.active.sum())} of {len(self.active)} latents active"
        return html_table(active, ("", "finding", ""), rows)
