"""What tables 1 and 2 of Bhowal et al. (2024) say, and what to ask beyond, as predicates."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from unpick.papers.bhowal2024.settings import NAMES
from unpick.study.running import available
from unpick.study.study import Outcome, Results, Verdict

LEVELS = (0.01, 0.05)  # of tests, as the paper marks them
HALF = 0.5
SAME = 0.01  # relative difference of numbers that are the same for a reader


def judged(results: Results, holds: Mapping[str, bool], evidence: Sequence[str]) -> Verdict:
    """True if all hold and nothing is missing but data that are not on this machine."""
    told = "; ".join(evidence)
    if not all(holds.values()):
        return Verdict(False, told)
    whole = len(results.outcomes) >= len(available(results.study.cells(results.scale))[0])
    return Verdict(True if holds and whole else None, told)


def lower(first: str, second: str, results: Results) -> Verdict:
    """The second measure's mean lies below the first's in every cell."""
    holds, said = dict[str, bool](), []
    for row, columns in results.rows().items():
        for column, outcome in columns.items():
            holds[f"{row}, {column}"] = outcome.mean(second) < outcome.mean(first)
        told = [f"{c} {o.mean(first):.4g} to {o.mean(second):.4g}" for c, o in columns.items()]
        said.append(f"{row}: {', '.join(told)}")
    return judged(results, holds, [*said, *significant(first, second, results)])


def significant(first: str, second: str, results: Results) -> list[str]:
    """In how many runs it is so beyond chance over observations, if that was tested."""
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


def rising(measures: Sequence[str], results: Results) -> Verdict:
    """VAE, beta-VAE, beta-TCVAE: each has a larger mean than the one before."""
    return _ordered(measures, results, lambda m: all(a < b for a, b in pairwise(m)))


def vae_largest(measures: Sequence[str], results: Results) -> Verdict:
    """Both others have a lower mean than the VAE."""
    return _ordered(measures, results, lambda m: m[0] > max(m[1:]))


def vae_least(measures: Sequence[str], results: Results) -> Verdict:
    """Both others have a larger mean than the VAE."""
    return _ordered(measures, results, lambda m: m[0] < min(m[1:]))


def _ordered(
    measures: Sequence[str], results: Results, check: Callable[[list[float]], bool]
) -> Verdict:
    holds, said = dict[str, bool](), []
    for row, columns in results.rows().items():
        if not {*NAMES} <= columns.keys():
            continue
        for measure in measures:
            found = [columns[model] for model in NAMES]
            name = f"{row}, {measure}"
            holds[name] = check([outcome.mean(measure) for outcome in found])
            told = [f"{o.cell.column} {_told(o, measure)}" for o in found]
            said.append(f"{name}: {', '.join(told)}")
    return judged(results, holds, said)


def _told(outcome: Outcome, measure: str) -> str:
    spread = f" ± {outcome.deviation(measure):.2g}" if outcome.count(measure) > 1 else ""
    return f"{outcome.mean(measure):.3g}{spread}"


def gains_as_published(results: Results) -> Verdict:
    """Tanh takes away half of what it does in table 1 or more, as a share of the linear error.

    Such a share has no unit, and so can be compared.
    """
    holds, said = dict[str, bool](), []
    for name, outcome in _cells(results).items():
        printed = outcome.cell.published
        if not {"linear", "nonlinear"} <= printed.keys():
            continue
        ours = 1 - outcome.mean("nonlinear") / outcome.mean("linear")
        theirs = 1 - printed["nonlinear"].mean / printed["linear"].mean
        holds[name] = ours >= HALF * theirs
        said.append(f"{name} {ours:.1%} (published {theirs:.1%})")
    return judged(results, holds, said)


def by_fitting(results: Results) -> Verdict:
    """Of what tanh gains on the Jacobian, a line gains half or more."""
    holds, said = dict[str, bool](), []
    for name, outcome in _cells(results).items():
        tangent, line, curved = map(outcome.mean, ("Jacobian", "linear", "nonlinear"))
        holds[name] = tangent - line >= HALF * (tangent - curved) > 0
        share = f"{(tangent - line) / (tangent - curved):.0%}" if tangent > curved else "no gain"
        said.append(f"{name} {share}")
    return judged(results, holds, said)


def mostly_even(results: Results) -> Verdict:
    """Half or more of what tanh leaves is out of reach of every odd map without an offset."""
    holds, said = dict[str, bool](), []
    for name, outcome in _cells(results).items():
        even, left = outcome.mean("even"), outcome.mean("nonlinear")
        holds[name] = even >= HALF * left
        said.append(f"{name} {even:.3f} of {left:.3f}")
    return judged(results, holds, said)


def never_fitted(results: Results) -> Verdict:
    """The released code's step changes none of its numbers by more than 1 %."""
    holds, changes = dict[str, bool](), [0.0]
    for name, outcome in _cells(results).items():
        for kind in ("linear", "nonlinear"):
            before, after = (outcome.mean(f"released {kind}{w}") for w in (", unfitted", ""))
            changes.append(abs(after / before - 1))
            holds[f"{name}, {kind}"] = changes[-1] < SAME
    return judged(results, holds, [f"{len(holds)} numbers change by {max(changes):.2%} at most"])


def _cells(results: Results) -> dict[str, Outcome]:
    return {f"{o.cell.row}, {o.cell.column}": o for o in results.outcomes}
