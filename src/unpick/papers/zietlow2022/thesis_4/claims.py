"""What chapter 4 of Zietlow (2022) says, as predicates on results."""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Literal

import numpy as np
from scipy.stats import ttest_ind_from_stats

from unpick.data import DataDamaged, DataMissing
from unpick.data.twins import read_document
from unpick.papers.zietlow2022.thesis_4.cells import (
    PLACES,
    change,
    find_outcome,
    find_search,
    latents_needed,
    multiples,
    not_over_pruned,
)
from unpick.papers.zietlow2022.thesis_4.readings import found_changes
from unpick.papers.zietlow2022.thesis_4.settings import FACTORS, NAMES, SETTINGS, Data, Method
from unpick.study.study import Outcome, Results, Scale, Verdict

HALF, MOST = 0.5, 0.75  # of a score
LEVEL = 0.05  # of tests
FOUND = 0.02  # MIG of a factor that a model knows of at all
VARIANCE = 0.1  # share of the data's variance that a small change may have


def all_hold(holds: Mapping[str, bool], wanted: int) -> bool | None:
    """Whether all hold; None if they do, but some of those wanted are missing."""
    if not all(holds.values()):
        return False
    return True if len(holds) >= wanted else None


def _shares_left(results: Results) -> dict[Data, tuple[float, float | None]]:
    """Share of the beta-VAE's MIG that is left on the perturbed and on the noisy twin."""
    shares: dict[Data, tuple[float, float | None]] = {}
    for data in FACTORS:
        before, after = (
            find_outcome(results, data, t, "beta-vae") for t in ("original", "perturbed")
        )
        noisy = find_outcome(results, data, "noisy", "beta-vae")
        if before is not None and after is not None:
            mean = before.mean("MIG")
            left = None if noisy is None else noisy.mean("MIG") / mean
            shares[data] = after.mean("MIG") / mean, left
    return shares


def halves(results: Results) -> Verdict:
    """On one of the data sets or both the perturbed twin leaves less than half of the MIG."""
    shares = {data: left for data, (left, _) in _shares_left(results).items()}
    texts = [f"{data}: {_change(results, data)}, {left:.0%} left" for data, left in shares.items()]
    holds = any(left < HALF for left in shares.values())
    return Verdict(holds if holds or len(shares) == len(FACTORS) else None, "; ".join(texts))


def noise_keeps(results: Results) -> Verdict:
    """Where it does, noise leaves three quarters or more, on one of the data sets or both."""
    kept = _shares_left(results)
    halved = {data: noisy for data, (left, noisy) in kept.items() if left < HALF}
    texts = [
        f"{data}: {'no runs on the noisy twin' if share is None else f'{share:.0%} left'}"
        for data, share in halved.items()
    ]
    if any(share is not None and share >= MOST for share in halved.values()):
        return Verdict(True, "; ".join(texts))
    known = halved and None not in halved.values() and len(kept) == len(FACTORS)
    return Verdict(False if known else None, "; ".join(texts))


def _change(results: Results, data: Data) -> str:
    means = [
        f"{outcome.mean('MIG'):.2f} ({twin})"
        for twin in ("original", "perturbed", "noisy")
        if (outcome := find_outcome(results, data, twin, "beta-vae"))
    ]
    return ", ".join(means)


def stay(data: Data, method: Method, results: Results) -> Verdict:
    """The means of a method differ by no more than the pooled deviation over seeds.

    With few seeds this is strict: two sets of three seeds from one distribution differ by more in
    29 % of cases. The evidence includes the p-value of Welch's test. There is no verdict on a
    method that scores no more than the AE, which aligns at random: it has nothing to lose.
    """
    before, after = (
        find_outcome(results, data, twin, method) for twin in ("original", "perturbed")
    )
    if before is None or after is None:
        chosen = SETTINGS[results.scale].get(data)
        planned = chosen is not None and method in chosen.methods
        return Verdict(None, "" if planned else "not trained at this scale")
    seeds = min(before.count("MIG"), after.count("MIG"))
    if seeds < 2:
        return Verdict(None, "a single seed")
    apart = abs(after.mean("MIG") - before.mean("MIG"))
    spread = math.sqrt((before.deviation("MIG") ** 2 + after.deviation("MIG") ** 2) / 2)
    p = welch(before, after, "MIG", "two-sided")
    chance = find_outcome(results, data, "original", "ae")
    baseline = f", AE {chance.mean('MIG'):.2f}" if chance is not None else ""
    text = (
        f"{before.mean('MIG'):.2f} to {after.mean('MIG'):.2f} (pooled deviation {spread:.2f}, "
        f"{_format_p(p)}, {seeds} seeds{baseline})"
    )
    learnt = chance is not None and before.mean("MIG") > chance.mean("MIG")
    return Verdict(apart <= spread if learnt else None, text)


def lose(measures: Sequence[str], results: Results, *, clearly: bool = False) -> Verdict:
    """Every variational method has a lower mean on the perturbed twin; significantly, if asked."""
    texts, holds = dict[str, str](), dict[str, bool]()
    for (data, method), measure in product(PLACES, measures):
        before, after = (
            find_outcome(results, data, twin, method) for twin in ("original", "perturbed")
        )
        if before is None or after is None:
            continue
        if clearly and min(before.count(measure), after.count(measure)) < 2:
            continue
        lost = before.mean(measure) - after.mean(measure)
        error = math.hypot(_error(before, measure), _error(after, measure))
        p = welch(before, after, measure, "greater")
        name = f"{NAMES[method]} on {data}" + (f", {measure}" if len(measures) > 1 else "")
        holds[name] = p < LEVEL if clearly else lost > 0
        size = f" ({lost / error:.1f} SE, {_format_p(p)})" if error > 0 else ""
        texts[name] = f"{name}: {before.mean(measure):.2f} to {after.mean(measure):.2f}{size}"
    shown = [texts[name] for name in texts if not holds[name]] or texts.values()
    return Verdict(all_hold(holds, len(PLACES) * len(measures)), "; ".join(shown))


def welch(
    before: Outcome, after: Outcome, measure: str, alternative: Literal["two-sided", "greater"]
) -> float:
    """P-value of Welch's t-test; nan for a single seed. `greater` tests for a loss."""
    one, other = (
        (o.mean(measure), o.deviation(measure), o.count(measure)) for o in (before, after)
    )
    test = ttest_ind_from_stats(*one, *other, equal_var=False, alternative=alternative)
    return float(test.pvalue)


def _format_p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def _error(outcome: Outcome, measure: str) -> float:
    return outcome.deviation(measure) / math.sqrt(outcome.count(measure))


def not_recovered(results: Results) -> Verdict:
    """No hyperparameter gets back half of the MIG that was lost.

    Over-pruned runs count nowhere: not on the original, not with the first hyperparameter, not
    with others.
    """
    texts, holds = [], dict[str, bool]()
    wanted = [(data, method) for data, method in PLACES if multiples(results.scale, data)]
    lossless = 0  # where there is nothing to recover, which says nothing for or against
    for data, method in wanted:
        before, search = (
            find_outcome(results, data, "original", method),
            find_search(results, data, method),
        )
        if before is None or len(search) < len(multiples(results.scale, data)):
            continue
        name, least = f"{NAMES[method]} on {data}", latents_needed(before, data)
        was, means = _mean(before, least), {t: _mean(o, least) for t, o in search.items()}
        after = means.pop(1.0)
        others = {times: mean for times, mean in means.items() if mean is not None}
        if was is None or after is None or not others:
            texts.append(f"{name}: too many are over-pruned")
            continue
        if was <= after:
            texts.append(f"{name}: nothing was lost")
            lossless += 1
            continue
        best = max(others, key=lambda times: others[times])
        holds[name] = others[best] - after < HALF * (was - after)
        texts.append(f"{name}: {was:.2f} to {after:.2f}, best {others[best]:.2f} at x {best:g}")
    if not texts:
        return Verdict(None, "")
    where = " and ".join(dict.fromkeys(data for data, _ in wanted))
    known = all_hold(holds, len(wanted) - lossless) if holds else None
    return Verdict(known, "; ".join([f"searched on {where}", *texts]))


def _mean(outcome: Outcome, least: float) -> float | None:
    """MIG over runs that are not over-pruned; None if there are none."""
    values = outcome.values["MIG"][not_over_pruned(outcome, least)]
    return float(np.nanmean(values)) if np.isfinite(values).any() else None


def every_factor(data: Data, results: Results) -> Verdict:
    """The beta-VAE's MIG of each factor that it finds is lower on the perturbed twin."""
    before, after = (find_outcome(results, data, t, "beta-vae") for t in ("original", "perturbed"))
    if before is None or after is None:
        return Verdict(None, "")
    parts = [name for name in before.values if name.startswith("MIG, ")]
    texts = [
        f"{name.removeprefix('MIG, ')} {before.mean(name):.2f} to {after.mean(name):.2f}"
        for name in parts
    ]
    lower = [after.mean(name) < before.mean(name) for name in parts if before.mean(name) > FOUND]
    return Verdict(all(lower) if lower else None, "; ".join(texts))


def misleads(results: Results) -> Verdict:
    """The change lowers the loss of the entangled models relative to the disentangled ones."""
    texts, holds = [], dict[str, bool]()
    for data in SETTINGS[results.scale]:
        report = _twin_report(data, results.scale)
        if find_outcome(results, data, "perturbed", "beta-vae") is None or "after" not in report:
            continue
        before, after = (
            report[when]["entangled"] - report[when]["disentangled"]
            for when in ("before", "after")
        )
        holds[data] = after < before
        varying = report.get("varying")
        more = "" if varying is None else f" ({varying:.0%} of the change differs between images)"
        texts.append(f"{data}: {before:+.2f} to {after:+.2f}{more}")
    return Verdict(all_hold(holds, len(SETTINGS[results.scale])), "; ".join(texts))


def _twin_report(data: Data, scale: Scale) -> dict[str, Any]:
    """The report on how the perturbed twin was made; empty if the twin is missing."""
    try:
        return read_document(change(data, scale).data().folder).get("report", {})
    except (DataMissing, DataDamaged):
        return {}


def small(results: Results) -> Verdict:
    """No pixel moves by more than epsilon, and the change has a tenth of the variance at most."""
    texts, holds = [], dict[str, bool]()
    for data, chosen in SETTINGS[results.scale].items():
        if find_outcome(results, data, "perturbed", "beta-vae") is None:
            continue
        changes = found_changes(results, data)
        if not changes:
            continue
        moved, noisy = changes["perturbed"], changes["noisy"]
        rounding = 1e-6
        holds[data] = moved.largest <= chosen.epsilon + rounding and moved.share <= VARIANCE
        texts.append(
            f"{data}: largest change {moved.largest:.3f} (epsilon {chosen.epsilon}), root mean "
            f"square {moved.typical:.3f}, {moved.share:.1%} of the variance (noisy twin: "
            f"{noisy.typical:.3f}, {noisy.share:.1%})"
        )
    return Verdict(all_hold(holds, len(SETTINGS[results.scale])), "; ".join(texts))
