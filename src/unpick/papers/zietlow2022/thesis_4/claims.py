"""What chapter 4 of Zietlow (2022) says, as predicates on results."""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from jaxtyping import Float

from unpick.papers.zietlow2022.thesis_4.cells import (
    PLACES,
    find_outcome,
    find_search,
    latents_needed,
    multiples,
    not_over_pruned,
    read_twin_report,
)
from unpick.papers.zietlow2022.thesis_4.readings import found_changes
from unpick.papers.zietlow2022.thesis_4.settings import (
    FACTORS,
    NAMES,
    SETTINGS,
    Data,
    Method,
    Twin,
)
from unpick.study.comparison import LEVEL, Comparison, above, group, same_within, weigh
from unpick.study.study import Outcome, Results
from unpick.study.verdict import Verdict, decide_all

HALF, MOST = 0.5, 0.75  # of a score
FOUND = 0.02  # MIG of a factor that a model knows of at all
VARIANCE = 0.1  # share of the data's variance that a small change may have


def _left(results: Results, twin: Twin, share: float) -> dict[Data, Comparison]:
    """Whether more than a share of the beta-VAE's MIG on the original is left on a twin.

    One data set is enough for the claims that ask this, so that each gets its part of the level.
    """
    found = {}
    for data in FACTORS:
        before, after = (find_outcome(results, data, t, "beta-vae") for t in ("original", twin))
        if before is not None and after is not None:
            least = share * before.values["MIG"]
            found[data] = above(after.values["MIG"], least, level=LEVEL / len(FACTORS))
    return found


def _share(results: Results, data: Data, twin: Twin) -> str:
    """The share of the beta-VAE's MIG that is left on a twin, in words."""
    before, after = (find_outcome(results, data, t, "beta-vae") for t in ("original", twin))
    if before is None or after is None:
        return f"no runs on the {twin} twin"
    return f"{after.mean('MIG') / before.mean('MIG'):.0%} left"


def halves(results: Results) -> Verdict:
    """On one of the data sets or both the perturbed twin leaves less than half of the MIG."""
    found = _left(results, "perturbed", HALF)
    words = {True: "more than half", False: "less than half", None: "undecided"}
    texts = [
        f"{data}: {_change(results, data)}, {_share(results, data, 'perturbed')} "
        f"({words[each.holds]}, {format_p(each.p)})"
        for data, each in found.items()
    ]
    if any(each.holds is False for each in found.values()):
        return Verdict(True, "; ".join(texts))
    complete = len(found) == len(FACTORS)
    kept = complete and all(each.holds for each in found.values())
    return Verdict(False if kept else None, "; ".join(texts), complete and not kept)


def noise_keeps(results: Results) -> Verdict:
    """Where it does, noise leaves three quarters or more, on one of the data sets or both."""
    left, noisy = _left(results, "perturbed", HALF), _left(results, "noisy", MOST)
    halved = [data for data, each in left.items() if each.holds is False]
    open_ = [data for data in FACTORS if data not in left or left[data].holds is None]
    words = {True: "three quarters or more", False: "less", None: "undecided"}
    texts = [
        f"{data}: {_share(results, data, 'noisy')}"
        + (f" ({words[noisy[data].holds]}, {format_p(noisy[data].p)})" if data in noisy else "")
        for data in halved
    ]
    texts += [f"{data}: undecided whether it was halved" for data in open_ if data in left]
    evidence = "; ".join(texts)
    if any(data in noisy and noisy[data].holds for data in halved):
        return Verdict(True, evidence)
    measured = len(left) == len(FACTORS) and all(data in noisy for data in (*halved, *open_))
    lost = all(data in noisy and noisy[data].holds is False for data in (*halved, *open_))
    if not measured or not (halved or open_):
        return Verdict(None, evidence)
    return Verdict(False if lost and halved else None, evidence, not (lost and halved))


def _change(results: Results, data: Data) -> str:
    means = [
        f"{outcome.mean('MIG'):.2f} ({twin})"
        for twin in ("original", "perturbed", "noisy")
        if (outcome := find_outcome(results, data, twin, "beta-vae"))
    ]
    return ", ".join(means)


def stay(data: Data, method: Method, results: Results) -> Verdict:
    """A method's mean on the perturbed twin is within a quarter of that on the original.

    By an equivalence test. A quarter is what noise may take in the claim above, and half of what
    the beta-VAE is said to lose. There is no verdict on a method that scores no more than the AE,
    which aligns at random: it has nothing to lose.
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
    chance = find_outcome(results, data, "original", "ae")
    baseline = f", AE {chance.mean('MIG'):.2f}" if chance is not None else ""
    text = f"{before.mean('MIG'):.2f} to {after.mean('MIG'):.2f}"
    if chance is None or before.mean("MIG") <= chance.mean("MIG"):
        return Verdict(None, f"{text} ({seeds} seeds{baseline})")
    found = same_within(after.values["MIG"], before.values["MIG"], 1 - MOST)
    text += (
        f", {after.mean('MIG') / before.mean('MIG'):.0%} (between {MOST:.0%} and {2 - MOST:.0%}: "
        f"{format_p(found.p)}; difference {found.low:+.2f} to {found.high:+.2f}, 90 %; {seeds} "
        f"seeds{baseline}; power if there is no difference {found.power:.0%})"
    )
    return Verdict(found.holds, text, found.holds is None)


def lose(measures: Sequence[str], results: Results) -> Verdict:
    """Every variational method has a lower mean on the perturbed twin.

    The power is the chance to decide a loss of the printed share of our mean on the original.
    """
    texts, comparisons = [], {}
    for (data, method), measure in product(PLACES, measures):
        before, after = (
            find_outcome(results, data, twin, method) for twin in ("original", "perturbed")
        )
        if before is None or after is None:
            continue
        printed = [o.cell.published.get(measure) for o in (before, after)]
        share = 1 - printed[1].mean / printed[0].mean if printed[0] and printed[1] else math.nan
        name = f"{NAMES[method]} on {data}" + (f", {measure}" if len(measures) > 1 else "")
        comparisons[name] = above(
            before.values[measure], after.values[measure], expected=share * before.mean(measure)
        )
        if len(measures) == 1:
            texts.append(f"{name}: {before.mean(measure):.2f} to {after.mean(measure):.2f}")
    complete = len(comparisons) == len(PLACES) * len(measures)
    return decide_all(comparisons, "; ".join(texts), complete=complete)


def format_p(p: float) -> str:
    """A p-value in words."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def not_recovered(results: Results) -> Verdict:
    """No hyperparameter gets back half of the MIG that was lost.

    Over-pruned runs count nowhere: not on the original, not with the first hyperparameter, not
    with others.
    """
    texts, comparisons = [], {}
    wanted = [place for place in PLACES if multiples(results.scale, *place)]
    known = 0
    for data, method in wanted:
        before, search = (
            find_outcome(results, data, "original", method),
            find_search(results, data, method),
        )
        if before is None or len(search) < len(multiples(results.scale, data, method)):
            continue
        name, least = f"{NAMES[method]} on {data}", latents_needed(before, data)
        was, values = _unpruned(before, least), {t: _unpruned(o, least) for t, o in search.items()}
        after = values.pop(1.0)
        others = {times: each for times, each in values.items() if len(each)}
        if not len(was) or not len(after) or not others:
            texts.append(f"{name}: too many are over-pruned")
            continue
        known += 1
        if was.mean() <= after.mean():  # nothing to recover, which says nothing for or against
            texts.append(f"{name}: nothing was lost")
            continue
        for times, each in others.items():
            parts = [(1 - HALF, group(after)), (HALF, group(was)), (-1.0, group(each))]
            comparisons[f"{name}, x {times:g}"] = weigh(parts)
        best = max(others, key=lambda times: others[times].mean())
        texts.append(
            f"{name}: {was.mean():.2f} to {after.mean():.2f}, best {others[best].mean():.2f} at "
            f"x {best:g}"
        )
    if not texts:
        return Verdict(None, "")
    where = " and ".join(dict.fromkeys(data for data, _ in wanted))
    evidence = "; ".join([f"searched on {where}", *texts])
    return decide_all(comparisons, evidence, complete=known == len(wanted))


def _unpruned(outcome: Outcome, least: float) -> Float[np.ndarray, "s"]:
    """MIG of the runs that are not over-pruned."""
    values = outcome.values["MIG"][not_over_pruned(outcome, least)]
    return values[np.isfinite(values)]


def every_factor(data: Data, results: Results) -> Verdict:
    """The beta-VAE's MIG of each factor that it finds is lower on the perturbed twin."""
    before, after = (find_outcome(results, data, t, "beta-vae") for t in ("original", "perturbed"))
    if before is None or after is None:
        return Verdict(None, "")
    parts = {name.removeprefix("MIG, "): name for name in before.values if name[:5] == "MIG, "}
    texts = [f"{f} {before.mean(name):.2f} to {after.mean(name):.2f}" for f, name in parts.items()]
    found = {
        factor: before.above(after, name)
        for factor, name in parts.items()
        if before.mean(name) > FOUND
    }
    return decide_all(found, "; ".join(texts), complete=True)


def misleads(data: Data, results: Results) -> Verdict:
    """The change lowers the loss of the entangled models relative to the disentangled ones."""
    if find_outcome(results, data, "perturbed", "beta-vae") is None:
        return Verdict(None, "")
    report = read_twin_report(data, results.scale)
    if "after" not in report:
        return Verdict(None, "")
    before, after = (
        report[when]["entangled"] - report[when]["disentangled"] for when in ("before", "after")
    )
    varying = report.get("varying")
    more = "" if varying is None else f" ({varying:.0%} of the change differs between images)"
    return Verdict(after < before, f"{before:+.2f} to {after:+.2f}{more}")


def small(data: Data, results: Results) -> Verdict:
    """No pixel moves by more than epsilon, and the change has a tenth of the variance at most."""
    changes = found_changes(results, data)
    if not changes or find_outcome(results, data, "perturbed", "beta-vae") is None:
        return Verdict(None, "")
    moved, epsilon, rounding = changes["perturbed"], SETTINGS[results.scale][data].epsilon, 1e-6
    others = [
        f"{twin} twin: {each.typical:.3f}, {each.share:.1%}"
        for twin, each in changes.items()
        if twin not in ("original", "perturbed")
    ]
    return Verdict(
        moved.largest <= epsilon + rounding and moved.share <= VARIANCE,
        f"largest change {moved.largest:.3f} (epsilon {epsilon}), root mean square "
        f"{moved.typical:.3f}, {moved.share:.1%} of the variance ({'; '.join(others)})",
    )
