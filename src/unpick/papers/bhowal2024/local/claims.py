"""Claims about tables 1 and 2 of Bhowal et al. (2024), the paper's and ours, as checks."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from unpick.papers.bhowal2024.settings import NAMES
from unpick.study.comparison import above
from unpick.study.running import available
from unpick.study.study import Outcome, Results
from unpick.study.verdict import Verdict, decide_all

LEVELS = (0.01, 0.05)  # significance levels that the paper marks
HALF = 0.5
SAME = 0.01  # relative difference below which numbers count as equal


def decide(results: Results, holds: Mapping[str, bool], evidence: Sequence[str]) -> Verdict:
    """True if all hold and every cell whose data are on this machine has runs."""
    listed = "; ".join(evidence)
    if not all(holds.values()):
        return Verdict(False, listed)
    return Verdict(True if holds and is_whole(results) else None, listed)


def is_whole(results: Results) -> bool:
    """Whether every cell whose data are on this machine has runs."""
    return len(results.outcomes) >= len(available(results.study.cells(results.scale))[0])


def lower_error(first: str, second: str, results: Results) -> Verdict:
    """In every cell the second measure is lower than the first, in pairs over runs."""
    comparisons, evidence = {}, []
    for row, columns in results.rows().items():
        for column, outcome in columns.items():
            saved = outcome.values[first] - outcome.values[second]
            comparisons[f"{row}, {column}"] = above(saved, 0.0)
        listed = [f"{c} {o.mean(first):.4g} to {o.mean(second):.4g}" for c, o in columns.items()]
        evidence.append(f"{row}: {', '.join(listed)}")
    evidence += count_significant(first, second, results)
    return decide_all(comparisons, "; ".join(evidence), complete=is_whole(results))


def count_significant(first: str, second: str, results: Results) -> list[str]:
    """The number of runs with a significant difference over observations, if that was tested."""
    name = f"p, {first} to {second}"
    tested = [outcome.values[name] for outcome in results.outcomes if name in outcome.values]
    if not tested:
        return []
    p = np.concatenate(tested)
    counts = [f"p < {level:g} in {(p < level).sum()}" for level in LEVELS]
    other = (p > 1 - LEVELS[-1]).sum()
    return [
        f"paired over observations {' and '.join(counts)} of {len(p)} runs, "
        f"the other way around in {other}"
    ]


def errors_rise(measures: Sequence[str], results: Results) -> Verdict:
    """Means rise from VAE over beta-VAE to beta-TCVAE."""
    return _ordered(measures, results, [(high, low) for low, high in combinations(NAMES, 2)])


def vae_largest(measures: Sequence[str], results: Results) -> Verdict:
    """The VAE has the largest mean."""
    return _ordered(measures, results, [(NAMES[0], other) for other in NAMES[1:]])


def vae_least(measures: Sequence[str], results: Results) -> Verdict:
    """The VAE has the smallest mean."""
    return _ordered(measures, results, [(other, NAMES[0]) for other in NAMES[1:]])


def _ordered(
    measures: Sequence[str], results: Results, pairs: Sequence[tuple[str, str]]
) -> Verdict:
    """On every data set the first model of each pair is above the second."""
    comparisons, evidence = {}, []
    for row, columns in results.rows().items():
        if not {*NAMES} <= columns.keys():
            continue
        for measure in measures:
            for high, low in pairs:
                name = f"{row}, {measure}, {high} above {low}"
                values = (columns[model].values[measure] for model in (high, low))
                comparisons[name] = above(*values)
            listed = [f"{model} {_mean_and_spread(columns[model], measure)}" for model in NAMES]
            evidence.append(f"{row}, {measure}: {', '.join(listed)}")
    return decide_all(comparisons, "; ".join(evidence), complete=is_whole(results))


def _mean_and_spread(outcome: Outcome, measure: str) -> str:
    spread = f" ± {outcome.deviation(measure):.2g}" if outcome.count(measure) > 1 else ""
    return f"{outcome.mean(measure):.3g}{spread}"


def gains_as_published(results: Results) -> Verdict:
    """Tanh removes at least half as large a share of the linear error as in table 1.

    A share has no unit, so that of squared residuals (eq. 11, 12) can be compared with the
    published one. The evidence also tells the share of the released code's numbers, which are no
    residuals. Runs are paired.
    """
    comparisons, evidence, released = {}, [], []
    for name, outcome in _cells(results).items():
        printed = outcome.cell.published
        if not {"linear", "nonlinear"} <= printed.keys():
            continue
        ours = 1 - outcome.mean("nonlinear") / outcome.mean("linear")
        theirs = 1 - printed["nonlinear"].mean / printed["linear"].mean
        line, curved = (outcome.values[kind] for kind in ("linear", "nonlinear"))
        comparisons[name] = above((1 - HALF * theirs) * line - curved, 0.0)
        evidence.append(f"{name} {ours:.1%} (published {theirs:.1%})")
        if "released linear" in outcome.values:
            before, after = (outcome.mean(f"released {kind}") for kind in ("linear", "nonlinear"))
            released.append(1 - after / before)
    if released:
        some = f"{min(released):.0%} to {max(released):.0%}"
        evidence.append(f"of the released code's numbers, which are no residuals, {some}")
    return decide_all(comparisons, "; ".join(evidence), complete=is_whole(results))


def gain_by_fitting(results: Results) -> Verdict:
    """A fitted line has half or more of the gain of tanh over the Jacobian."""
    holds, evidence = dict[str, bool](), []
    for name, outcome in _cells(results).items():
        tangent, line, curved = map(outcome.mean, ("Jacobian", "linear", "nonlinear"))
        holds[name] = tangent - line >= HALF * (tangent - curved) > 0
        share = f"{(tangent - line) / (tangent - curved):.0%}" if tangent > curved else "no gain"
        evidence.append(f"{name} {share}")
    return decide(results, holds, evidence)


def residual_mostly_even(results: Results) -> Verdict:
    """At least half of the residual of tanh is even in the noise, so no odd map removes it."""
    holds, evidence = dict[str, bool](), []
    for name, outcome in _cells(results).items():
        even, left = outcome.mean("even"), outcome.mean("nonlinear")
        holds[name] = even >= HALF * left
        evidence.append(f"{name} {even:.3f} of {left:.3f}")
    return decide(results, holds, evidence)


def never_fitted(results: Results) -> Verdict:
    """The one step of the released fit changes none of its numbers by more than 1 %."""
    holds, changes = dict[str, bool](), [0.0]
    for name, outcome in _cells(results).items():
        for kind in ("linear", "nonlinear"):
            before, after = (outcome.mean(f"released {kind}{w}") for w in (", unfitted", ""))
            changes.append(abs(after / before - 1))
            holds[f"{name}, {kind}"] = changes[-1] < SAME
    return decide(results, holds, [f"{len(holds)} numbers change by {max(changes):.2%} at most"])


def _cells(results: Results) -> dict[str, Outcome]:
    return {f"{o.cell.row}, {o.cell.column}": o for o in results.outcomes}
