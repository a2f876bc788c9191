"""Results as records and as a pandas frame."""

import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unpick.runs import Run
from unpick.study import Cell, Outcome, Printed, Results, Study
from unpick.training import preset

BASE = preset("synth-lin")
STUDY = Study("toy", "A toy", "Nobody (1900), table 1", "")


@pytest.fixture
def results():
    """Two cells, the first with two seeds, a published DtO, and a DS of one seed only."""
    configs = [replace(BASE, seed=s) for s in range(3)]
    runs = [Run(Path("runs") / f"run-{c.seed}", c, {}) for c in configs]
    first = Cell("square", "VAE", BASE, published={"DtO": Printed(0.77, 0.11)})
    values = {"DtO": np.array([0.1, 0.2]), "DS": np.array([0.9, math.nan])}
    second = Cell("square", "AE", BASE, published={"DtO": Printed(0.5)}, first=2)
    return Results(
        STUDY,
        "quick",
        (
            Outcome(first, tuple(runs[:2]), values, "steps 5 instead of 9"),
            Outcome(second, (runs[2],), {"DtO": np.array([0.3])}),
        ),
    )


def test_there_is_one_record_a_run_and_measure(results):
    records = results.records()
    assert records[0] == {
        "study": "toy",
        "scale": "quick",
        "row": "square",
        "column": "VAE",
        "seed": 0,
        "run": "run-0",
        "measure": "DtO",
        "value": 0.1,
        "published_mean": 0.77,
        "published_std": 0.11,
        "departures": "steps 5 instead of 9",
    }
    short = [tuple(r[k] for k in ("column", "seed", "measure", "value")) for r in records]
    assert short == [
        ("VAE", 0, "DtO", 0.1),
        ("VAE", 0, "DS", 0.9),
        ("VAE", 1, "DtO", 0.2),
        ("VAE", 1, "DS", None),
        ("AE", 2, "DtO", 0.3),
    ]
    published = [(r["published_mean"], r["published_std"]) for r in records]
    assert published[1] == (None, None)
    assert published[4] == (0.5, None)


def test_a_frame_gives_the_means_of_the_outcomes(results):
    frame = results.frame()
    means = frame.groupby(["column", "measure"])["value"].mean()
    for outcome in results.outcomes:
        for measure in outcome.values:
            assert means[outcome.cell.column, measure] == pytest.approx(outcome.mean(measure))
    assert frame["value"].isna().sum() == 1
    assert list(frame.columns) == list(results.records()[0])
    empty = Results(STUDY, "quick").frame()
    assert list(empty.columns) == list(frame.columns)
    assert (empty.dtypes["value"], frame.dtypes["published_std"]) == (float, float)


def test_without_pandas_one_sentence_says_what_to_install(results, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match=r"frame needs pandas.*pip install pandas"):
        results.frame()
    assert len(results.records()) == 5
