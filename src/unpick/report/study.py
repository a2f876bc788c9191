"""A study's results as a table with the published numbers beside ours, and as verdicts."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from unpick.report.page import Link, Note, Table
from unpick.report.terminal import fits, show
from unpick.runs.disk import environment
from unpick.studies import Cell, Outcome, Results

MARKS = {True: "good", False: "bad", None: "note"}
COLOURS = {"good": "green", "note": "yellow", "bad": "red"}
DIGITS = {"settled": 1, "active": 1, "Delta_KL": 4}  # after the point; 2 for everything else
UNITS = {"settled": " %"}
SOME = 6  # cells that are named one by one if they were not run


def study_table(results: Results, measures: Sequence[str] | None = None) -> Table:
    """A group a row of the study, a line a column; ours, published, and how far apart.

    Our numbers link to `anchor(cell)`. The last column says what scale the line is at; a number
    there points to the footnote that tells what departs from the published setting.

    Args:
        results: At one scale.
        measures: Some of the study's; all of them by default.
    """
    measures = results.study.measures if measures is None else measures
    asked = {m: _columns(results.outcomes, m) for m in measures}
    names = ["", *[name for columns in asked.values() for name in columns], "seeds", "scale"]
    departs = dict.fromkeys(outcome.departs for outcome in results.outcomes if outcome.departs)
    marks = {text: f"({k})" for k, text in enumerate(departs, 1)}
    rows: list[tuple[str | Link, ...]] = []
    for row, group in results.rows().items():
        rows.append((row, *[""] * (len(names) - 1)))
        for column, outcome in group.items():
            cells = [c for m, columns in asked.items() for c in _entries(outcome, m, columns)]
            mark = marks.get(outcome.departs)
            scale = "as published" if mark is None else f"{results.scale} {mark}"
            rows.append((column, *cells, str(len(outcome.runs)), scale))
    caption = f"Scale {results.scale}: mean ± standard deviation over seeds."
    if "chance" in names:
        caption += " chance: DtO of a random rotation."
    if "published" in names:
        caption += f" published: {results.study.source}."
    if "in SE" in names:
        caption += " in SE: ours less published, in standard errors of the difference."
    return Table(caption, tuple(names), tuple(rows), tuple(f"{m} {t}" for t, m in marks.items()))


def value(outcome: Outcome, measure: str) -> str:
    """Mean and deviation over seeds; the value, if there is one seed."""
    digits, deviation = DIGITS.get(measure, 2), outcome.deviation(measure)
    spread = "" if math.isnan(deviation) else f" ± {deviation:.{digits}f}"
    return f"{outcome.mean(measure):.{digits}f}{spread}{UNITS.get(measure, '')}"


def anchor(cell: Cell) -> str:
    """Where a page tells about the runs of a cell; no two cells share it."""
    return f"{quote(cell.row, safe='')}/{quote(cell.column, safe='')}"


def claim_notes(results: Results) -> list[Note]:
    """What the source says, whether it holds here, and the evidence."""
    judged = [(claim, claim.check(results)) for claim in results.study.claims]
    return [Note(v.evidence, c.text, MARKS[v.holds], v.word) for c, v in judged]


def not_run(results: Results) -> str:
    """Names the cells that have no runs; empty if all of them have some."""
    have = {(o.cell.row, o.cell.column) for o in results.outcomes}
    cells = [(c.row, c.column) for c in results.study.cells(results.scale)]
    absent = [f"{row}, {column}" for row, column in cells if (row, column) not in have]
    more = f" and {len(absent) - SOME} more" if len(absent) > SOME else ""
    return f"No runs of {'; '.join(absent[:SOME])}{more}." if absent else ""


def missing(results: Results) -> list[str]:
    """What of the study is not here, and why, a sentence each."""
    return [text for text in (*results.missing, not_run(results)) if text]


def command(results: Results) -> str:
    """What to type to get the same again."""
    told = f"unpick study {results.study.name} --scale {results.scale}"
    counts = {len(outcome.runs) for outcome in results.outcomes}
    # Cells with numbers of seeds of their own have them without being told.
    usual = all(len(outcome.runs) == outcome.cell.seeds for outcome in results.outcomes)
    return told if usual and len(counts) != 1 else f"{told} --seeds {max(counts)}"


def distinct(scales: Sequence[Results]) -> list[Results]:
    """One study's results without the scales that have no runs, or none of their own.

    Cells that are the same at two scales share their runs, so that a study run at one scale has
    some at the other.
    """
    runs = [{run.path for o in results.outcomes for run in o.runs} for results in scales]
    return [
        results
        for k, results in enumerate(scales)
        if runs[k] and not any(runs[k] < other for other in runs) and runs[k] not in runs[:k]
    ]


def seconds(results: Results) -> float:
    """Of training, over all runs."""
    return math.fsum(run.results["seconds"] for o in results.outcomes for run in o.runs)


def duration(seconds: float) -> str:
    """For people.

    Example:
        >>> duration(42.4), duration(600.0), duration(9000.0)
        ('42 s', '10 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def environments(results: Results) -> dict[str, str]:
    """What the runs were made with; this machine, if there are none. Several are listed."""
    folders = [run.path for outcome in results.outcomes for run in outcome.runs]
    found = [environment_of(path) for path in folders] if folders else [environment()]
    names = dict.fromkeys(name for each in found for name in each)
    return {n: ", ".join(sorted({str(each[n]) for each in found if n in each})) for n in names}


def environment_of(folder: Path) -> dict[str, Any]:
    """What one run was made with; nothing if its folder does not tell."""
    file = folder / "environment.json"
    return json.loads(file.read_text()) if file.exists() else {}


def show_results(results: Results, console: Console) -> None:
    """The table, the claims with their verdicts, what is missing, and how to do it again."""
    study = results.study
    console.print(Text(study.title, style="bold"))
    console.print(Text(f"{study.source}. Scale: {results.scale}.\n"))
    for table in _screens(results, console):
        show(table, console)
    if study.claims:
        console.print()
    for note in claim_notes(results):
        word = (note.word, f"bold {COLOURS[note.mark]}")
        console.print(Text.assemble(word, " ", (note.title, "bold")))
        if note.text:
            console.print(Padding(Text(note.text), (0, 0, 0, 2)))
    for sentence in missing(results):
        console.print(Text.assemble(("missing", "bold yellow"), f" {sentence}"))
    console.print(Text.assemble("\nagain: ", (command(results), "bold")), soft_wrap=True)


def _columns(outcomes: Sequence[Outcome], measure: str) -> list[str]:
    """What is shown of a measure: its value, and what there is to compare it with."""
    has = [outcome for outcome in outcomes if measure in outcome.values]
    columns = [measure]
    if measure == "DtO" and any("chance" in outcome.values for outcome in has):
        columns.append("chance")
    if any(measure in outcome.cell.published for outcome in outcomes):
        columns.append("published")
    if any(outcome.differs(measure) is not None for outcome in has):
        columns.append("in SE")
    return columns


def _entries(outcome: Outcome, measure: str, columns: Sequence[str]) -> Iterator[str | Link]:
    has = measure in outcome.values
    for column in columns:
        if column == measure:
            yield Link(value(outcome, measure), f"#{anchor(outcome.cell)}") if has else ""
        elif column == "chance":
            yield f"{outcome.mean('chance'):.2f}" if "chance" in outcome.values else ""
        elif column == "published":
            printed = outcome.cell.published.get(measure)
            yield "" if printed is None else f"{printed}{UNITS.get(measure, '')}"
        else:
            differs = outcome.differs(measure) if has else None
            yield "" if differs is None else f"{differs:+z.1f}"


def _screens(results: Results, console: Console) -> list[Table]:
    """One table if the terminal has room for it, else one a measure; without empty lines."""
    measures = results.study.measures
    whole = _narrow(results, measures)
    if len(measures) > 1 and not fits(whole, console):
        tables = [_narrow(results, [measure]) for measure in measures]
    else:
        tables = [whole]
    return [table for table in tables if table.rows]


def _narrow(results: Results, measures: Sequence[str]) -> Table:
    """The table without the last column, whose footnotes stand behind the names instead.

    Nor with the number of seeds, if it is one for all, nor with lines that have no numbers.
    """
    filled = [o for o in results.outcomes if {*measures} & (o.values.keys() | o.cell.published)]
    results = replace(results, outcomes=tuple(filled))
    table = study_table(results, measures)
    counts = {len(outcome.runs) for outcome in results.outcomes}
    cut = -2 if len(counts) == 1 else -1
    rows = []
    for name, *cells in table.rows:
        _, _, mark = str(cells[-1]).partition(" (")
        rows.append((f"{name} ({mark}" if mark else name, *cells[:cut]))
    caption, footnotes = table.caption, table.footnotes
    if len(counts) == 1:
        seeds = f"{max(counts)} seeds" if max(counts) > 1 else "one seed"
        caption = caption.replace("over seeds", f"over {seeds}", 1)
    if not all(outcome.departs for outcome in results.outcomes):
        footnotes += ("(no number) as published",)
    return replace(
        table, caption=caption, columns=table.columns[:cut], rows=tuple(rows), footnotes=footnotes
    )
