"""Write a study's results for a repository: Markdown, figures, and all readings as JSON."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unpick.pages.markdown import plain, to_markdown
from unpick.pages.page import Note
from unpick.papers.costs import duration
from unpick.report.drawings import draw_all
from unpick.report.study import (
    all_tables,
    claim_notes,
    command,
    environments,
    missing,
    seconds,
)
from unpick.runs.disk import write
from unpick.study import Outcome, Results


def write_markdown(results: Results, folder: Path) -> Path:
    """Write NAME.md, NAME.json and `figures/` into a folder; returns the path of NAME.md.

    The same results give the same bytes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    study, claims = results.study, claim_notes(results)
    pictures, problems = draw_all(study.drawings, results, folder, study.name, pdf=False)
    parts = [opening(results, claims)]
    if pictures or problems:
        parts += ["## Figures", *[_item(note) for note in problems]]
    for picture in pictures:
        parts += [f"![{plain(picture.title)}]({picture.file})", plain(picture.caption)]
    if absent := _missing(results):
        parts += ["## Missing", "\n".join(f"- {plain(text)}" for text in absent)]
    parts += ["## Where this comes from", f"    {command(results)}", _provenance(results)]
    page = folder / f"{study.name}.md"
    write(page, ("\n\n".join(parts) + "\n").encode())
    document = document_to_text(_document(results, claims))
    write(folder / f"{study.name}.json", document.encode())
    return page


def opening(results: Results, claims: Sequence[Note]) -> str:
    """A page down to its table: what needs the numbers of runs, but not the runs."""
    study = results.study
    parts = [f"# {plain(study.title)}", f"{plain(study.source)}. Scale: {results.scale}."]
    parts += [plain(text) for text in study.paragraphs]
    if claims:
        parts += ["## Claims", "\n".join(_item(note) for note in claims)]
    if tables := all_tables(results):
        parts += ["## Table", *[to_markdown(table).rstrip() for table in tables]]
    return "\n\n".join(parts)


def claims_to_json(claims: Sequence[Note]) -> list[dict[str, str]]:
    """The same as JSON."""
    return [{"claim": n.title, "verdict": n.word, "evidence": n.text} for n in claims]


def document_to_text(document: dict[str, Any]) -> str:
    """The content of NAME.json."""
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def runs_of_page(folder: Path, study: str) -> int:
    """Number of runs behind the study's page in a folder; 0 if there is no page."""
    try:
        document = json.loads((folder / f"{study}.json").read_text())
        return sum(len(cell["runs"]) for cell in document["cells"])
    except (OSError, ValueError, TypeError, KeyError):  # then nothing would be lost
        return 0


def _item(note: Note) -> str:
    word = f"**{note.word}**: " if note.word else ""
    return f"- {word}{plain(note.title)}" + (f"\\\n  {plain(note.text)}" if note.text else "")


def _missing(results: Results) -> list[str]:
    """Sentences on what is missing, without those that name a path on this machine."""
    return [
        text
        for text in missing(results)
        if not any(Path(word).is_absolute() for word in text.split())
    ]


def _provenance(results: Results) -> str:
    made = environments(results)
    lines = [
        f"{name} {made[name]}" for name in ("unpick", "torch", "environment.json") if name in made
    ]
    lines += [f"cores: {made['cores']}"] if "cores" in made else []
    if results.outcomes:
        seeds = sorted({len(outcome.runs) for outcome in results.outcomes})
        lines.append(f"seeds: {' or '.join(map(str, seeds))}")
        lines.append(f"training: {duration(seconds(results))} in total")
    lines.append(
        f"every reading of every run: [{results.study.name}.json]({results.study.name}.json)"
    )
    return "\n".join(f"- {line}" for line in lines)


def _document(results: Results, claims: Sequence[Note]) -> dict[str, Any]:
    """All results as JSON: every number with the run that it comes from."""
    stored = {"computed": results.computed} if results.study.stores_computed else {}
    return {
        "study": results.study.name,
        "source": results.study.source,
        "scale": results.scale,
        "command": command(results),
        "made with": environments(results),
        "claims": claims_to_json(claims),
        "missing": _missing(results),
        "cells": [cell_to_json(outcome) for outcome in results.outcomes],
        **stored,
    }


def cell_to_json(outcome: Outcome) -> dict[str, Any]:
    """Every number of a cell with the run that it comes from."""
    return {
        "row": outcome.cell.row,
        "column": outcome.cell.column,
        "departs": outcome.departs,
        "published": {m: str(printed) for m, printed in outcome.cell.published.items()},
        "runs": [
            {
                "seed": run.config.seed,
                "folder": run.path.name,
                "seconds": run.results["seconds"],
                "values": {m: _number(v[k]) for m, v in outcome.values.items()},
            }
            for k, run in enumerate(outcome.runs)
        ],
    }


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
