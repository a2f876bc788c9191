"""What chapter 4 of Zietlow (2022) says, as predicates on results."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np

from unpick.data import Noisy
from unpick.studies.chapter4 import config
from unpick.studies.chapter4_scales import FACTORS, NAMES, OTHERS, SETTINGS, Data
from unpick.studies.study import Outcome, Results, Verdict
from unpick.studies.thesis_4_cells import SEARCHES, found, multiples, needed, searched, unpruned
from unpick.studies.thesis_4_pixels import difference

Check = Callable[[Results], Verdict]
HALF, MOST = 0.5, 0.75  # of a score
VARIANCE = 0.1  # share of the data's variance that a small change may have


def trained(check: Check) -> Check:
    """The same, but without a verdict at scale `quick`, where nothing is trained to the end."""

    def careful(results: Results) -> Verdict:
        verdict = check(results)
        return Verdict(None, verdict.evidence) if results.scale == "quick" else verdict

    return careful


def whole(holds: Mapping[str, bool], wanted: int) -> bool | None:
    """Whether all hold; not known if they do but not all that were wanted are there."""
    if not all(holds.values()):
        return False
    return True if len(holds) >= wanted else None


def _kept(results: Results) -> dict[Data, tuple[float, float | None]]:
    """Share of the beta-VAE's MIG that is left on the modified and on the noisy twin."""
    shares: dict[Data, tuple[float, float | None]] = {}
    for data in FACTORS:
        before, after = (found(results, data, t, "beta-vae") for t in ("original", "modified"))
        noisy = found(results, data, "noise", "beta-vae")
        if before is not None and after is not None:
            mean = before.mean("MIG")
            left = None if noisy is None else noisy.mean("MIG") / mean
            shares[data] = after.mean("MIG") / mean, left
    return shares


def halves(results: Results) -> Verdict:
    """On one of the data sets or both the modified twin leaves less than half of the MIG."""
    shares = {data: left for data, (left, _) in _kept(results).items()}
    said = [f"{data}: {_change(results, data)}, {left:.0%} left" for data, left in shares.items()]
    holds = any(left < HALF for left in shares.values())
    return Verdict(holds if holds or len(shares) == len(FACTORS) else None, "; ".join(said))


def noise_keeps(results: Results) -> Verdict:
    """Where it does, noise leaves three quarters or more, on one of the data sets or both."""
    halved = {data: noisy for data, (left, noisy) in _kept(results).items() if left < HALF}
    shares = {data: share for data, share in halved.items() if share is not None}
    if not shares:
        return Verdict(None, "")
    said = [f"{data}: {share:.0%} left" for data, share in shares.items()]
    return Verdict(any(share >= MOST for share in shares.values()), "; ".join(said))


def _change(results: Results, data: Data) -> str:
    means = [
        f"{outcome.mean('MIG'):.2f} ({twin})"
        for twin in ("original", "modified", "noise")
        if (outcome := found(results, data, twin, "beta-vae"))
    ]
    return ", ".join(means)


def stay(results: Results) -> Verdict:
    """PCL and weak GAN: the means differ by no more than the pooled deviation over seeds."""
    said, holds = [], {}
    for data, method in product(FACTORS, OTHERS):
        before, after = (found(results, data, twin, method) for twin in ("original", "modified"))
        if before is None or after is None or min(before.count("MIG"), after.count("MIG")) < 2:
            continue
        apart = after.mean("MIG") - before.mean("MIG")
        spread = math.sqrt((before.deviation("MIG") ** 2 + after.deviation("MIG") ** 2) / 2)
        name = f"{NAMES[method]} on {data}"
        holds[name] = abs(apart) <= spread
        said.append(f"{name}: {apart:+.2f}, pooled deviation {spread:.2f}")
    return Verdict(whole(holds, len(FACTORS) * len(OTHERS)), "; ".join(said))


def lose(measures: Sequence[str], errors: float, results: Results) -> Verdict:
    """Every variational method has a lower mean on the modified twin, by so many errors."""
    said, holds = dict[str, str](), dict[str, bool]()
    for (data, method), measure in product(SEARCHES, measures):
        before, after = (found(results, data, twin, method) for twin in ("original", "modified"))
        if before is None or after is None:
            continue
        lost = before.mean(measure) - after.mean(measure)
        error = math.hypot(_error(before, measure), _error(after, measure))
        if errors and not error > 0:  # a single seed has no spread
            continue
        name = f"{NAMES[method]} on {data}" + (f", {measure}" if len(measures) > 1 else "")
        holds[name] = lost > (errors * error if errors else 0)
        size = f" ({lost / error:.1f} SE)" if error > 0 else ""
        said[name] = f"{name}: {before.mean(measure):.2f} to {after.mean(measure):.2f}{size}"
    told = [said[name] for name in said if not holds[name]] or said.values()
    return Verdict(whole(holds, len(SEARCHES) * len(measures)), "; ".join(told))


def _error(outcome: Outcome, measure: str) -> float:
    return outcome.deviation(measure) / math.sqrt(outcome.count(measure))


def not_recovered(results: Results) -> Verdict:
    """No hyperparameter gets back half of the MIG that was lost; without over-pruned runs."""
    said, holds = [], dict[str, bool]()
    wanted = [(data, method) for data, method in SEARCHES if multiples(results.scale, data)]
    for data, method in wanted:
        before, search = found(results, data, "original", method), searched(results, data, method)
        if before is None or len(search) < len(multiples(results.scale, data)):
            continue
        name, after = f"{NAMES[method]} on {data}", search[1.0].mean("MIG")
        lost, means = before.mean("MIG") - after, _means(search, needed(before, data))
        if lost <= 0 or not means:
            said.append(f"{name}: {'nothing was lost' if lost <= 0 else 'all over-pruned'}")
            continue
        best = max(means, key=lambda times: means[times])
        holds[name] = means[best] - after < HALF * lost
        told = f"{before.mean('MIG'):.2f} to {after:.2f}, best {means[best]:.2f} at x {best:g}"
        said.append(f"{name}: {told}")
    unclear = len(said) - len(holds)  # says nothing for or against
    known = whole(holds, len(wanted) - unclear) if holds else None
    return Verdict(known, "; ".join(said))


def _means(search: Mapping[float, Outcome], least: float) -> dict[float, float]:
    """MIG at each hyperparameter, over runs that are not over-pruned."""
    kept = {times: o.values["MIG"][unpruned(o, least)] for times, o in search.items()}
    return {times: float(np.nanmean(values)) for times, values in kept.items() if len(values)}


def every_factor(data: Data, results: Results) -> Verdict:
    """The beta-VAE's MIG of each factor is lower on the modified twin."""
    before, after = (found(results, data, t, "beta-vae") for t in ("original", "modified"))
    if before is None or after is None:
        return Verdict(None, "")
    parts = [name for name in before.values if name.startswith("MIG, ")]
    said = [
        f"{name.removeprefix('MIG, ')} {before.mean(name):.2f} to {after.mean(name):.2f}"
        for name in parts
    ]
    lower = [after.mean(name) < before.mean(name) for name in parts]
    return Verdict(all(lower) if lower else None, "; ".join(said))


def small(results: Results) -> Verdict:
    """No pixel moves by more than epsilon, and the change has a tenth of the variance at most."""
    said, holds = [], dict[str, bool]()
    for data, chosen in SETTINGS[results.scale].items():
        if found(results, data, "modified", "beta-vae") is None:
            continue
        twin = config(data, "beta-vae", "modified", results.scale).data
        change = difference(chosen.data, twin)
        noise = difference(chosen.data, Noisy(chosen.data, chosen.epsilon))
        if change is None or noise is None:
            continue
        rounding = 1e-6
        holds[data] = change.largest <= chosen.epsilon + rounding and change.share <= VARIANCE
        said.append(
            f"{data}: largest change {change.largest:.3f} (epsilon {chosen.epsilon}), root mean "
            f"square {change.typical:.3f}, {change.share:.1%} of the variance (noise: "
            f"{noise.typical:.3f}, {noise.share:.1%})"
        )
    return Verdict(whole(holds, len(SETTINGS[results.scale])), "; ".join(said))
