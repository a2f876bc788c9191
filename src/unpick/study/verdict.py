"""Verdicts on claims, and the verdict that several comparisons of means give together."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from unpick.study.comparison import LEVEL, Comparison


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds, and the evidence.

    Attributes:
        holds: None if it was not measured, or if what was measured does not decide it.
        evidence: In words.
        undecided: Whether it was measured but not decided: differences are within their errors.
    """

    holds: bool | None
    evidence: str
    undecided: bool = False

    def __post_init__(self) -> None:
        """Refuse a verdict that is decided and undecided."""
        if self.undecided and self.holds is not None:
            raise ValueError(f"an undecided verdict must have holds None, got {self.holds}")

    @property
    def word(self) -> str:
        """For people."""
        if self.undecided:
            return "undecided"
        return {True: "holds", False: "fails", None: "not measured"}[self.holds]


def decided(comparisons: Mapping[str, Comparison]) -> list[str]:
    """The comparisons that are decided either way, after Holm's correction for several."""
    tested = {name: each.p for name, each in comparisons.items() if not math.isnan(each.p)}
    found = []
    for k, name in enumerate(sorted(tested, key=lambda name: tested[name])):
        if tested[name] >= LEVEL / (len(tested) - k):
            break
        found.append(name)
    return found


def against(comparisons: Mapping[str, Comparison]) -> list[str]:
    """Those of them that are decided the other way."""
    return [name for name in decided(comparisons) if comparisons[name].difference < 0]


def all_decided(comparisons: Mapping[str, Comparison]) -> bool | None:
    """Whether all comparisons hold; None if that is undecided.

    They hold if each does. This needs no correction: if one of them is not true, all are decided
    as claimed with a chance of at most half the level. They do not hold if one is decided the
    other way after Holm's correction, since any of them could be by chance.
    """
    if against(comparisons):
        return False
    return True if all(each.holds for each in comparisons.values()) else None


def decide_all(comparisons: Mapping[str, Comparison], evidence: str, *, complete: bool) -> Verdict:
    """The verdict on a claim that all comparisons hold.

    Args:
        comparisons: By name.
        evidence: Comes before the summary of the tests.
        complete: Whether all that the claim speaks of was measured. If not, it can only fail.
    """
    if not comparisons:
        return Verdict(None, evidence)
    holds = all_decided(comparisons)
    text = "; ".join(part for part in (evidence, summary(comparisons)) if part)
    return Verdict(holds if complete or not holds else None, text, holds is None and complete)


def summary(comparisons: Mapping[str, Comparison]) -> str:
    """How many comparisons are decided as claimed, and the others one by one."""
    wrong = against(comparisons)
    right = [name for name, each in comparisons.items() if each.holds]
    rest = [name for name in comparisons if name not in (*wrong, *right)]
    alone = [name for name in rest if comparisons[name].holds is False]
    open_ = [name for name in rest if name not in alone]
    text = f"decided as claimed: {len(right)} of {len(comparisons)}"
    for word, names in (
        ("decided the other way", wrong),
        ("the other way, but not after Holm's correction for several", alone),
        ("undecided", open_),
    ):
        if names:
            listed = ", ".join(f"{name} ({comparisons[name]})" for name in names)
            text += f"; {word} (difference, 95 % interval): {listed}"
    return text
