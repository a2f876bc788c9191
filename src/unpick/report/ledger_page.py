"""The ledger as a page of the site, and as Markdown."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from unpick.pages.page import Link, Note, Section, write_page
from unpick.papers.ledger import DRAWINGS
from unpick.report.drawings import draw_all
from unpick.report.ledger import (
    by_paper,
    entry_notes,
    entry_sections,
    ledger_document,
    ledger_table,
)
from unpick.runs.disk import write
from unpick.study.ledger import Judgement

NAME = "ledger.html"
TITLE = "The ledger: what the papers claim, checked"
LEAD = (
    "Every numbered theorem (T), corollary (C), proposition (P), lemma (L), remark (R) and "
    "example (X) of the papers, and the equations (E) and sections (S) that later claims rest on, "
    "each in our words with a check that could fail. The checks compare a claim with something "
    "that does not use its formula: a search, drawn noise, quadrature, derivatives. Universal "
    "claims are tried on drawn instances, nearly degenerate ones among them: columns of lengths "
    "0.001 to 1000 or almost parallel, singular values that are equal, almost equal or far "
    "apart. A wrong version of every claim must fail the same check.",
    "Holds: as printed, under the stated assumptions. Holds after correction: a formula was put "
    "right and the claim stands. Approximate: to a leading order, with the measured error. Does "
    "not follow as printed: there is a counterexample; less holds, or more must be assumed. Slips "
    "in a proof of something true are told in a remark.",
    "What passes is computed; what counts as the printed reading, and as one that the author can "
    "have meant, is our judgement. Formulas were read in text extracted from the published PDFs, "
    "so that a single sign, index, exponent or bracket may be a slip of that text.",
)
COMMAND = "unpick theory"


def write_ledger(judgements: Sequence[Judgement], folder: Path) -> Path:
    """Write the page of the ledger and its pictures; it loads nothing from elsewhere."""
    pictures, problems = draw_all(DRAWINGS, judgements, folder, "ledger")
    sections = [Section("Pictures", notes=problems, pictures=pictures)]
    for paper, some in by_paper(judgements).items():
        sections += [Section(paper), *entry_sections(some)]
    return write_page(
        folder,
        TITLE,
        [Note(text) for text in LEAD],
        [ledger_table(judgements)],
        (),
        COMMAND,
        sections=sections,
        name=NAME,
        up=Link("All studies", "index.html"),
    )


def write_ledger_markdown(judgements: Sequence[Judgement], folder: Path) -> Path:
    """Write ledger.md, ledger.json and the pictures; formulas stay in LaTeX."""
    pictures, _ = draw_all(DRAWINGS, judgements, folder, "ledger", pdf=False)
    table = ledger_table(judgements)
    parts = [f"# {TITLE}", *LEAD, f"    {COMMAND}", f"{table.caption}.", _overview(judgements)]
    for picture in pictures:
        parts += [f"![{picture.title}]({picture.file})", _github_math(picture.caption)]
    for judgement in judgements:
        parts.append(f"## {judgement.entry.id}: {judgement.entry.title}")
        parts += [_paragraph(note) for note in entry_notes(judgement)]
    page = folder / "ledger.md"
    write(page, ("\n\n".join(parts) + "\n").encode())
    document = json.dumps(ledger_document(judgements), indent=1, ensure_ascii=False)
    write(folder / "ledger.json", (document + "\n").encode())
    return page


def _overview(judgements: Sequence[Judgement]) -> str:
    lines = ["| claim | what it says | verdict |", "|---|---|---|"]
    for claim, title, verdict in ledger_table(judgements).rows:
        name = f"[{claim}](#{_heading_anchor(f'{claim}: {title}')})" if title else f"**{claim}**"
        lines.append(f"| {name} | {title} | {verdict} |")
    return "\n".join(lines)


def _heading_anchor(text: str) -> str:
    """The anchor that GitHub gives to a heading."""
    kept = "".join(letter for letter in text.lower() if letter.isalnum() or letter in " -_")
    return kept.replace(" ", "-")


def _paragraph(note: Note) -> str:
    word = f"**{note.word}**: " if note.word else ""
    title = f"{note.title} " if note.word else f"**{note.title}**: "
    return _github_math(f"{word}{title if note.title else ''}{note.text}")


def _github_math(text: str) -> str:
    """Write formulas in GitHub's syntax that protects backslashes and bars."""
    text = re.sub(r"\s*\$\$(.+?)\$\$\s*", r"\n\n```math\n\1\n```\n\n", text)
    return re.sub(r"\$([^$\n]+?)\$", r"$`\1`$", text).strip()
