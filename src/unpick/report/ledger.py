"""The ledger of claims as a table, as sections of a page, on the terminal and as JSON."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from unpick.pages.formula import text_to_unicode
from unpick.pages.page import Link, Mark, Marked, Note, Section, Table
from unpick.pages.terminal import COLOURS, print_table
from unpick.papers.ledger import PAPERS
from unpick.study.ledger import Evidence, Judgement, Word

MARKS: dict[Word, Mark] = {
    "holds": "good",
    "holds after correction": "note",
    "approximate": "good",
    "does not follow as printed": "bad",
    "not confirmed": "bad",
}

PLURALS: dict[Word, str] = {
    "holds": "hold",
    "holds after correction": "hold after correction",
    "approximate": "hold approximately",
    "does not follow as printed": "do not follow as printed",
    "not confirmed": "not confirmed",
}


def ledger_table(judgements: Sequence[Judgement]) -> Table:
    """One group per paper, one line per claim; the id links to the section of its entry."""
    rows: list[tuple[str | Link | Marked, ...]] = []
    for paper, some in by_paper(judgements).items():
        rows += [(paper, "", ""), *map(_line, some)]
    return Table(
        _summary(judgements), ("claim", "what it says", "verdict"), tuple(rows), words=True
    )


def by_paper(judgements: Iterable[Judgement]) -> dict[str, list[Judgement]]:
    """Group judgements by the name of their paper, in order."""
    papers: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        papers.setdefault(PAPERS[judgement.entry.id[0]], []).append(judgement)
    return papers


def _line(judgement: Judgement) -> tuple[str | Link | Marked, ...]:
    entry, word = judgement.entry, judgement.word
    size = f": {judgement.evidence.size}" if judgement.evidence.size else ""
    also = "; read charitably, holds" if judgement.charitable else ""
    return Link(entry.id, f"#{entry.id}"), entry.title, Marked(f"{word}{size}{also}", MARKS[word])


def _summary(judgements: Sequence[Judgement]) -> str:
    """A sentence with the number of each verdict."""
    counts = Counter(judgement.word for judgement in judgements)
    verdicts = ", ".join(f"{counts[word]} {PLURALS[word]}" for word in PLURALS if counts[word])
    both = sum(bool(judgement.charitable) for judgement in judgements)
    some = "all" if both == counts["does not follow as printed"] else both
    also = f"; {some} of these hold if read charitably" if both else ""
    return f"{len(judgements)} claims: {verdicts}{also}"


def entry_notes(judgement: Judgement) -> list[Note]:
    """Notes on a claim: statement, assumptions, verdict, evidence and correction."""
    entry, correction = judgement.entry, judgement.entry.correction
    notes = [
        Note(f"{entry.source}.", mark=MARKS[judgement.word], word=judgement.word),
        Note(f"{entry.statement} $${entry.formula}$$"),
        Note(entry.assumptions, "Assumptions"),
    ]
    if correction is None or judgement.printed is None:
        notes.append(_evidence_note(judgement.evidence, "As printed"))
    else:
        notes.append(_evidence_note(judgement.printed, "As printed"))
        formula = f" $${correction.formula}$$" if correction.formula else ""
        notes.append(Note(f"{correction.text}{formula}", "Instead"))
        notes.append(_evidence_note(judgement.evidence, "Corrected"))
    if judgement.charitable:
        notes.append(Note(judgement.charitable, "Read charitably", "good", "holds"))
    if entry.remark:
        notes.append(Note(entry.remark))
    outcome = "lets pass" if judgement.mutation.holds else "rejects"
    return [*notes, Note(f"The check {outcome} a wrong version: {entry.mutation.text}.")]


def _evidence_note(evidence: Evidence, reading: str) -> Note:
    size = f" ({evidence.size})" if evidence.size else ""
    text = f"{evidence.text}{size}"
    if evidence.holds:
        return Note(text, reading, "good", "passes")
    return Note(text, reading, "bad", "fails")


def entry_sections(judgements: Iterable[Judgement]) -> list[Section]:
    """Sections of the page, one per claim."""
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
    """Print the table, coloured by verdict."""
    print_table(ledger_table(judgements), console)
    console.print(Text("`unpick theory show ID` tells more about a claim.", style="dim"))


def show_entry(judgement: Judgement, console: Console) -> None:
    """Print one entry, with formulas in Unicode."""
    console.print(Text(f"{judgement.entry.id}: {judgement.entry.title}", style="bold"))
    for note in entry_notes(judgement):
        line = Text()
        if note.word:
            line.append(f"{note.word}  ", style=f"bold {COLOURS[note.mark]}")
        if note.title:
            line.append(f"{note.title}: ", style="bold")
        line.append(text_to_unicode(note.text))
        console.print(Padding(line, (1, 0, 0, 2)))
    console.print()


def ledger_document(judgements: Iterable[Judgement]) -> list[dict[str, Any]]:
    """The ledger as JSON values."""
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
            "read charitably": judgement.charitable,
            "corrected formula": judgement.entry.correction and judgement.entry.correction.formula,
            "remark": judgement.entry.remark,
            "mutation": judgement.entry.mutation.text,
        }
        for judgement in judgements
    ]
