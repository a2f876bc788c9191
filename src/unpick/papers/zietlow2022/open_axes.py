"""The verdict on "does not align": DtO against that of models whose posterior does not matter."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from unpick.study.comparison import Comparison, above
from unpick.study.verdict import Verdict, against

Values: TypeAlias = Float[np.ndarray, "_"]
Null: TypeAlias = Values | float  # DtO over seeds, or a mean that is known
MARGIN = 0.25  # share of a null by which DtO may lie below it and still count as open


def leaves_open(
    groups: Mapping[str, tuple[Values, Sequence[Null]]], evidence: str, *, complete: bool
) -> Verdict:
    """Whether the DtO of every group is not below its nulls.

    It fails if the mean of a group is below all of its nulls, after Holm's correction for several
    groups. It holds if every mean is above three quarters of each of its nulls. Each test is
    Welch's, two-sided, at 5 %.

    Args:
        groups: By name, DtO over seeds and what it would be if nothing singled out the axes.
        evidence: Comes before the differences.
        complete: Whether all groups that the claim speaks of were measured.
    """
    if not groups:
        return Verdict(None, evidence)
    below = {name: _nearest(values, nulls) for name, (values, nulls) in groups.items()}
    edges = [
        above(values, (1 - MARGIN) * float(np.nanmean(null)))
        for values, nulls in groups.values()
        for null in nulls
    ]
    wrong = against(below)
    texts = [
        f"{name} ({each}, p = {each.p:.2g}{', below' if name in wrong else ''})"
        for name, each in below.items()
    ]
    evidence += f"; difference to the nearest null, 95 % interval: {', '.join(texts)}"
    if wrong:
        return Verdict(False, evidence)
    holds = all(edge.holds for edge in edges)
    if holds and not complete:
        return Verdict(None, evidence)
    return Verdict(holds or None, evidence, undecided=not holds and complete)


def _nearest(values: Values, nulls: Sequence[Null]) -> Comparison:
    """The comparison with the null that the values are least clearly below."""
    found = [above(values, null) for null in nulls]
    return max(found, key=lambda each: each.p if each.difference < 0 else 2 - each.p)
