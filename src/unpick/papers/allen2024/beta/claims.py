"""Claims of Allen (2024), section 3.3, about beta, checked on results."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from unpick.papers.allen2024.beta.computed import SCALED, TEMPERED, WHOLE, expected_variances
from unpick.papers.allen2024.beta.readings import LEVELS
from unpick.study.study import Outcome, Results, Verdict
from unpick.study.sweep import COLLAPSED, complete_sweep

Sweep = Mapping[float, Outcome]  # outcomes by beta, ascending
HALF, QUARTER = 0.5, 0.25
MOST, LEAST = 0.8, 0.1  # share of a level's variance that is as good as all, or none
SLACK = 0.01  # by which means of trained models may go the wrong way
ROUNDING = 1e-9


def circles(results: Results) -> Sweep:
    """The outcomes on circles by beta; none unless every beta is there."""
    return complete_sweep(results, "circles")


def first_lost(sweep: Sweep, level: str) -> float | None:
    """The first beta at which less than half of a level's variance is kept."""
    return next((beta for beta, o in sweep.items() if o.mean(level) < HALF), None)


def describe_kept(outcome: Outcome) -> str:
    """The share of variance kept at each level, in words."""
    return ", ".join(f"{level} {outcome.mean(level):.0%}" for level in LEVELS)


def reconstructs_closely(results: Results) -> Verdict:
    """At the smallest beta, more than three quarters of the variance is kept at every level."""
    if not (sweep := circles(results)):
        return Verdict(None, "")
    beta, outcome = next(iter(sweep.items()))
    evidence = f"variance kept at beta {beta:g}: {describe_kept(outcome)}"
    return Verdict(min(outcome.mean(level) for level in LEVELS) > 1 - QUARTER, evidence)


def merges_in_order(results: Results) -> Verdict:
    """Points are lost first, then circles, then groups."""
    if not (sweep := circles(results)):
        return Verdict(None, "")
    first = [first_lost(sweep, level) for level in LEVELS]
    said = [
        f"{level} from beta {beta:g}" if beta else f"{level} never"
        for level, beta in zip(LEVELS, first, strict=True)
    ]
    betas = [beta for beta in first if beta]
    holds = len(betas) == len(LEVELS) and all(a < b for a, b in pairwise(betas))
    return Verdict(holds, f"less than half of the variance is kept of {', '.join(said)}")


def between(sweep: Sweep, fine: str, coarse: str) -> list[float]:
    """The betas at which a level is kept and the finer one is lost."""
    return [beta for beta, o in sweep.items() if o.mean(coarse) > MOST and o.mean(fine) < LEAST]


def merges_level_by_level(results: Results) -> Verdict:
    """Some betas keep circles but not their points, and some groups but not their circles."""
    if not (sweep := circles(results)):
        return Verdict(None, "")
    said, holds = [], True
    for fine, coarse in pairwise(LEVELS):
        betas = between(sweep, fine, coarse)
        holds = holds and bool(betas)
        where = f"at beta {', '.join(f'{b:g}' for b in betas)}" if betas else "nowhere"
        said.append(f"{coarse} without {fine} {where}")
    return Verdict(holds, f"{'; '.join(said)} (over {MOST:.0%} and under {LEAST:.0%} kept)")


def decodes_centroids(results: Results) -> Verdict:
    """At one of these betas reconstructions come within a tenth of the radius, on average."""
    return _from_centroids(results, "off centre", LEAST)


def decodes_near_centroids(results: Results) -> Verdict:
    """At one of these betas all reconstructions are nearer to the centre than the data are."""
    return _from_centroids(results, "most off centre", 1.0)


def _from_centroids(results: Results, measure: str, limit: float) -> Verdict:
    """Whether the measure is below a limit at one beta for each level; the evidence has both."""
    if not (sweep := circles(results)):
        return Verdict(None, "")
    said, holds = [], True
    for fine, coarse in pairwise(LEVELS):
        betas = between(sweep, fine, coarse)
        found = [sweep[beta].mean(f"{measure}, {coarse}") for beta in betas]
        holds = holds and min(found, default=limit) < limit
        said += [
            f"{coarse} at beta {beta:g}: {sweep[beta].mean(f'off centre, {coarse}'):.2f} (at most "
            f"{sweep[beta].mean(f'most off centre, {coarse}'):.2f})"
            for beta in betas
        ]
    evidence = "mean distance of reconstructions from the centre, in units of the radius, where "
    evidence += f"the finer level is lost: {', '.join(said) or 'nowhere'}"
    return Verdict(holds, evidence)


def decodes_mean_only(results: Results) -> Verdict:
    """At the largest beta less than a hundredth of the variance is kept, and no latent is used."""
    if not (sweep := circles(results)):
        return Verdict(None, "")
    beta, outcome = list(sweep.items())[-1]
    active = outcome.mean("active")
    evidence = (
        f"variance kept at beta {beta:g}: {describe_kept(outcome)}; {active:g} latents active"
    )
    return Verdict(max(outcome.mean(level) for level in LEVELS) < SLACK and active == 0, evidence)


def merges_at_thresholds(results: Results) -> Verdict:
    """Half is kept below a quarter of a level's threshold, less than a quarter above it.

    A linear VAE keeps (1 - beta / threshold)^2, which is 9/16 at a quarter of it, and then none.
    """
    if not (sweep := circles(results)):
        return Verdict(None, "")
    said, holds = [], True
    for level, limit in results.computed["limits"]["levels"].items():
        below = [o.mean(level) for beta, o in sweep.items() if beta < limit / 4]
        above = [o.mean(level) for beta, o in sweep.items() if beta > limit]
        holds = holds and min(below, default=1.0) > HALF and max(above, default=0.0) < QUARTER
        text = f"{level} (predicted {limit:.2g}): above it {max(above, default=0.0):.0%} at most"
        said.append(f"{text}, below a quarter of it {min(below):.0%} at least" if below else text)
    return Verdict(holds, "; ".join(said))


def overlap_grows(results: Results) -> Verdict:
    """Overlap grows with beta at each level, and by more than a half in all."""
    if not (sweep := circles(results)):
        return Verdict(None, "")
    said, back, grown = [], 0.0, True
    for level in LEVELS:
        means = [o.mean(f"overlap, {level}") for o in sweep.values()]
        back = max(back, *(a - b for a, b in pairwise(means)))
        grown = grown and means[-1] - means[0] > HALF
        said.append(f"{level} {means[0]:.2f} to {means[-1]:.2f}")
    evidence = f"mean overlap from beta {min(sweep):g} to {max(sweep):g}: {', '.join(said)}; "
    evidence += f"largest step back {back:.3f}"
    return Verdict(grown and back < SLACK, evidence)


def merges_where_overlapping(results: Results) -> Verdict:
    """More than half is kept where overlap is below 0.25, and less where it is above 0.75."""
    if not (sweep := circles(results)):
        return Verdict(None, "")
    pairs = [(o.mean(f"overlap, {k}"), o.mean(k)) for o in sweep.values() for k in LEVELS]
    apart = [share for each, share in pairs if each < QUARTER]
    joined = [share for each, share in pairs if each > 1 - QUARTER]
    evidence = f"variance kept where overlap is below {QUARTER:g}: {min(apart, default=1):.0%} or "
    evidence += f"more; where it is above {1 - QUARTER:g}: {max(joined, default=0):.0%} or less"
    return Verdict(min(apart, default=1) > HALF > max(joined, default=0), evidence)


def decodes_averages(results: Results) -> Verdict:
    """The decoder is within a tenth of the data's deviation of the posteriors' average.

    And where the points of a circle overlap by half, nearer to it than to the point.
    """
    if not (sweep := circles(results)):
        return Verdict(None, "")
    most = max(outcome.mean("off average") for outcome in sweep.values())
    merged = {beta: o for beta, o in sweep.items() if o.mean("overlap, points") > HALF}
    nearer = [b for b, o in merged.items() if o.mean("off average") < o.mean("off point")]
    evidence = f"off the average by {most:.1%} of the data's deviation at most; nearer to it than "
    evidence += f"to the point at {len(nearer)} of {len(merged)} betas where points overlap"
    if merged:
        least = min(outcome.mean("off point") for outcome in merged.values())
        evidence += f"; the point is off by {least:.0%} or more"
    return Verdict(most < LEAST and 0 < len(merged) == len(nearer), evidence)


def variances(outcome: Outcome) -> Float[np.ndarray, "d"]:
    """Mean posterior variances of a linear VAE's latents, ascending, over its seeds."""
    names = sorted(name for name in outcome.values if name.startswith("variance "))
    return np.array([outcome.mean(name) for name in names])


def smaller_keeps_more(results: Results) -> Verdict:
    """Lowering beta never loses a latent, and wins some."""
    if not (sweep := complete_sweep(results, "linear-gaussian")):
        return Verdict(None, "")
    active = [outcome.mean("active") for outcome in sweep.values()]
    said = ", ".join(f"{n:g} at {beta:g}" for beta, n in zip(sweep, active, strict=True))
    falls = all(a >= b for a, b in pairwise(active)) and active[0] > active[-1]
    return Verdict(falls, f"active latents by beta: {said}")


def collapses_above(results: Results) -> Verdict:
    """Every run uses a latent below the limit, and none above."""
    said, holds = [], True
    for row in ("circles", "linear-gaussian"):
        if not (sweep := complete_sweep(results, row)):
            return Verdict(None, "")
        limit = results.computed["limits"]["collapse"][row]
        below = {b: float(o.values["active"].min()) for b, o in sweep.items() if b < limit}
        above = {b: float(o.values["active"].max()) for b, o in sweep.items() if b >= limit}
        holds = holds and min(below.values()) > 0 and max(above.values()) == 0
        text = f"{row} (beta {limit:.3g}): {min(below.values()):g} or more in use up to "
        said.append(f"{text}{max(below):g}, {max(above.values()):g} from {min(above):g}")
    return Verdict(holds, "; ".join(said))


def follows_linear_rule(results: Results) -> Verdict:
    """As many latents with a variance below 0.95 as in the closed form, for every seed."""
    if not (sweep := complete_sweep(results, "linear-gaussian")):
        return Verdict(None, "")
    best = {beta: expected_variances(results.computed["linear"], beta) for beta in sweep}
    said = {beta: (each < COLLAPSED).sum() for beta, each in best.items()}
    wrong = [beta for beta, o in sweep.items() if (o.values["active"] != said[beta]).any()]
    off = max(np.abs(variances(o) - best[beta]).max() for beta, o in sweep.items())
    evidence = f"as the rule says at {len(sweep) - len(wrong)} of {len(sweep)} betas; mean "
    evidence += f"posterior variances off the closed form by {off:.3f} at most"
    return Verdict(not wrong, evidence)


def gaussian_twins(results: Results) -> Verdict:
    """Twins end at the same weights, and do not if the variance is not scaled."""
    if not results.outcomes:
        return Verdict(None, "")
    twins = results.computed["twins"]
    sgd, adam, apart = max(twins["sgd"]), max(twins["adam"]), min(twins["not scaled"])
    evidence = f"100 steps at beta {', '.join(f'{b:.2g}' for b in SCALED)}: weights end {sgd:.0e} "
    evidence += f"of their way apart with SGD, its rate scaled by beta, {adam:.0e} with Adam as "
    evidence += f"it is; {apart:.0%} or more if the variance is not scaled"
    return Verdict(sgd < ROUNDING and adam < 1e-3 < apart, evidence)


def bernoulli_twins(results: Results) -> Verdict:
    """Whether a Bernoulli VAE has a twin of beta times the variance, and they train alike."""
    if not results.outcomes:
        return Verdict(None, "")
    twins = results.computed["twins"]
    least = dict(zip((*TEMPERED, *WHOLE), twins["least"], strict=True))
    apart = twins["tempered"]
    below = [f"{least[beta]:.3f} at beta {beta:g}" for beta in TEMPERED]
    evidence = f"the only candidate has a probability of {' and '.join(below)}; beside the "
    evidence += f"nearest Bernoulli VAE weights end {apart[0]:.0%} and {apart[1]:.0%} of their "
    evidence += "way apart"
    if min(least[beta] for beta in WHOLE) > -ROUNDING and max(twins["whole"]) < ROUNDING:
        evidence += f"; at {WHOLE[0]:g} and {WHOLE[1]:g} there is a twin, the mean of 2 and of 5 "
        evidence += f"observations, and weights end {max(twins['whole']):.0e} apart (ledger A-T3)"
    return Verdict(min(least.values()) > -ROUNDING and max(apart) < ROUNDING, evidence)
