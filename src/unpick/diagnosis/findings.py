"""What the numbers of a diagnosis mean, in plain words."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from unpick.geometry import (
    ColumnCosines,
    DistanceToOrthogonality,
    ImpliedBeta,
    PosteriorAgreement,
)
from unpick.names import check_choices
from unpick.pages.page import Mark
from unpick.probe import Probe

Beta = Literal["absent", "too small", "right", "over-pruned"]

ALIGNED, UNALIGNED = 0.25, 0.75  # DtO relative to chance
LINEAR, BENT = 0.1, 0.5  # share of the noise's effect that the Jacobian misses
ORTHOGONAL = 0.1  # mean absolute cosine of columns that count as orthogonal
CLOSE = 0.7  # root mean square of log(variance / optimal variance): a factor of two
WITHIN = 3.0  # betas within this factor of each other count as the same; our choice


@dataclass(frozen=True)
class Finding:
    """One thing found: a title, whether it is as it should be, and a sentence or two."""

    title: str
    mark: Mark
    text: str

    def __post_init__(self) -> None:
        check_choices(self)


def find_mistakes(probe: Probe, bernoulli: bool) -> list[Finding]:
    """Find likely mistakes in the given model: logits for means, variances for log-variances."""
    found = []
    x, made = probe.observations, probe.reconstructions
    low, high = float(made.min()), float(made.max())
    if bernoulli and (low < 0 or high > 1):
        text = f"Probabilities lie in [0, 1]; reconstructions reach from {low:.2g} to {high:.2g}."
        found.append(Finding("Decoder output", "bad", text))
    elif x.min() >= 0 and x.max() <= 1 and (low < -0.5 or high > 1.5):
        text = (
            f"x lies in [0, 1] but reconstructions reach from {low:.2g} to {high:.2g}. If decode "
            "returns logits, pass the decoder with the sigmoid after it."
        )
        found.append(Finding("Decoder output", "bad", text))
    variance = probe.all_codes.variance
    if variance is not None and variance.min() >= 1 and variance.max() > 1.5:
        text = (
            f"Every posterior variance is at least one (up to {float(variance.max()):.2g}). If "
            "encode returns variances or deviations in place of log-variances, take the logarithm."
        )
        found.append(Finding("Encoder output", "bad", text))
    return found


def describe_latents(
    active: Bool[Tensor, "d"], mixed: Bool[Tensor, "d"] | None, explained: float
) -> Finding:
    """Say which latents are active, and how much of the variance of x they explain."""
    on, d = int(active.sum()), len(active)
    text = f"{on} of {d} latents {'is' if on == 1 else 'are'} active ({list_latents(active)}). "
    if mixed is not None and mixed.any():
        text += f"Used for some observations only: {list_latents(mixed)}. "
    text += f"Reconstructions from the means explain {explained:.1%} of the variance of x."
    if not explained > 0.5:
        text += " That is little: the model is hardly trained, or x and decode do not go together."
    return Finding("Latents", "good" if on and explained > 0.5 else "bad", text)


def is_aligned(dto: DistanceToOrthogonality | None, cosines: ColumnCosines | None) -> bool:
    """Whether the axes are singular directions: of equal columns, any orthogonal ones are."""
    if dto is None or cosines is None:
        return False
    return dto.relative < ALIGNED or (dto.degenerate > 0.5 and cosines.mean < ORTHOGONAL)


def describe_alignment(
    dto: DistanceToOrthogonality | None,
    cosines: ColumnCosines | None,
    active: Bool[Tensor, "d"],
    full_covariance: bool,
) -> Finding:
    """Say how well the latent axes align with the decoder's singular directions."""
    if dto is None or cosines is None:
        return Finding("Alignment", "note", "Fewer than two latents are active: nothing to align.")
    mark: Mark = "note"
    word = "partly aligned"
    if is_aligned(dto, cosines):
        mark, word = "good", "aligned"
    elif dto.relative > UNALIGNED:
        mark, word = "bad", "not aligned"
    text = (
        f"The latent axes are {word} with the decoder's singular directions: distance to "
        f"orthogonality {dto.mean:.2f} over the active latents, {dto.chance:.2f} for a random "
        f"rotation. Jacobian columns have a mean absolute cosine of {cosines.mean:.2f}"
    )
    pairs = worst_pairs(cosines, active)
    if len(pairs) > 1:
        listed_pairs = "; ".join(f"{a} and {b} ({value:.2f})" for a, b, value in pairs)
        text += f", the worst pairs are {listed_pairs}"
    text += "."
    if dto.degenerate > 0.2:
        text += (
            f" In {dto.degenerate:.0%} of samples two singular values lie within 5 %; the "
            "directions between them are arbitrary, and the cosines say more than the distance."
        )
    if full_covariance:
        text += (
            " The posterior has a full covariance: its objective is the same in every rotation "
            "of the latent space, so nothing aligns it."
        )
    return Finding("Alignment", mark, text)


def worst_pairs(
    cosines: ColumnCosines, active: Bool[Tensor, "d"], count: int = 3
) -> list[tuple[int, int, float]]:
    """The pairs of latents whose columns are least orthogonal, with their cosine."""
    names = active.nonzero().flatten().tolist()
    above = torch.triu_indices(len(names), len(names), offset=1)
    values = cosines.matrix[above[0], above[1]]
    best = values.argsort(descending=True)[:count].tolist()
    return [(names[above[0, k]], names[above[1, k]], float(values[k])) for k in best]


def describe_posterior(
    agreement: PosteriorAgreement | None,
    implied: ImpliedBeta | None,
    beta: float | None,
) -> Finding:
    """Say whether the encoder has the optimal variances for the decoder.

    Args:
        agreement: With the optimal variances at the implied beta; None if no latent is active.
        implied: The beta that the variances imply; None without variances.
        beta: What the model was trained with, if that is known.
    """
    title = "Posterior variances"
    if implied is None:
        return Finding(title, "note", "The encoder gives none, so there is nothing to compare.")
    if agreement is None:
        return Finding(title, "note", "No latent is active, so there is nothing to compare.")
    fits = agreement.scatter < CLOSE
    text = (
        f"They {'match' if fits else 'do not match'} the Jacobian: against sigma_j^2 = 1 / (1 + "
        f"c_j / beta), c_j the curvature along latent j, a variance is typically off by a factor "
        f"{math.exp(agreement.scatter):.2f}"
    )
    if not math.isnan(agreement.correlation):
        text += f", and the logarithms correlate by {agreement.correlation:.2f}"
    text += (
        f". They imply beta = {implied.beta:.3g} (quartiles {implied.low:.3g} to "
        f"{implied.high:.3g}) beside a loss summed over pixels"
    )
    text += f"; you gave {beta:.3g}." if beta is not None else "."
    if beta is not None and fits and not 1 / WITHIN < beta / implied.beta < WITHIN:
        text += " Perhaps yours counts in other units (a loss averaged over pixels, or halved)?"
    if not fits:
        text += (
            " Possible causes: training that has not converged, another likelihood than the one "
            "assumed, or a decoder far from linear."
        )
    return Finding(title, "good" if fits else "note", text)


def judge_beta(
    variance: Float[Tensor, "d"] | None,
    active: Bool[Tensor, "d"],
    n_factors: int | None,
    aligned: bool,
    full_covariance: bool,
) -> tuple[Beta, float | None, Finding]:
    """Judge whether beta is too small, right or too large; return the advised factor, and why.

    The rule: raise beta until the first mean posterior variance reaches one (Zietlow 2022, section
    3.3.6); the best value has that order of magnitude. In a linear model a variance is
    proportional to beta, so 1 / variance of the least precise latent is the factor to raise it by.
    """
    if variance is None:
        text = "The encoder has no variances (beta is 0): nothing orders or aligns its latents."
        return "absent", None, Finding("Beta", "note", text)
    weakest, on, d = float(variance.max()), int(active.sum()), len(active)
    state = f"{on} of {d} latents are active, and the least precise of all has a mean posterior "
    state += f"variance of {weakest:.2g}"
    if on == 0:
        text = f"The model is over-pruned: {state}. Lower beta, unless it is not trained yet."
        return "over-pruned", None, Finding("Beta", "bad", text)
    if n_factors is not None and on < n_factors and on < d:
        text = (
            f"The model looks over-pruned: {state}, for {n_factors} factors. Lower beta until all "
            "the factors have a latent."
        )
        return "over-pruned", None, Finding("Beta", "bad", text)
    if weakest * WITHIN >= 1:
        text = (
            f"Beta is in the range of the rule (raise it until a variance reaches one): {state}. "
        )
        text += "If you expected more active latents, lower it."
        return "right", None, Finding("Beta", "good", text)
    if aligned or full_covariance:
        why = "the axes are aligned" if aligned else "no beta aligns a full covariance"
        text = f"Beta needs no change: {why}, and nothing is pruned ({state}). About "
        text += f"{1 / weakest:.2g} times as much would begin to prune."
        return "right", None, Finding("Beta", "good", text)
    text = (
        f"Beta looks too small: {state}, and the axes are not aligned. Raise beta, by about "
        f"{1 / weakest:.2g} times, until a variance reaches one."
    )
    return "too small", 1 / weakest, Finding("Beta", "bad", text)


def describe_linearity(residual: float | None) -> Finding:
    """Say whether the decoder is linear within the width of a posterior."""
    if residual is None:
        text = "Without posterior variances there is no scale on which to measure linearity."
        return Finding("Local linearity", "note", text)
    share = min(residual, 1.0)
    reach = f"The Jacobian misses {share:.0%} of what posterior noise does to a reconstruction"
    if residual < LINEAR:
        return Finding("Local linearity", "good", f"{reach}: the linear picture holds.")
    if residual < BENT:
        return Finding("Local linearity", "note", f"{reach}: the linear picture is a rough one.")
    text = (
        f"{reach}: the decoder is not linear within the width of a posterior, so the findings "
        "from Jacobians above hold in a smaller neighbourhood only."
    )
    return Finding("Local linearity", "bad", text)


def list_latents(flags: Bool[Tensor, "d"]) -> str:
    """The indices of the flagged latents, in words."""
    return ", ".join(str(k) for k in flags.nonzero().flatten().tolist()) or "none"
