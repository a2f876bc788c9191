"""What is asked of the perturbation beyond the tables of the thesis, from planted results."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unpick.papers import STUDIES
from unpick.papers.zietlow2022.published import published
from unpick.papers.zietlow2022.thesis_4 import cells as thesis_4_cells
from unpick.papers.zietlow2022.thesis_4 import controls
from unpick.papers.zietlow2022.thesis_4.settings import NAMES, SETTINGS
from unpick.runs import Run
from unpick.study import Outcome, Results

STUDY = STUDIES["thesis-4"]


@pytest.fixture
def tried(monkeypatch, tmp_path):
    """Rooms with every control, and no twins on disk."""
    monkeypatch.setenv("UNPICK_DATA", str(tmp_path))
    rooms = SETTINGS["standard"]["shapes3d"]
    rooms = replace(rooms, louder=0.3, tries_literal=True, longer=(3,))
    monkeypatch.setitem(SETTINGS, "standard", {"shapes3d": rooms})
    thesis_4_cells.cells.cache_clear()
    yield
    thesis_4_cells.cells.cache_clear()


def planted(values, scale="standard"):
    """Results where `values(row, column)` gives MIG of a cell, or None."""
    found = [(cell, values(cell.row, cell.column)) for cell in STUDY.cells(scale)]
    outcomes = [
        Outcome(cell, (Run(Path(), cell.config, {}),) * len(mig), {"MIG": np.array(mig)})
        for cell, mig in found
        if mig is not None
    ]
    return Results(STUDY, scale, tuple(outcomes))


def spread(mean, std=0.01, n=10):
    z = np.linspace(-1, 1, n)
    return mean + std * z / z.std(ddof=1)


def mig(**means):
    """Values by the last word of a cell's row, or by the column where it is trained longer."""

    def values(row, column):
        name = column.replace(" x ", "_") if "longer" in row else row.split(", ")[1]
        return spread(means[name]) if name in means else None

    return planted(values)


def test_printed_drops_are_their_own():
    by_name = {name: method for method, name in NAMES.items()}

    def printed(row, column):
        row = row.replace("sprites", "dsprites")
        entry = published("thesis-4", row, by_name.get(column, "")).get("MIG")
        return None if entry is None else spread(entry.mean, 0.001)

    verdict = controls.drops(planted(printed, "paper"))
    assert verdict.holds is not False
    assert "beta-VAE on shapes3d: 0.51 (published 0.51)" in verdict.evidence


def test_a_drop_is_compared_with_the_published_one(tried):
    small = controls.drops(mig(original=0.3, perturbed=0.29))
    assert small.holds is False
    assert "beta-VAE on shapes3d: 0.01 (published 0.51)" in small.evidence
    whole = controls.drops(mig(original=0.7, perturbed=0.1))
    assert whole.holds is None  # sprites are missing
    assert "decided as claimed: 4 of 4" in whole.evidence


@pytest.mark.parametrize(("louder", "holds"), [(0.4, True), (0.1, False), (0.2, None)])
def test_louder_noise_is_compared_with_the_change(tried, louder, holds):
    verdict = controls.louder_takes_less(mig(perturbed=0.2, louder=louder))
    assert verdict.holds is holds
    assert verdict.evidence.startswith(f"shapes3d: {louder:.2f}, perturbed 0.20")
    assert controls.louder_takes_less(mig(perturbed=0.2)).word == "not measured"


@pytest.mark.parametrize(("after", "holds"), [(0.1, True), (0.4, False), (0.25, None)])
def test_what_lasts_is_judged_at_as_many_steps(tried, after, holds):
    found = mig(original=0.1, perturbed=0.0, original_3=0.5, perturbed_3=after)
    assert controls.lasts(found).holds is holds
    assert controls.lasts(mig(original_3=0.5)).word == "not measured"


def test_the_literal_change_is_judged_like_the_other(tried):
    assert controls.literal_halves(mig(original=0.5, literal=0.1)).holds
    assert controls.literal_halves(mig(original=0.5, literal=0.45)).holds is False


def test_controls_that_a_scale_does_not_have_are_not_measured():
    empty = Results(STUDY, "paper")
    for control in (controls.louder_takes_less, controls.lasts, controls.literal_halves):
        assert control(empty).evidence == "not tried at this scale"


def test_longer_trainings_are_the_same_runs_continued(tried):
    cells = {(cell.row, cell.column): cell for cell in STUDY.cells("standard")}
    longer = cells["shapes3d, longer", "perturbed x 3"].config
    short = cells["shapes3d, perturbed", "beta-VAE"].config
    assert longer == replace(short, steps=3 * short.steps)
    literal = cells["shapes3d, literal", "beta-VAE"].config
    assert literal.data != short.data
    assert literal.data in [twin.data() for twin in STUDY.twins("standard")]


def test_turned_restarts_are_told_by_their_distance():
    (cell,) = [
        c
        for c in STUDY.cells("standard")
        if (c.row, c.column) == ("sprites, original", "beta-VAE")
    ]

    def turned(score, distance):
        values = {"MIG": np.array(score), "DtO / chance": np.array(distance)}
        found = Outcome(cell, (Run(Path(), cell.config, {}),) * len(score), values)
        return controls.turned("sprites", "original", Results(STUDY, "standard", (found,)))

    far = [0.1, 0.4, 0.6, 0.9, np.nan]
    assert turned([0.5, 0.3, 0.2, 0.1, 0.4], far).holds
    assert turned([0.1, 0.3, 0.4, 0.6, 0.4], far).holds is False
    assert turned([0.2, 0.1, 0.2, 0.1, 0.4], far).undecided
    assert turned([0.2, 0.2, 0.2, 0.2, 0.2], far).word == "not measured"
