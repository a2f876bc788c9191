"""One entry of the ledger: a claim of a paper, a check that could fail, and the verdict."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Generic, Literal, TypeVar

Reading = TypeVar("Reading")  # what a check is given: a formula, or the parts of a claim
Word = Literal[
    "holds",
    "holds after correction",
    "approximate",
    "does not follow as printed",
    "not confirmed",
]


@dataclass(frozen=True)
class Evidence:
    """What a check found.

    Attributes:
        holds: Whether the reading passed.
        text: How it was checked, with the numbers; if it failed, a counterexample.
        size: The error of an approximation, in a few words.
        errors: For an approximation: pairs of noise scale and relative error.
    """

    holds: bool
    text: str
    size: str = ""
    errors: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Mutation(Generic[Reading]):
    """A wrong version of the claim, which the check must not let pass."""

    text: str
    reading: Reading


@dataclass(frozen=True)
class Correction(Generic[Reading]):
    """What holds in place of the printed reading.

    Attributes:
        text: The corrected statement; math stands between dollars.
        formula: The same as LaTeX, if it is a formula.
        reading: The corrected reading, for the check.
        changes: `formula` if the claim stands once a formula is put right; `claim` if less holds
            than is claimed, or only under further assumptions.
        charitable: Where a claim does not follow as printed: the sense in which it holds all the
            same, if there is one that the source can have meant.
    """

    text: str
    formula: str
    reading: Reading
    changes: Literal["formula", "claim"] = "formula"
    charitable: str = ""


@dataclass(frozen=True)
class Entry(Generic[Reading]):
    r"""A claim, and how it is checked.

    Formulas are LaTeX as far as matplotlib's mathtext goes (no \text, no environments).

    Attributes:
        id: Author's initial and number, as in `Z-P5`: T theorem, C corollary, P proposition,
            L lemma, R remark, X example, E equation, S section.
        source: Author, year, number.
        title: A few words for the table.
        statement: The claim in our words; math stands between dollars.
        formula: As printed, in one line.
        assumptions: What the source assumes.
        printed: The reading that the source prints.
        check: Judges a reading. It must not be told which one it is given.
        mutation: A reading that must fail.
        correction: Where the printed reading fails.
        approximation: Whether the source claims a limit or a leading order rather than equality.
        remark: What a reader should know besides the verdict.
    """

    id: str
    source: str
    title: str
    statement: str
    formula: str
    assumptions: str
    printed: Reading
    check: Callable[[Reading], Evidence]
    mutation: Mutation[Reading]
    correction: Correction[Reading] | None = None
    approximation: bool = False
    remark: str = ""

    @property
    def standing(self) -> Reading:
        """The reading that ought to pass: the corrected one if there is a correction."""
        return self.printed if self.correction is None else self.correction.reading


@dataclass(frozen=True)
class Judgement:
    """An entry after its check.

    Attributes:
        entry: The entry.
        word: The verdict.
        evidence: Evidence for the reading that stands.
        printed: Evidence for the printed reading, where there is a correction.
        mutation: Evidence for the wrong version; it must fail.
        seconds: How long the checks took.
    """

    entry: Entry[Any]
    word: Word
    evidence: Evidence
    printed: Evidence | None
    mutation: Evidence
    seconds: float

    @property
    def charitable(self) -> str:
        """The sense in which a claim holds that does not follow as printed; often empty."""
        literal = self.word == "does not follow as printed" and self.entry.correction
        return literal.charitable if literal else ""


def judge(entry: Entry[Any]) -> Judgement:
    """Check the printed reading, its correction if there is one, and the mutation.

    The verdict is `not confirmed` if the reading that ought to stand fails, if a printed reading
    passes that the ledger would correct, or if the check lets the mutation pass.
    """
    start = perf_counter()
    printed, mutation = entry.check(entry.printed), entry.check(entry.mutation.reading)
    standing = printed if entry.correction is None else entry.check(entry.correction.reading)
    return Judgement(
        entry,
        _verdict(entry, printed, standing, mutation),
        standing,
        None if entry.correction is None else printed,
        mutation,
        perf_counter() - start,
    )


def _verdict(entry: Entry[Any], printed: Evidence, standing: Evidence, mutation: Evidence) -> Word:
    if mutation.holds or not standing.holds:
        return "not confirmed"
    if entry.correction is None:
        return "approximate" if entry.approximation else "holds"
    if printed.holds:
        return "not confirmed"
    changed = entry.correction.changes
    return "holds after correction" if changed == "formula" else "does not follow as printed"
