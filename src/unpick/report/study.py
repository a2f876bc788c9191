"""Tables of a study's results beside the published numbers, and verdicts on its claims."""

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from unpick.metrics.importance import LEARNERS
from unpick.pages.page import Link, Mark, Note, Table
from unpick.pages.terminal import COLOURS, fits_width, print_table
from unpick.runs.disk import environment
from unpick.study import Cell, Outcome, Results, Scale

MARKS: dict[bool | None, Mark] = {True: "good", False: "bad", None: "note"}
# Decimals of a measure, 2 by default. Only the part of its name before a comma counts.
DIGITS = {"settled": 1, "settling step": 0, "active": 1, "angle": 1, "Delta_KL": 4, "OD-Score": 3}
DIGITS |= dict.fromkeys(("linear", "nonlinear", "Jacobian"), 4)  # errors of local decoders
DIGITS |= {"released linear": 4, "released nonlinear": 4, "released Jacobian": 1}
UNITS = {"settled": " %"}
FOOTNOTES = {"DCI": f"DCI: disentanglement; learner: {LEARNERS['fast']}"}
NONE = "\N{EN DASH}"  # shown where there is no value
MOST_NAMED = 6  # cells without runs that are named; the others are counted
MOST_MARKS = 3  # marks per line; if a line has more, those shared by a group move to its head


def study_table(results: Results, measures: Sequence[str] | None = None) -> Table:
    """Our numbers, the published ones, and the difference in standard errors.

    The table has a group for each row of the study, and in it a line for each column. Our numbers
    link to `anchor(cell)`. A mark after the name of a line or group refers to a footnote, which
    says what departs from the published setting. A line without numbers is left out.

    Args:
        results: Results at one scale.
        measures: Measures to show; all of the study's by default.
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


def all_tables(results: Results) -> list[Table]:
    """The table of the cells, if some were run, and those of what is computed."""
    cells = [study_table(results)] if results.outcomes and results.study.measures else []
    return [*cells, *results.study.tables(results)]


def _parts(outcome: Outcome) -> list[str]:
    """Departures from the published setting, and what it leaves open, one string each."""
    return outcome.departs.split("; ") if outcome.departs else []


def value(outcome: Outcome, measure: str) -> str:
    """Mean and standard deviation over the seeds with a value; their number if some have none."""
    if not (count := outcome.count(measure)):
        return NONE
    digits, deviation = DIGITS.get(measure.split(",")[0], 2), outcome.deviation(measure)
    spread = "" if math.isnan(deviation) else f" ± {deviation:.{digits}f}"
    some = "" if count == len(outcome.runs) else f" ({count} of {len(outcome.runs)} seeds)"
    return f"{outcome.mean(measure):.{digits}f}{spread}{unit(measure)}{some}"


def unit(measure: str) -> str:
    """Of a measure, as it follows a number."""
    return UNITS.get(measure.split(",")[0], "")


def anchor(cell: Cell) -> str:
    """Anchor of the section on a cell's runs; unique for each cell."""
    return f"{quote(cell.row, safe='')}/{quote(cell.column, safe='')}"


def claim_notes(results: Results) -> list[Note]:
    """One note per claim: its verdict and the evidence."""
    judged = list(zip(results.study.claims, results.verdicts, strict=True))
    return [Note(v.evidence, c.text, MARKS[v.holds], v.word) for c, v in judged]


def not_run(results: Results) -> str:
    """A sentence that names the cells without runs; empty if there are none."""
    have = {(o.cell.row, o.cell.column) for o in results.outcomes}
    cells = [(c.row, c.column) for c in results.study.cells(results.scale)]
    absent = [f"{row}, {column}" for row, column in cells if (row, column) not in have]
    more = f" and {len(absent) - MOST_NAMED} more" if len(absent) > MOST_NAMED else ""
    return f"No runs of {'; '.join(absent[:MOST_NAMED])}{more}." if absent else ""


def missing(results: Results) -> list[str]:
    """Sentences on what is missing from the results, and why."""
    return [text for text in (*results.missing, not_run(results)) if text]


def command(results: Results) -> str:
    """The command that gives these results; it names the seeds if they are not the default."""
    text = f"unpick study {results.study.name} --scale {results.scale}"
    counts = {len(outcome.runs) for outcome in results.outcomes}
    usual = all(len(outcome.runs) == outcome.cell.seeds for outcome in results.outcomes)
    return text if usual or len(counts) > 1 else f"{text} --seeds {max(counts)}"


def distinct(scales: Sequence[Results]) -> list[Results]:
    """Drop the scales of a study that have no runs, or only runs of another scale.

    Cells with the same configuration at two scales share their runs, so a study that was run at
    one scale has some runs at the other.
    """
    runs = [{run.path for o in results.outcomes for run in o.runs} for results in scales]
    return [
        results
        for k, results in enumerate(scales)
        if runs[k] and not any(runs[k] < other for other in runs) and runs[k] not in runs[:k]
    ]


def own_studies(
    cells: Mapping[tuple[str, Scale], Sequence[Collection[Path]]],
) -> list[tuple[str, Scale]]:
    """The studies, with their scales, that were run for themselves.

    Studies share runs: running one leaves some cells of others on disk. A study is left out if
    all its runs are those of another study that has runs in a larger share of its cells.

    Args:
        cells: The run folders in each cell of a study at a scale.
    """
    runs = {key: {path for cell in each for path in cell} for key, each in cells.items()}
    share = {key: sum(map(bool, each)) / len(each) for key, each in cells.items()}
    return [
        key
        for key in cells
        if not any(
            key[0] != other[0] and runs[key] <= runs[other] and share[key] < share[other]
            for other in cells
        )
    ]


def seconds(results: Results) -> float:
    """Seconds of training, summed over all runs."""
    return math.fsum(run.results["seconds"] for o in results.outcomes for run in o.runs)


def environments(results: Results) -> dict[str, str]:
    """Software and hardware of the runs, all values listed; of this machine if there are none."""
    folders = [run.path for outcome in results.outcomes for run in outcome.runs]
    found = [environment_of(path) for path in folders] if folders else [environment()]
    names = dict.fromkeys(name for each in found for name in each)
    return {n: ", ".join(sorted({str(each[n]) for each in found if n in each})) for n in names}


def environment_of(folder: Path) -> dict[str, Any]:
    """Software and hardware of one run; empty if its folder does not say."""
    file = folder / "environment.json"
    try:
        return dict(json.loads(file.read_text())) if file.exists() else {}
    except (OSError, ValueError, TypeError):  # no number depends on it
        return {file.name: "cannot be read"}


def show_results(results: Results, console: Console) -> None:
    """Print the tables, the verdicts, what is missing, and the command that repeats it."""
    study = results.study
    console.print(Text(study.title, style="bold"))
    console.print(Text(f"{study.source}. Scale: {results.scale}.\n"))
    tables = tables_that_fit(results, console)
    for table in tables:  # all share the footnotes, which are printed once, below the last table
        print_table(table if table is tables[-1] else replace(table, footnotes=()), console)
    for table in study.tables(results):
        print_table(table, console)
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


def tables_that_fit(results: Results, console: Console) -> list[Table]:
    """As few tables as fit the width of the console; the columns of a measure stay together."""
    groups: list[list[str]] = []
    for measure in results.study.measures:
        alone = study_table(results, [measure])
        if (
            groups
            and alone.rows
            and fits_width(study_table(results, [*groups[-1], measure]), console)
        ):
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
    """Columns of a measure: its value, and those it is compared with."""
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
            yield "" if printed is None else f"{printed}{unit(measure)}"
        else:
            differs = outcome.differs(measure) if has else None
            yield "" if differs is None else f"{differs:+z.1f}"
