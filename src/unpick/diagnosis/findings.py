"""What the numbers of a diagnosis mean, in plain words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from jaxtyping import Bool, Float
from torch import Tensor

from unpick.diagnosis.alignment import MIXED, NEAR, Alignment
from unpick.geometry import ImpliedBeta, PosteriorAgreement
from unpick.names import check_choices
from unpick.pages.page import Mark
from unpick.probe import Probe
from unpick.probe.checks import Slope

LINEAR, BENT = 0.1, 0.5  # share of the noise's effect that the Jacobian misses
CLOSE = 0.7  # root mean square of log(variance / optimal variance): a factor of two
EXACT = 0.1  # the same, where variances need not vary as the optimal ones do: rounding is enough
RELATED = 0.5  # correlation of logarithms below which close variances are so by accident
FOLLOWS = 0.8  # correlation of logarithms at which variances follow the decoder, if not closely
WITHIN = 3.0  # betas within this factor of each other count as the same; our choice
LISTED = 8  # indices of latents that a sentence names
ENOUGH = 0.5  # share of the variance of x that a trained model explains at least


@dataclass(frozen=True)
class Finding:
    """One thing found: a title, whether it is as it should be, and a sentence or two."""

    title: str
    mark: Mark
    text: str

    def __post_init__(self) -> None:
        check_choices(self)


def rests_on(finding: Finding, *others: Finding) -> Finding:
    """The finding, without praise if one of those that it rests on is bad."""
    bad = [other.title for other in others if other.mark == "bad"]
    if finding.mark != "good" or not bad:
        return finding
    text = f"{finding.text} This rests on what is not in order: {' and '.join(bad).lower()}."
    return replace(finding, mark="note", text=text)


def find_mistakes(
    probe: Probe, made: Float[Tensor, "m ..."], variance: Float[Tensor, "n d"] | None
) -> list[Finding]:
    """Find likely mistakes in the given model: logits for means, variances for log-variances."""
    found = []
    x = probe.observations
    low, high = float(made.min()), float(made.max())
    if probe.likelihood == "bernoulli" and (low < 0 or high > 1):
        text = f"Probabilities lie in [0, 1]; reconstructions reach from {low:.2g} to {high:.2g}."
        found.append(Finding("Decoder output", "bad", text))
    elif x.min() >= 0 and x.max() <= 1 and (low < -0.5 or high > 1.5):
        text = (
            f"x lies in [0, 1] but reconstructions reach from {low:.2g} to {high:.2g}. If decode "
            "returns logits, pass the decoder with the sigmoid after it."
        )
        found.append(Finding("Decoder output", "bad", text))
    if variance is not None and variance.min() >= 1 and variance.max() > 1.5:
        text = (
            f"Every posterior variance is at least one (up to {float(variance.max()):.2g}). If "
            "encode returns variances or deviations in place of log-variances, take the logarithm."
        )
        found.append(Finding("Encoder output", "bad", text))
    return found


def describe_slope(slope: Slope) -> Finding:
    """Say why the decoder has no Jacobian to speak of."""
    text = "The decoder does not depend on its latents: it gives the same output for all of them."
    if slope == "steps":
        text = (
            "The decoder's output is rounded, or cast to whole numbers: it moves in steps and has "
            "no slope. Pass the decoder before the rounding."
        )
    return Finding("Decoder", "bad", text)


def describe_latents(
    active: Bool[Tensor, "d"],
    ignored: Bool[Tensor, "d"],
    mixed: Bool[Tensor, "d"] | None,
    explained: float,
    noun: str,
) -> Finding:
    """Say which latents are active, and how much of the variance of x they explain."""
    on, d = int(active.sum()), len(active)
    text = f"{on} of {d} {noun}s {'is' if on == 1 else 'are'} active ({list_latents(active)}). "
    if ignored.any():
        text += f"The decoder ignores {list_latents(ignored)}, which the encoder uses. "
    if mixed is not None and mixed.any():
        text += f"Used for some observations only: {list_latents(mixed)}. "
    text += f"Reconstructions from the means explain {explained:.1%} of the variance of x."
    enough = explained > ENOUGH
    if not enough:
        text += " That is little: the model is hardly trained, or x and decode do not go together."
    fine = on and enough and not ignored.any()
    return Finding("Latents", "good" if fine else "bad", text)


def describe_alignment(
    alignment: Alignment | None, active: Bool[Tensor, "d"], full_covariance: bool, asked: int
) -> Finding:
    """Say how well the latent axes align with the decoder's singular directions."""
    if alignment is None:
        return Finding("Alignment", "note", "Fewer than two latents are active: nothing to align.")
    dto, points = alignment.distance, len(alignment.distance.per_sample)
    marks: dict[str, Mark] = {"aligned": "good", "not aligned": "bad"}
    start = f"The latent axes are {alignment.word} with the decoder's singular directions"
    if alignment.word == "undecided":
        start = "Whether the latent axes are aligned is undecided"
    text = (
        f"{start}: distance to orthogonality {dto.mean:.2f} over the active latents, "
        f"{dto.relative:.0%} of a random rotation's {dto.chance:.2f} (95 % interval "
        f"{max(alignment.low, 0):.0%} to {alignment.high:.0%}, {points} points)."
    )
    if points < asked:
        text += f" {asked} points do not fit the memory; the interval has the error of fewer."
    if alignment.luck > 0.01 and alignment.word == "aligned":
        text += f" Of random rotations {alignment.luck:.0%} come as near."
    near = int((alignment.angles < NEAR).sum())
    if alignment.word == "partly aligned" and 0 < near < len(alignment.angles):
        flags = active.clone()
        flags[active] = alignment.angles < NEAR
        text += f" {near} of {len(alignment.angles)} axes lie within {NEAR:.0f} degrees of a "
        text += f"singular direction ({list_latents(flags)})."
    if alignment.word == "undecided":
        text += (
            " The Jacobian's columns are orthogonal (the largest cosine of one with all others is "
            f"{float(alignment.overlap.max()):.2f}), but singular values are so alike that any "
            "other orthogonal axes would do as well."
        )
    else:
        named = "; ".join(f"{a} and {b} ({value:.2f})" for a, b, value in alignment.pairs)
        some = alignment.mixed
        if some:
            pairs = "One pair of columns has" if some == 1 else f"{some} pairs of columns have"
            text += f" {pairs} a mean absolute cosine above {MIXED}."
        text += f" The worst: {named}."
    if full_covariance:
        text += (
            " The posterior has a full covariance: its objective is the same in every rotation "
            "of the latent space, so nothing aligns it."
        )
    return Finding("Alignment", marks.get(alignment.word, "note"), text)


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
        return Finding(
            title,
            "note",
            "No latent is more precise than the prior, so there is nothing to compare.",
        )
    fits, follows = is_close(agreement), fits_decoder(agreement)
    word = "match" if fits else "roughly follow" if follows else "do not match"
    text = (
        f"They {word} the Jacobian: against sigma_j^2 = 1 / (1 + "
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
    mark: Mark = "good" if fits else "note" if follows else "bad"
    if follows and not agrees_with(implied, beta):
        mark = "note"
        text += (
            " Perhaps yours counts in other units (a loss averaged over pixels, or halved), or "
            "the variance head is off by a factor."
        )
    if not fits:
        text += (
            " Possible causes: training that has not converged, another likelihood than the one "
            "assumed, or a decoder far from linear."
        )
    return Finding(title, mark, text)


def is_close(agreement: PosteriorAgreement) -> bool:
    """Whether variances are the optimal ones within a factor of two, and vary as those do."""
    varies = not math.isnan(agreement.correlation) and agreement.scatter > EXACT
    return agreement.scatter < CLOSE and (not varies or agreement.correlation > RELATED)


def fits_decoder(agreement: PosteriorAgreement | None) -> bool:
    """Whether variances follow the decoder well enough to read beta from them."""
    return agreement is not None and (is_close(agreement) or agreement.correlation > FOLLOWS)


def agrees_with(implied: ImpliedBeta | None, beta: float | None) -> bool:
    """Whether the implied beta is the given one within a factor of three, or none was given."""
    return implied is None or beta is None or 1 / WITHIN < beta / implied.beta < WITHIN


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


def list_latents(flags: Bool[Tensor, "d"] | Sequence[bool]) -> str:
    """The indices of the flagged latents, in words; the first eight of many.

    Example:
        >>> list_latents([True, False, True, True, True])
        '0, 2 to 4'
    """
    chosen = [k for k, flag in enumerate(flags) if flag]
    runs: list[list[int]] = []
    for k in chosen:
        if runs and runs[-1][-1] == k - 1:
            runs[-1].append(k)
        else:
            runs.append([k])
    words = []
    for run in runs:
        words += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else [str(k) for k in run]
    more = f", ... ({len(chosen)} in all)" if len(words) > LISTED else ""
    return ", ".join(words[:LISTED]) + more or "none"
