"""Claims of Bhowal et al. (2024) about the order of models, decided by tests of every pair."""

import math
from collections.abc import Mapping
from itertools import combinations

import numpy as np

from unpick.papers.bhowal2024.scores.claims import (
    GAPS,
    WAYS,
    complete_rows,
    covers,
    list_means,
    means,
    order,
)
from unpick.papers.bhowal2024.settings import NAMES
from unpick.study.comparison import Comparison, above, order_power
from unpick.study.study import Results
from unpick.study.verdict import Verdict, all_decided, decide_all, decided

SAME = ({True}, {False})  # what all measures say of a pair, if they agree and are decided


def in_printed_order(measure: str, results: Results) -> Verdict:
    """On every data set every pair of models has the printed order.

    It fails only if a pair is decided the other way. The power is the chance that all pairs would
    be decided, if the printed means were the true ones and the spread over seeds is ours.
    """
    evidence, comparisons, power = [], {}, 1.0
    rows = complete_rows(results, measure)
    for row, models in rows.items():
        printed = {name: o.cell.published[measure].mean for name, o in models.items()}
        for low, high in combinations(order(printed), 2):
            if printed[high] > printed[low]:
                name = f"{row}, {high} above {low}"
                comparisons[name] = models[high].above(models[low], measure)
        values = [outcome.values[measure] for outcome in models.values()]
        power *= order_power(values, [*printed.values()])
        evidence.append(f"{row}: {list_means(models, measure)}")
    if rows and not math.isnan(power):
        evidence.append(f"power at the printed means, all pairs together: {power:.0%}")
    return decide_all(comparisons, "; ".join(evidence), complete=covers(results, rows))


def variants_agree(results: Results) -> Verdict:
    """Every variant of the OD-Score ranks the models alike."""
    return _ranked_alike(results, WAYS)


def falls_over_models(results: Results) -> Verdict:
    """Over the means of the models, the OD-Score falls as MIG rises, and as MIG-sup rises."""
    return _ranked_alike(results, {"OD-Score": "OD-Score"}, {gap: gap for gap in GAPS})


def _ranked_alike(
    results: Results, measures: Mapping[str, str], reverse: Mapping[str, str] | None = None
) -> Verdict:
    """Whether measures put every pair of models in the same order; some of them in reverse.

    It holds if every pair is decided alike by all measures. It fails if two measures decide a
    pair in opposite ways, after Holm's correction for all pairs and measures.

    Args:
        results: Data sets on which some model lacks a measure are left out.
        measures: How each is called in the evidence.
        reverse: The same for measures that must have the opposite order.
    """
    reverse = reverse or {}
    names = {**measures, **reverse}
    rows = complete_rows(results, *names)
    tests: dict[str, dict[str, Comparison]] = {}
    evidence = []
    for row, models in rows.items():
        for a, b in combinations(NAMES, 2):
            tests[f"{row}, {a} and {b}"] = {
                name: models[one].above(models[other], measure)
                for measure, name in names.items()
                for one, other in [(b, a) if measure in reverse else (a, b)]
            }
        orders = [f"{name} {' < '.join(order(means(models, m)))}" for m, name in names.items()]
        evidence.append(f"{row}: {', '.join(orders)}")
    if not tests:
        return Verdict(None, "")
    flat = {f"{pair}, {name}": each for pair, of in tests.items() for name, each in of.items()}
    sure = decided(flat)
    conflicts = [
        f"{pair} ({', '.join(name for name in of if f'{pair}, {name}' in sure)})"
        for pair, of in tests.items()
        if len({each.difference > 0 for n, each in of.items() if f"{pair}, {n}" in sure}) > 1
    ]
    alike = [pair for pair, of in tests.items() if {each.holds for each in of.values()} in SAME]
    evidence.append(f"decided alike by all: {len(alike)} of {len(tests)} pairs")
    if conflicts:
        evidence.append(f"decided in opposite ways: {'; '.join(conflicts)}")
        return Verdict(False, "; ".join(evidence))
    complete = covers(results, rows)
    holds = len(alike) == len(tests)
    return Verdict((holds and complete) or None, "; ".join(evidence), complete and not holds)


def term_makes_no_order(results: Results) -> Verdict:
    """Fitting the same runs with each model's weight does not give the order of table 6.

    The runs of all models are fitted with every weight, so that scores are compared in pairs.
    """
    evidence, produced = [], dict[str, bool | None]()
    for row, columns in results.rows().items():
        scores = {
            name: np.concatenate([o.values[f"term, {name}"] for o in columns.values()])
            for name in NAMES
            if all(f"term, {name}" in o.values for o in columns.values())
        }
        if not scores:
            continue
        pairs = {f"{a} {b}": above(scores[a] - scores[b], 0.0) for a, b in combinations(NAMES, 2)}
        produced[row] = all_decided(pairs)
        each = [f"as {name} {np.nanmean(values):.3f}" for name, values in scores.items()]
        word = {True: "the order of table 6", False: "another order", None: "undecided"}
        evidence.append(
            f"{row}, {len(scores[NAMES[0]])} runs: {', '.join(each)} ({word[produced[row]]})"
        )
    text, known = "; ".join(evidence), covers(results, produced)
    if True in produced.values() or not known:
        return Verdict(False if True in produced.values() else None, text)
    undecided = None in produced.values()
    return Verdict(None if undecided else True, text, undecided)
