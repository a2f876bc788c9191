"""A study's results as a table with the published numbers beside ours, and as verdicts."""

import json
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from unpick.metrics.importance import LEARNERS
from unpick.pages.page import Link, Mark, Note, Table
from unpick.pages.terminal import COLOURS, fits, show
from unpick.runs.disk import environment
from unpick.study import Cell, Outcome, Results

MARKS: dict[bool | None, Mark] = {True: "good", False: "bad", None: "note"}
# After the point; 2 for everything else. What stands behind a comma is of the same kind.
DIGITS = {"settled": 1, "active": 1, "Delta_KL": 4, "OD-Score": 3}
DIGITS |= dict.fromkeys(("linear", "nonlinear", "Jacobian"), 4)  # errors of local decoders
DIGITS |= {"released linear": 4, "released nonlinear": 4, "released Jacobian": 1}
UNITS = {"settled": " %"}
FOOTNOTES = {"DCI": f"DCI: disentanglement; learner: {LEARNERS['fast']}"}
NONE = "\N{EN DASH}"  # where a run has no value
SOME = 6  # cells that are named one by one if they were not run
MOST_MARKS = 3  # of a line; where one has more, marks that a group shares stand at its head


def study_table(results: Results, measures: Sequence[str] | None = None) -> Table:
    """A group a row of the study, a line a column; ours, published, and how far apart.

    Our numbers link to `anchor(cell)`. A mark behind a name, of a line or of its group, points to
    the footnote that tells what departs from the published setting. A line that would have no
    numbers is left out.

    Args:
        results: At one scale.
        measures: Some of the study's; all of them by default.
    """
    measures = results.study.measures if measures is None else measures
    shown = [o for o in results.outcomes if {*measures} & (o.values.keys() | o.cell.published)]
    asked = {m: _columns(shown, m) for m in measures}
    counts = {len(outcome.runs) for outcome in shown}
    names = ["", *[name for columns in asked.values() for name in columns]]
    names += ["seeds"] if len(counts) > 1 else []
    departs = dict.fromkeys(text for o in results.outcomes for text in _parts(o))
    marks = {text: str(k) for k, text in enumerate(departs, 1)}
    crowded = any(len(_parts(outcome)) > MOST_MARKS for outcome in shown)

    def marked(name: str, texts: Collection[str]) -> str:
        return f"{name} ({', '.join(marks[text] for text in texts)})" if texts else name

    rows: list[tuple[str | Link, ...]] = []
    for row, group in replace(results, outcomes=tuple(shown)).rows().items():
        parts = [_parts(outcome) for outcome in group.values()]
        shared = [text for text in marks if crowded and all(text in each for each in parts)]
        rows.append((marked(row, shared), *[""] * (len(names) - 1)))
        for (column, outcome), own in zip(group.items(), parts, strict=True):
            name = marked(column, [text for text in own if text not in shared])
            cells = [c for m, columns in asked.items() for c in _entries(outcome, m, columns)]
            seeds = [str(len(outcome.runs))] if len(counts) > 1 else []
            rows.append((name, *cells, *seeds))
    footnotes = [f"({mark}) {text}" for text, mark in marks.items()]
    if not all(outcome.departs for outcome in results.outcomes):
        footnotes.append("without a mark: as published")
    footnotes += [text for measure, text in FOOTNOTES.items() if measure in measures]
    caption = _caption(results, counts, names)
    return Table(caption, tuple(names), tuple(rows), tuple(footnotes))


def _parts(outcome: Outcome) -> list[str]:
    """What departs from the published setting, and what is open there, each by itself."""
    return outcome.departs.split("; ") if outcome.departs else []


def value(outcome: Outcome, measure: str) -> str:
    """Mean and deviation over the seeds that have a value, and how many if not all do."""
    if not (count := outcome.count(measure)):
        return NONE
    digits, deviation = DIGITS.get(measure.split(",")[0], 2), outcome.deviation(measure)
    spread = "" if math.isnan(deviation) else f" ± {deviation:.{digits}f}"
    some = "" if count == len(outcome.runs) else f" ({count} of {len(outcome.runs)} seeds)"
    return f"{outcome.mean(measure):.{digits}f}{spread}{UNITS.get(measure, '')}{some}"


def anchor(cell: Cell) -> str:
    """Where a page tells about the runs of a cell; no two cells share it."""
    return f"{quote(cell.row, safe='')}/{quote(cell.column, safe='')}"


def claim_notes(results: Results) -> list[Note]:
    """The claims, whether they hold here, and the evidence."""
    judged = list(zip(results.study.claims, results.verdicts, strict=True))
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
    """What to type to get the same again; seeds are told if they are not the usual ones."""
    told = f"unpick study {results.study.name} --scale {results.scale}"
    counts = {len(outcome.runs) for outcome in results.outcomes}
    usual = all(len(outcome.runs) == outcome.cell.seeds for outcome in results.outcomes)
    return told if usual or len(counts) > 1 else f"{told} --seeds {max(counts)}"


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


def environments(results: Results) -> dict[str, str]:
    """What the runs were made with; this machine, if there are none. Several are listed."""
    folders = [run.path for outcome in results.outcomes for run in outcome.runs]
    found = [environment_of(path) for path in folders] if folders else [environment()]
    names = dict.fromkeys(name for each in found for name in each)
    return {n: ", ".join(sorted({str(each[n]) for each in found if n in each})) for n in names}


def environment_of(folder: Path) -> dict[str, Any]:
    """What one run was made with; nothing if its folder does not tell."""
    file = folder / "environment.json"
    try:
        return dict(json.loads(file.read_text())) if file.exists() else {}
    except (OSError, ValueError, TypeError):  # no number hangs on it
        return {file.name: "cannot be read"}


def show_results(results: Results, console: Console) -> None:
    """The table, the claims with their verdicts, what is missing, and how to do it again."""
    study = results.study
    console.print(Text(study.title, style="bold"))
    console.print(Text(f"{study.source}. Scale: {results.scale}.\n"))
    tables = fitting(results, console)
    for table in tables:  # marks mean the same in all of them; below the last they are explained
        show(table if table is tables[-1] else replace(table, footnotes=()), console)
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


def fitting(results: Results, console: Console) -> list[Table]:
    """As few tables as the console has room for; columns of one measure stay together."""
    groups: list[list[str]] = []
    for measure in results.study.measures:
        alone = study_table(results, [measure])
        if groups and alone.rows and fits(study_table(results, [*groups[-1], measure]), console):
            groups[-1].append(measure)
        elif alone.rows:
            groups.append([measure])
    return [study_table(results, group) for group in groups]


def _caption(results: Results, counts: Collection[int], columns: Collection[str]) -> str:
    seeds = f"{max(counts)} seeds" if len(counts) == 1 else "seeds"
    mean = "one seed" if {*counts} == {1} else f"mean ± standard deviation over {seeds}"
    caption = f"Scale {results.scale}: {mean}."
    if "chance" in columns:
        caption += " chance: DtO of a random rotation."
    if "published" in columns:
        caption += f" published: {results.study.source}."
    if "in SE" in columns:
        caption += " in SE: ours less published, in standard errors of the difference."
    return caption


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
            yield value(outcome, "chance").split(" ±")[0] if "chance" in outcome.values else ""
        elif column == "published":
            printed = outcome.cell.published.get(measure)
            yield "" if printed is None else f"{printed}{UNITS.get(measure, '')}"
        else:
            differs = outcome.differs(measure) if has else None
            yield "" if differs is None else f"{differs:+z.1f}"
