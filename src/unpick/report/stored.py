"""Read a study's results back from its page, and judge its claims again."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from unpick.pages.page import Note
from unpick.report.markdown import cell_to_json, claims_to_json, document_to_text, opening
from unpick.runs.disk import Run, write
from unpick.study import Cell, Claim, Outcome, Results, Study, Verdict
from unpick.study.running import compute

REST = re.compile(r"^## (Figures|Missing|Where this comes from)$", re.MULTILINE)


def read_page(study: Study, folder: Path) -> Results:
    """The numbers of NAME.json, by the cells that the study has today; nothing is judged yet."""
    document = json.loads((folder / f"{study.name}.json").read_text())
    cells = {(cell.row, cell.column): cell for cell in study.cells(document["scale"])}
    outcomes = []
    for stored in document["cells"]:
        cell = cells[stored["row"], stored["column"]]
        runs = tuple(
            Run(
                Path(run["folder"]),
                replace(cell.config, seed=run["seed"]),
                {"seconds": run["seconds"]},
            )
            for run in stored["runs"]
        )
        names = dict.fromkeys(name for run in stored["runs"] for name in run["values"])
        values = {
            name: np.array([run["values"].get(name) for run in stored["runs"]], dtype=float)
            for name in names
        }
        departs = departures_of(study, cell, runs, stored["departs"])
        outcomes.append(Outcome(cell, runs, values, departs))
    results = Results(study, document["scale"], tuple(outcomes), tuple(document["missing"]))
    try:
        return study.together(results)
    except (KeyError, OSError):  # it needs more than the numbers of a page, which has its values
        return results


def departures_of(study: Study, cell: Cell, runs: tuple[Run, ...], stored: str) -> str:
    """With today's note, if the runs depart from the paper as they did when they were stored."""
    same = all(run.path.name.endswith(run.config.identity()) for run in runs)
    told = study.departures(replace(cell, note=""))
    return study.departures(cell) if same or (told and stored.startswith(told)) else stored


def judge_page(study: Study, folder: Path, root: Path) -> None:
    """Write NAME.md and NAME.json anew by today's code, from the numbers stored there.

    A claim about something else, such as weights, keeps its verdict. Figures stay as they are.

    Args:
        study: Which.
        folder: Where its page is.
        root: The folder of runs, where what needs no runs is kept.
    """
    page, data = folder / f"{study.name}.md", folder / f"{study.name}.json"
    document = json.loads(data.read_text())
    before = {old["claim"]: old for old in document["claims"]}
    results = read_page(study, folder)
    computed = document.get("computed")
    if computed is None:
        computed = compute(study, results.scale, root)
    results = replace(results, computed=computed)
    claims = []
    for claim in study.claims:
        verdict, old = judge_stored(claim, results), before.get(claim.text)
        if verdict.word == "not measured" and old:
            claims.append(Note(old["evidence"], claim.text, "", old["verdict"]))
        else:
            claims.append(Note(verdict.evidence, claim.text, "", verdict.word))
    text = page.read_text()
    rest = REST.search(text)
    if rest is None:
        raise ValueError(f"{page} has no section on where it comes from; write it from its runs")
    write(page, f"{opening(results, claims)}\n\n{text[rest.start() :]}".encode())
    cells = [cell_to_json(outcome) for outcome in results.outcomes]
    document |= {"source": study.source, "claims": claims_to_json(claims), "cells": cells}
    write(data, document_to_text(document).encode())


def judge_stored(claim: Claim, results: Results) -> Verdict:
    """The verdict on a claim; not measured if it needs more than the numbers of a page."""
    try:
        return claim.check(results)
    except (KeyError, OSError):  # a later measure; a file of a run
        return Verdict(None, "")
