"""What the numbers of a diagnosis mean, in plain words."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from unpick.diagnosis.subject import Subject
from unpick.geometry import (
    ColumnCosines,
    DistanceToOrthogonality,
    ImpliedBeta,
    PosteriorAgreement,
)

Mark = Literal["good", "note", "bad"]
Beta = Literal["absent", "too small", "right", "over-pruned"]

ALIGNED, UNALIGNED = 0.25, 0.75  # DtO relative to chance
LINEAR, BENT = 0.1, 0.5  # share of the noise's effect that the Jacobian misses
WITHIN = 3.0  # betas within this factor of the rule are as good (Zietlow 2022, figure 3.7)


@dataclass(frozen=True)
class Finding:
    """One thing found: a title, whether it is as it should be, and a sentence or two."""

    title: str
    mark: Mark
    text: str


def suspicions(subject: Subject) -> list[Finding]:
    """What looks like a mistake in how the model was handed over."""
    found = []
    low, high = float(subject.reconstruction.min()), float(subject.reconstruction.max())
    if subject.x.min() >= 0 and subject.x.max() <= 1 and (low < -0.5 or high > 1.5):
        text = (
            f"x lies in [0, 1] but reconstructions reach from {low:.2g} to {high:.2g}. If decode "
            "returns logits, pass the decoder with the sigmoid after it."
        )
        found.append(Finding("Decoder output", "bad", text))
    variance = subject.codes.variance
    if variance is not None and variance.min() >= 1:
        text = (
            f"Every posterior variance is at least one (up to {float(variance.max()):.2g}). If "
            "encode returns variances or deviations in place of log-variances, take the logarithm."
        )
        found.append(Finding("Encoder output", "bad", text))
    return found


def latents_found(
    active: Bool[Tensor, "d"], mixed: Bool[Tensor, "d"] | None, explained: float
) -> Finding:
    """Which latents are in use, and how much of the data they carry."""
    on, d = int(active.sum()), len(active)
    text = f"{on} of {d} latents {'is' if on == 1 else 'are'} active ({listed(active)}). "
    if mixed is not None and mixed.any():
        text += f"Used for some observations only: {listed(mixed)}. "
    text += f"Reconstructions from the means explain {explained:.1%} of the variance of x."
    return Finding("Latents", "good" if on > 1 and explained > 0.5 else "bad", text)


def alignment_found(
    dto: DistanceToOrthogonality | None,
    cosines: ColumnCosines | None,
    active: Bool[Tensor, "d"],
    full_covariance: bool,
) -> Finding:
    """How the latent axes lie to the decoder's singular directions."""
    if dto is None or cosines is None:
        return Finding("Alignment", "bad", "Fewer than two latents are active: nothing to align.")
    mark: Mark = "note"
    word = "partly aligned"
    if dto.relative < ALIGNED:
        mark, word = "good", "aligned"
    elif dto.relative > UNALIGNED:
        mark, word = "bad", "not aligned"
    text = (
        f"The latent axes are {word} with the decoder's singular directions: distance to "
        f"orthogonality {dto.mean:.2f} over the active latents, {dto.chance:.2f} for a random "
        f"rotation. Jacobian columns have a mean absolute cosine of {cosines.mean:.2f}"
    )
    pairs = "; ".join(f"{a} and {b} ({value:.2f})" for a, b, value in worst_pairs(cosines, active))
    text += f", the worst pairs are {pairs}."
    if dto.degenerate > 0.2:
        text += (
            f" In {dto.degenerate:.0%} of samples two singular values lie within 5 %, and the "
            "directions between them are arbitrary."
        )
    if full_covariance:
        text += (
            " The posterior has a full covariance: its objective is the same in every rotation "
            "of the latent space, so nothing turns it."
        )
    return Finding("Alignment", mark, text)


def worst_pairs(
    cosines: ColumnCosines, active: Bool[Tensor, "d"], count: int = 3
) -> list[tuple[int, int, float]]:
    """The pairs of latents whose columns are least orthogonal, numbered as the latents are."""
    names = active.nonzero().flatten().tolist()
    above = torch.triu_indices(len(names), len(names), offset=1)
    values = cosines.matrix[above[0], above[1]]
    best = values.argsort(descending=True)[:count].tolist()
    return [(names[above[0, k]], names[above[1, k]], float(values[k])) for k in best]


def posterior_found(
    agreement: PosteriorAgreement | None, implied: ImpliedBeta | None, beta: float | None
) -> Finding:
    """Whether the encoder has the variances that the decoder asks for."""
    if agreement is None or implied is None:
        text = "The encoder gives no variances, so there is nothing to compare."
        return Finding("Posterior variances", "note", text)
    if math.isnan(agreement.correlation):
        text = "No latent is precise enough to compare its variance with the Jacobian."
        return Finding("Posterior variances", "bad", text)
    fits = agreement.correlation > 0.8 and agreement.scatter < 1
    word = "match" if fits else "do not match"
    text = (
        f"They {word} the Jacobian: against sigma_j^2 = 1 / (1 + c_j / beta), c_j the curvature "
        f"along latent j, the logarithms correlate by {agreement.correlation:.2f}, and a variance "
        f"is off by a factor {math.exp(agreement.scatter):.2f}. They speak of beta = "
        f"{implied.beta:.3g} (quartiles {implied.low:.3g} to {implied.high:.3g}) beside a loss "
        "summed over pixels"
    )
    text += f"; you gave {beta:.3g}." if beta is not None else "."
    if not fits:
        text += (
            " Training that has not converged, another likelihood than the one assumed or a "
            "decoder far from linear would do that."
        )
    return Finding("Posterior variances", "good" if fits else "note", text)


def beta_found(
    variance: Float[Tensor, "d"] | None,
    active: Bool[Tensor, "d"],
    n_factors: int | None,
    explained: float,
    aligned: bool,
) -> tuple[Beta, float | None, Finding]:
    """Whether beta is too small, right or too large, by what factor to move it, and why.

    The rule: raise beta until the first mean posterior variance reaches one (Zietlow 2022, section
    3.3.6); the best value has that order of magnitude. In a linear model a variance is
    proportional to beta, so 1 / variance of the least precise latent says how far there is to go.
    """
    if variance is None:
        text = "The encoder has no variances (beta is 0): nothing orders or turns its latents."
        return "absent", None, Finding("Beta", "note", text)
    weakest, on = float(variance.max()), int(active.sum())
    if weakest * WITHIN < 1 and not aligned:
        factor = 1 / weakest
        text = (
            f"Beta looks too small: the least precise latent has a mean posterior variance of "
            f"{weakest:.3g}, so the KL hardly constrains anything. Raise beta, by about "
            f"{factor:.2g} times, until a variance reaches one."
        )
        return "too small", factor, Finding("Beta", "bad", text)
    fewer = n_factors is not None and on < n_factors
    if fewer or on < 2 or explained < 0.5:
        why = f"only {on} of {len(active)} latents are active"
        if fewer:
            why += f" for {n_factors} factors"
        text = (
            f"The model looks over-pruned: {why}, and reconstructions explain {explained:.0%} of "
            "the variance. Lower beta until all the factors have a latent."
        )
        return "over-pruned", None, Finding("Beta", "bad", text)
    text = (
        f"Beta looks right: {on} latents are active, and the least precise of all {len(active)} "
    )
    text += f"has a mean posterior variance of {weakest:.2g}. "
    if weakest * WITHIN < 1:
        text += (
            "It has aligned the latents without pruning any; about "
            f"{1 / weakest:.2g} times as much would begin to."
        )
    else:
        text += "If you expected more active latents, lower beta."
    return "right", None, Finding("Beta", "good", text)


def linearity_found(residual: float | None) -> Finding:
    """How far the local linear picture holds."""
    if residual is None:
        text = "Without posterior variances there is no scale on which to ask for linearity."
        return Finding("Local linearity", "note", text)
    reach = f"The Jacobian misses {residual:.0%} of what posterior noise does to a reconstruction"
    if residual < LINEAR:
        return Finding("Local linearity", "good", f"{reach}: the linear picture holds.")
    if residual < BENT:
        return Finding("Local linearity", "note", f"{reach}: the linear picture is a rough one.")
    text = (
        f"{reach}: the decoder bends within a posterior's reach, and what Jacobians say above "
        "holds in a smaller neighbourhood only."
    )
    return Finding("Local linearity", "bad", text)


def listed(flags: Bool[Tensor, "d"]) -> str:
    """The numbers of the latents for which it is so."""
    return ", ".join(str(k) for k in flags.nonzero().flatten().tolist()) or "none"
