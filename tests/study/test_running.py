"""Running a study: measures taken by worker processes, and data that are broken."""

from dataclasses import replace

import pytest

from unpick.data import DataDamaged
from unpick.data.synthetic import SynthLin
from unpick.probe import is_measured
from unpick.probe.measures import reconstruction
from unpick.runs import Runner, make
from unpick.study import Cell, Study, collect, running
from unpick.training import preset


@pytest.mark.slow
def test_many_readings_are_taken_by_workers(tmp_path, monkeypatch):
    config = replace(preset("synth-lin"), data=SynthLin(points=400), steps=1)
    cells = [Cell("a", "b", config, 2)]
    monkeypatch.setattr(running, "MANY", 2)
    runs, told = make(cells[0].configs(), Runner(tmp_path, jobs=1, progress=False)), []
    study = Study("tiny", "t", "s", "", lambda scale: cells, read=(reconstruction,))
    running.measure(study, cells, Runner(tmp_path, 2), None, told.append)
    assert all(is_measured(run, study.read) for run in runs)
    assert sorted(told) == [f"tiny: a, b, seed {k}" for k in (0, 1)]
    told.clear()
    running.measure(study, cells, Runner(tmp_path, 2), None, told.append)
    assert not told  # they are there


def test_readings_of_damaged_data_are_missed(tmp_path):
    config = replace(preset("synth-lin"), data=SynthLin(points=400), steps=1)
    make([config], Runner(tmp_path, jobs=1, progress=False))

    def broken(probe):
        raise DataDamaged("the file is broken")

    study = Study("tiny", "t", "s", "", lambda scale: [Cell("a", "b", config, 1)], read=(broken,))
    assert collect(study, "quick", tmp_path).missing == ("the file is broken",)


def test_numbers_that_need_missing_data_are_left_out_and_tried_again(tmp_path):
    calls = []

    def needs_data(scale):
        calls.append(scale)
        if len(calls) < 2:
            raise DataDamaged("the file is broken")
        return {"x": 1.0}

    study = Study("tiny", "t", "s", "", computed={"numbers": needs_data})
    assert running.compute(study, "quick", tmp_path) == {}
    assert running.compute(study, "quick", tmp_path) == {"numbers": {"x": 1.0}}
