"""The bottom line: one sentence of verdict, one on factors, one next step with a number."""

from collections.abc import Sequence
from dataclasses import dataclass

from unpick.diagnosis.alignment import Alignment
from unpick.diagnosis.beta import Beta
from unpick.diagnosis.findings import ENOUGH, Finding

BASES = {"Latents", "Posterior variances", "Local linearity"}  # findings that others rest on
WORSE = -0.5  # share of variance: the mean of x, which a collapsed model gives, explains 0
BROKEN = {"Decoder", "Decoder output", "Encoder output"}  # findings that nothing survives


@dataclass(frozen=True, eq=False)
class Facts:
    """What the bottom line is drawn from.

    Attributes:
        findings: All of them.
        explained: Share of the variance of x.
        on: Number of active latents.
        latents: Number of all.
        noun: What a latent is called.
        alignment: Of the axes; None for fewer than two active latents.
        beta: The verdict on it.
        factor: By which to raise it.
        trained_with: The beta that was given, or else the implied one; None if unknown.
        given: Whether it was given.
        implied: The beta that the variances imply, if it is not the given one.
        weakest: The largest mean posterior variance; None without variances.
        next_beta: The beta below which another latent comes into use, for a linear decoder and
            the squared error; None if that is unknown.
    """

    findings: Sequence[Finding]
    explained: float
    on: int
    latents: int
    noun: str
    alignment: Alignment | None
    beta: Beta
    factor: float | None
    trained_with: float | None
    given: bool
    implied: float | None
    weakest: float | None
    next_beta: float | None


def bottom_line(facts: Facts) -> tuple[str, ...]:
    """The sentences, the verdict first."""
    factors = [finding.text for finding in facts.findings if finding.title == "Factors"]
    return (_verdict(facts), *factors, _next_step(facts))


def _verdict(facts: Facts) -> str:
    broken = [finding for finding in facts.findings if finding.title in BROKEN]
    if _collapsed(facts):
        return "The model has collapsed: the decoder does not depend on its latents."
    if broken:
        return f"{broken[0].text.split('. ')[0].rstrip('.')}: nothing else can be relied on."
    if not facts.explained > ENOUGH:
        return (
            f"The model reconstructs {max(facts.explained, 0):.0%} of the variance of x: it is "
            "hardly trained, or x and decode do not go together."
        )
    active = f"{facts.on} of {facts.latents} {facts.noun}s {'is' if facts.on == 1 else 'are'}"
    if facts.on == 0:
        return f"The model has collapsed: none of {facts.latents} {facts.noun}s is active."
    if facts.alignment is None:
        return f"{active} active; with fewer than two there is nothing to align."
    share = f"distance {facts.alignment.distance.relative:.0%} of a random rotation's"
    if facts.alignment.word == "undecided":
        return f"{active} active; whether their axes are aligned cannot be told ({share})."
    wrong = [f.title.lower() for f in facts.findings if f.mark == "bad" and f.title in BASES]
    but = f", but not in order: {' and '.join(wrong)}" if wrong else ""
    return (
        f"{active} active, and their axes are {facts.alignment.word} with the decoder's singular "
        f"directions ({share}){but}."
    )


def _collapsed(facts: Facts) -> bool:
    """Whether training cut the decoder off, and nothing is wrong with what it gives."""
    titles = {finding.title for finding in facts.findings} & BROKEN
    return titles == {"Decoder"} and facts.beta == "over-pruned"


def _next_step(facts: Facts) -> str:
    titles = {finding.title: finding.mark for finding in facts.findings}
    if BROKEN & titles.keys() and not _collapsed(facts):
        return "Next: mend the functions that were passed, and diagnose again."
    collapsed = facts.beta == "over-pruned" and facts.explained > WORSE
    if not facts.explained > ENOUGH and not collapsed:
        return (
            "Next: train until reconstructions explain more than 50 %, and check that x is scaled "
            "as in training."
        )
    word = None if facts.alignment is None else facts.alignment.word
    match facts.beta:
        case "absent" if facts.next_beta is not None:
            return f"Next: train it as a VAE, with beta about {facts.next_beta:.2g}."
        case "absent":
            return "Next: train it as a VAE; begin with beta 1 beside a loss summed over pixels."
        case "over-pruned":
            if facts.next_beta is not None:
                return f"Next: train with beta about {facts.next_beta:.2g}{_now(facts)}."
            return f"Next: train with beta about {_times(facts, 0.5)}{_now(facts)}."
        case "too small":
            return f"Next: train with beta about {_times(facts, facts.factor or 1)}{_now(facts)}."
        case "right" if titles.get("Factors") == "bad" and word == "aligned":
            return (
                f"Next: keep beta{_now(facts)} and compare 3 seeds; aligned axes that mix factors "
                "follow the data, not the training."
            )
        case "right" if word != "not aligned":
            if facts.weakest is not None and facts.weakest < 0.8:
                begin = _times(facts, 1 / facts.weakest)
                return f"Next: nothing needs to change; a beta about {begin} would begin to prune."
            return f"Next: nothing needs to change; keep beta{_now(facts)}."
        case "undecided" if facts.implied is not None:
            return (
                f"Next: check the unit of beta: you gave {facts.trained_with:.2g}, and the "
                f"variances imply {facts.implied:.2g}."
            )
        case "undecided" if titles.get("Posterior variances") == "bad":
            return "Next: train twice as long, and diagnose again."
        case "undecided" if word in ("aligned", "undecided", "partly aligned", None):
            fine = word == "aligned" and "bad" not in titles.values()
            if facts.next_beta is not None and facts.on < facts.latents:
                return (
                    f"Next: if you expect more than {facts.on} factors, train with beta about "
                    f"{facts.next_beta:.2g}{_now(facts)}"
                    f"{'; else nothing needs to change' if fine else ''}."
                )
            return f"Next: train 3 seeds and compare them{_now(facts).replace('now', 'at beta')}."
    return f"Next: train 3 more seeds, twice as long{_now(facts).replace('now', 'at beta')}."


def _times(facts: Facts, factor: float) -> str:
    """Beta times a factor, or the factor alone if beta is unknown."""
    if facts.trained_with is None:
        return f"{factor:.2g} times as large"
    return f"{factor * facts.trained_with:.2g}"


def _now(facts: Facts) -> str:
    if facts.trained_with is None:
        return ""
    now = f"{facts.trained_with:.2g}"
    return f" (now {now})" if facts.given else f" (now {now}, as the variances imply)"
