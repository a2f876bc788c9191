"""The ledger of claims, on the terminal and as a page."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from unpick.pages.formula import plain
from unpick.pages.page import Link, Mark, Marked, Note, Section, Table
from unpick.pages.terminal import COLOURS, show
from unpick.papers.ledger import PAPERS
from unpick.study.ledger import Evidence, Judgement, Word

MARKS: dict[Word, Mark] = {
    "holds": "good",
    "holds after correction": "note",
    "approximate": "good",
    "does not follow as printed": "bad",
    "not confirmed": "bad",
}

SEVERAL: dict[Word, str] = {
    "holds": "hold",
    "holds after correction": "hold after correction",
    "approximate": "hold approximately",
    "does not follow as printed": "do not follow as printed",
    "not confirmed": "not confirmed",
}


def ledger_table(judgements: Sequence[Judgement]) -> Table:
    """A group a paper, a line a claim; ids lead to the section of their entry."""
    rows: list[tuple[str | Link | Marked, ...]] = []
    for paper, some in by_paper(judgements).items():
        rows += [(paper, "", ""), *map(_line, some)]
    return Table(
        _counted(judgements), ("claim", "what it says", "verdict"), tuple(rows), words=True
    )


def by_paper(judgements: Iterable[Judgement]) -> dict[str, list[Judgement]]:
    """In their order, under the name of their paper."""
    papers: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        papers.setdefault(PAPERS[judgement.entry.id[0]], []).append(judgement)
    return papers


def _line(judgement: Judgement) -> tuple[str | Link | Marked, ...]:
    entry, word = judgement.entry, judgement.word
    size = f": {judgement.evidence.size}" if judgement.evidence.size else ""
    return Link(entry.id, f"#{entry.id}"), entry.title, Marked(f"{word}{size}", MARKS[word])


def _counted(judgements: Sequence[Judgement]) -> str:
    """How many of each verdict."""
    counts = Counter(judgement.word for judgement in judgements)
    told = ", ".join(f"{counts[word]} {SEVERAL[word]}" for word in SEVERAL if counts[word])
    return f"{len(judgements)} claims: {told}"


def entry_notes(judgement: Judgement) -> list[Note]:
    """All there is to tell about a claim: what it says, the verdict, the evidence."""
    entry, correction = judgement.entry, judgement.entry.correction
    notes = [
        Note(f"{entry.source}.", mark=MARKS[judgement.word], word=judgement.word),
        Note(f"{entry.statement} $${entry.formula}$$"),
        Note(entry.assumptions, "Assumptions"),
    ]
    if correction is None or judgement.printed is None:
        notes.append(_found(judgement.evidence, "As printed"))
    else:
        notes.append(_found(judgement.printed, "As printed"))
        formula = f" $${correction.formula}$$" if correction.formula else ""
        notes.append(Note(f"{correction.text}{formula}", "Instead"))
        notes.append(_found(judgement.evidence, "Corrected"))
    if entry.remark:
        notes.append(Note(entry.remark))
    told = "lets pass" if judgement.mutation.holds else "rejects"
    return [*notes, Note(f"The check {told} a wrong version: {entry.mutation.text}.")]


def _found(evidence: Evidence, reading: str) -> Note:
    size = f" ({evidence.size})" if evidence.size else ""
    text = f"{evidence.text}{size}"
    if evidence.holds:
        return Note(text, reading, "good", "passes")
    return Note(text, reading, "bad", "fails")


def entry_sections(judgements: Iterable[Judgement]) -> list[Section]:
    """Of the page, one a claim."""
    return [
        Section(
            f"{judgement.entry.id}: {judgement.entry.title}",
            judgement.entry.id,
            level=3,
            notes=entry_notes(judgement),
        )
        for judgement in judgements
    ]


def show_ledger(judgements: Sequence[Judgement], console: Console) -> None:
    """The table, coloured by verdict."""
    show(ledger_table(judgements), console)
    console.print(Text("`unpick theory show ID` tells more about a claim.", style="dim"))


def show_entry(judgement: Judgement, console: Console) -> None:
    """One entry, formulas in Unicode."""
    console.print(Text(f"{judgement.entry.id}: {judgement.entry.title}", style="bold"))
    for note in entry_notes(judgement):
        told = Text()
        if note.word:
            told.append(f"{note.word}  ", style=f"bold {COLOURS[note.mark]}")
        if note.title:
            told.append(f"{note.title}: ", style="bold")
        told.append(plain(note.text))
        console.print(Padding(told, (1, 0, 0, 2)))
    console.print()


def ledger_document(judgements: Iterable[Judgement]) -> list[dict[str, Any]]:
    """For JSON."""
    return [
        {
            "id": judgement.entry.id,
            "source": judgement.entry.source,
            "title": judgement.entry.title,
            "statement": judgement.entry.statement,
            "formula": judgement.entry.formula,
            "assumptions": judgement.entry.assumptions,
            "verdict": judgement.word,
            "evidence": judgement.evidence.text,
            "size": judgement.evidence.size,
            "errors": judgement.evidence.errors,
            "as printed": judgement.printed and judgement.printed.text,
            "correction": judgement.entry.correction and judgement.entry.correction.text,
            "corrected formula": judgement.entry.correction and judgement.entry.correction.formula,
            "remark": judgement.entry.remark,
            "mutation": judgement.entry.mutation.text,
        }
        for judgement in judgements
    ]
