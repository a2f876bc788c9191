"""Read a study's results back from its page, and judge its claims again."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from unpick.pages.page import Note
from unpick.report.markdown import (
    claims_section,
    claims_to_json,
    document_to_text,
    lead_section,
)
from unpick.runs.disk import Run, write
from unpick.study import Claim, Outcome, Results, Study, Verdict
from unpick.study.running import compute


def read_page(study: Study, folder: Path) -> Results:
    """The numbers of NAME.json, by the cells that the study has today; nothing is judged yet."""
    document = json.loads((folder / f"{study.name}.json").read_text())
    cells = {(cell.row, cell.column): cell for cell in study.cells(document["scale"])}
    outcomes = []
    for stored in document["cells"]:
        cell = cells[stored["row"], stored["column"]]
        runs = tuple(
            Run(Path(run["folder"]), cell.with_seed(run["seed"]), {"seconds": run["seconds"]})
            for run in stored["runs"]
        )
        names = dict.fromkeys(name for run in stored["runs"] for name in run["values"])
        values = {
            name: np.array([run["values"].get(name) for run in stored["runs"]], dtype=float)
            for name in names
        }
        outcomes.append(Outcome(cell, runs, values, stored["departs"]))
    return Results(study, document["scale"], tuple(outcomes), tuple(document["missing"]))


def judge_page(study: Study, folder: Path, root: Path) -> None:
    """Judge the claims of NAME.md and NAME.json by today's code, from the numbers stored there.

    A claim about something else, such as weights, keeps its verdict. The text at the beginning of
    the page is written anew, too.

    Args:
        study: Which.
        folder: Where its page is.
        root: The folder of runs, where what needs no runs is kept.
    """
    page, data = folder / f"{study.name}.md", folder / f"{study.name}.json"
    document = json.loads(data.read_text())
    before = {old["claim"]: old for old in document["claims"]}
    results = read_page(study, folder)
    results = replace(results, computed=compute(study, results.scale, root))
    claims = []
    for claim in study.claims:
        verdict, old = judge_stored(claim, results), before.get(claim.text)
        if verdict.word == "not measured" and old:
            claims.append(Note(old["evidence"], claim.text, "", old["verdict"]))
        else:
            claims.append(Note(verdict.evidence, claim.text, "", verdict.word))
    _, *sections = re.split(r"^(?=## )", page.read_text(), flags=re.MULTILINE)
    if claims:
        sections[0] = claims_section(claims) + "\n\n"
    write(page, "".join([lead_section(results) + "\n\n", *sections]).encode())
    write(data, document_to_text(document | {"claims": claims_to_json(claims)}).encode())


def judge_stored(claim: Claim, results: Results) -> Verdict:
    """The verdict on a claim; not measured if it needs more than the numbers of a page."""
    try:
        return claim.check(results)
    except (KeyError, OSError):  # a later measure; a file of a run
        return Verdict(None, "")
