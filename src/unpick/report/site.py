"""The static site: one page per study and scale, and an index."""

import json
import math
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from unpick.pages.page import Folded, Link, Note, Picture, Section, Table, write_page
from unpick.papers.costs import duration
from unpick.report.drawings import draw_all
from unpick.report.ledger import ledger_table
from unpick.report.ledger_page import NAME as LEDGER_PAGE
from unpick.report.ledger_page import write_ledger
from unpick.report.study import (
    NONE,
    all_tables,
    anchor,
    claim_notes,
    command,
    environment_of,
    missing,
    seconds,
)
from unpick.study import Outcome, Results
from unpick.study.ledger import Judgement
from unpick.training.config import RunConfig, to_json

VERDICTS = ("holds", "fails", "undecided", "not measured")


def write_site(
    all_results: Sequence[Results],
    folder: Path,
    judgements: Sequence[Judgement] = (),
    *,
    title: str = "Studies",
    lead: Sequence[Note] = (),
    pictures: Sequence[Picture] = (),
    made_by: str = "unpick report",
) -> Path:
    """Write the pages and their figures into a folder; returns the path of the index.

    The pages load nothing from elsewhere, so the folder can be moved or published as it is.

    Args:
        all_results: Results of studies, one page each.
        folder: Created if it does not exist.
        judgements: Judgements of the ledger. If there are any, they get a page.
        title: Of the index.
        lead: What the index begins with.
        pictures: On the index; their files may be figures of the studies.
        made_by: The command that writes this site.
    """
    folder.mkdir(parents=True, exist_ok=True)
    claims = [claim_notes(results) for results in all_results]
    for results, notes in zip(all_results, claims, strict=True):
        write_study(results, notes, folder)
    columns = ("", "claims hold", "fail", "undecided", "not measured", "training")
    sources: dict[str, dict[str, list[tuple[str | Link, ...]]]] = {}
    for results, notes in zip(all_results, claims, strict=True):
        study = results.study
        studies = sources.setdefault(study.source.split(",")[0], {})
        head = (f"{study.name}: {study.title}", *[""] * (len(columns) - 1))
        studies.setdefault(study.name, [head]).append(_line(results, notes))
    sections = [
        Section(source, tables=[Table("", columns, tuple(chain(*studies.values())))])
        for source, studies in sources.items()
    ]
    if judgements:
        write_ledger(judgements, folder)
        row = (Link("The ledger", LEDGER_PAGE), ledger_table(judgements).caption)
        sections.append(Section("Theory", tables=[Table("", ("", "verdicts"), (row,))]))
    if lead:
        sections.insert(0, Section("The studies behind it", notes=[Note(SCALES)]))
    first = lead or [Note(SCALES)]
    return write_page(folder, title, first, (), pictures, made_by, sections=sections)


def _line(results: Results, claims: Sequence[Note]) -> tuple[str | Link, ...]:
    """The row of the index for a study at one scale."""
    words = [note.word for note in claims]
    return (
        Link(results.scale, page_name(results)),
        *[str(words.count(word)) for word in VERDICTS],
        duration(seconds(results)) if results.outcomes else "none",
    )


SCALES = (
    "Tables and figures of the papers, made again. Scale: quick takes minutes, standard an hour "
    "or so on two cores, paper has the published settings. A number made at a smaller scale says "
    "so beside it, and what departs from the published setting."
)


def page_name(results: Results) -> str:
    """Name of the file, such as `thesis-3.3-standard.html`."""
    return f"{results.study.name}-{results.scale}.html"


def write_study(results: Results, claims: Sequence[Note], folder: Path) -> Path:
    """Write the page of a study: claims, table, figures, and the runs behind every number."""
    study = results.study
    pictures, problems = draw_all(study.drawings, results, folder, f"{study.name}-{results.scale}")
    lead = [Note(f"{study.source}. Scale: {results.scale}.")]
    lead += [Note(text) for text in study.paragraphs]
    sections = []
    if claims:
        sections.append(Section("Claims", notes=claims))
    if tables := all_tables(results):
        sections.append(Section("Table", tables=tables))
    if pictures or problems:
        sections.append(Section("Figures", notes=problems, pictures=pictures))
    if absent := missing(results):
        sections.append(Section("Missing", notes=[Note(text, mark="note") for text in absent]))
    sections.append(Section("Run it again", code=command(results)))
    if results.outcomes:
        total = sum(len(outcome.runs) for outcome in results.outcomes)
        summary = (
            f"{total} runs, {duration(seconds(results))} of training. Scale: {results.scale}."
        )
        sections.append(Section("Runs", notes=[Note(summary)]))
        sections += [_runs_section(outcome, results) for outcome in results.outcomes]
    return write_page(
        folder,
        study.title,
        lead,
        (),
        (),
        command(results),
        sections=sections,
        name=page_name(results),
        up=Link("All studies", "index.html"),
    )


def _runs_section(outcome: Outcome, results: Results) -> Section:
    """The runs of a cell: readings by seed, configuration and environment."""
    names = tuple(outcome.values)
    rows = tuple(
        (
            str(run.config.seed),
            *[_reading(outcome.values[name][k]) for name in names],
            f"{run.results['seconds']:.0f}",
        )
        for k, run in enumerate(outcome.runs)
    )
    scale = f"Scale {results.scale}: {outcome.departs or 'as published'}."
    where = environment_of(outcome.runs[0].path)
    environment = json.dumps(where, indent=2) if where else "the run's folder does not tell"
    return Section(
        f"{outcome.cell.row}, {outcome.cell.column}",
        anchor(outcome.cell),
        level=3,
        tables=[Table(scale, ("seed", *names, "seconds"), rows)],
        folded=[
            Folded("Run folders", "\n".join(run.path.name for run in outcome.runs)),
            Folded("Configuration", _configuration(outcome.runs[0].config)),
            Folded("Environment of the first run", environment),
        ],
    )


def _reading(value: float) -> str:
    return NONE if math.isnan(value) else f"{value:.4g}"


def _configuration(config: RunConfig) -> str:
    """The configuration as JSON, without the path of the data on this machine."""
    document = to_json(config)
    document["data"].pop("path", None)
    return json.dumps(document, sort_keys=True, indent=2)
