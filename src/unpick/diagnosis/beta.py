"""Whether beta was right: the rule of Zietlow (2022), section 3.3.6, and what it rests on."""

from typing import Literal

from jaxtyping import Bool, Float
from torch import Tensor

from unpick.diagnosis.alignment import Word
from unpick.diagnosis.findings import WITHIN, Finding
from unpick.geometry.optimal_posterior import ACTIVE_BELOW

Beta = Literal["absent", "too small", "right", "over-pruned", "undecided"]


def judge_beta(
    variance: Float[Tensor, "d"] | None,
    active: Bool[Tensor, "d"],
    noun: str,
    n_factors: int | None,
    alignment: Word | None,
    full_covariance: bool,
    fits: bool,
) -> tuple[Beta, float | None, Finding]:
    """Judge whether beta is too small, right or too large; return the advised factor, and why.

    The rule: raise beta until the first mean posterior variance reaches one; the best value has
    that order of magnitude. In a linear model a variance is proportional to beta, so 1 / variance
    of the least precise latent is the factor to raise it by.

    Args:
        variance: Mean posterior variance of each latent; None without variances.
        active: The latents in use.
        noun: What a latent is called.
        n_factors: How many generative factors there are, if that is known.
        alignment: The verdict on the axes; None for fewer than two latents.
        full_covariance: Whether the posterior has one, which no beta aligns.
        fits: Whether the variances follow the decoder, so that beta can be read from them.
    """
    if variance is None:
        text = "The encoder has no variances (beta is 0): nothing orders or aligns its latents."
        return "absent", None, Finding("Beta", "note", text)
    weakest, on, d = float(variance.max()), int(active.sum()), len(active)
    state = (
        f"{on} of {d} {noun}s {'is' if on == 1 else 'are'} active, and the least precise of all "
    )
    state += f"has a mean posterior variance of {weakest:.2g}"
    if on == 0:
        text = f"The model is over-pruned: {state}. Lower beta, unless it is not trained yet."
        return "over-pruned", None, Finding("Beta", "bad", text)
    if n_factors is not None and on < n_factors and on < d:
        text = (
            f"The model looks over-pruned: {state}, for {n_factors} factors. Lower beta until all "
            "the factors have a latent."
        )
        return "over-pruned", None, Finding("Beta", "bad", text)
    if not fits:
        text = f"Beta cannot be judged: the posterior variances do not fit the decoder ({state})."
        return "undecided", None, Finding("Beta", "note", text)
    pruned = int((variance >= ACTIVE_BELOW).sum())
    if pruned and n_factors is None:
        factors = "1 factor" if on == 1 else f"{on} factors"
        text = (
            f"Beta prunes {pruned} of {d} {noun}s ({state}). That is what the rule asks for "
            f"(raise beta until a variance reaches one) if the data have about {factors}; if "
            "you expect more, lower it."
        )
        return "undecided", None, Finding("Beta", "note", text)
    if weakest * WITHIN >= 1:
        text = (
            f"Beta is in the range of the rule (raise it until a variance reaches one): {state}."
        )
        if alignment == "not aligned":
            text += " But the axes are not aligned, so beta is not all that matters here."
            return "undecided", None, Finding("Beta", "note", text)
        return "right", None, Finding("Beta", "good", text)
    more = f"About {1 / weakest:.2g} times as much would begin to prune."
    if alignment == "aligned":
        text = (
            f"Beta needs no change: the axes are aligned, and nothing is pruned ({state}). {more}"
        )
        return "right", None, Finding("Beta", "good", text)
    if full_covariance or alignment in (None, "undecided"):
        why = "no beta aligns a full covariance" if full_covariance else "alignment is undecided"
        why = "there is nothing to align" if alignment is None else why
        text = f"Nothing speaks for another beta: {why}, and nothing is pruned ({state}). {more}"
        return "undecided", None, Finding("Beta", "note", text)
    text = (
        f"Beta looks too small: {state}, and the axes are {alignment}. Raise beta, by about "
        f"{1 / weakest:.2g} times, until a variance reaches one."
    )
    return "too small", 1 / weakest, Finding("Beta", "bad", text)
