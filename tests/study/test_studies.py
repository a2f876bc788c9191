import math
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unpick import demo
from unpick.data import Noisy
from unpick.data.idx import MNIST
from unpick.data.sprites import Sprites
from unpick.data.synthetic import SynthLin
from unpick.models import MLP
from unpick.objectives import BetaTCVAE
from unpick.papers import STUDIES
from unpick.papers.bhowal2024.published import published as bhowal
from unpick.papers.costs import cost, on_disk
from unpick.papers.zietlow2022 import thesis_3_3
from unpick.papers.zietlow2022.chapter3 import setting
from unpick.runs import Run, Runner, folder, make, read
from unpick.study import (
    SCALES,
    Cell,
    Claim,
    Outcome,
    Printed,
    Results,
    Study,
    Verdict,
    collect,
    run,
)
from unpick.study.study import departures
from unpick.training import Adagrad, Adam, preset

CONFIG = replace(preset("synth-lin"), data=SynthLin(points=400), steps=1200)


def outcome(row="r", column="c", config=CONFIG, printed=None, **values):
    """What would have come out, without a run."""
    arrays = {name.replace("_", " "): np.array(v, dtype=float) for name, v in values.items()}
    runs = tuple(Run(Path(), config, {}) for _ in next(iter(arrays.values())))
    return Outcome(Cell(row, column, config, len(runs), printed or {}), runs, arrays)


def tiny(cells):
    claim = Claim("there are runs", lambda r: Verdict(bool(r.outcomes), ""))
    return Study(
        "tiny", "t", "Nobody (2000), table 1", "", lambda scale: cells, ("DtO",), (claim,)
    )


@pytest.mark.slow
def test_a_study_trains_what_is_missing_and_reads_the_rest(tmp_path):
    study = tiny([Cell("a", "b", CONFIG, 2)])
    first = run(study, "quick", Runner(tmp_path, jobs=1, progress=False))
    weights = [each.path / "weights.safetensors" for each in first.outcomes[0].runs]
    written = [file.stat().st_mtime_ns for file in weights]
    more = run(study, "quick", Runner(tmp_path, jobs=1, progress=False), seeds=3)
    assert [each.config.seed for each in more.outcomes[0].runs] == [0, 1, 2]
    assert [file.stat().st_mtime_ns for file in weights] == written
    assert more.outcomes[0].values["DtO"][:2] == pytest.approx(first.outcomes[0].values["DtO"])
    assert len(collect(study, "quick", tmp_path).outcomes[0].runs) == 3
    assert len(collect(study, "quick", tmp_path, seeds=1).outcomes[0].runs) == 1
    assert on_disk(study, "quick", tmp_path) == (2, 2)


@pytest.mark.slow
def test_what_runs_tell_only_together_is_added_when_they_are_collected(tmp_path):
    def widest(found):
        (own,) = found.outcomes
        share = own.values["DtO"] / own.values["DtO"].max()
        return replace(found, outcomes=(replace(own, values={**own.values, "share": share}),))

    study = replace(tiny([Cell("a", "b", replace(CONFIG, steps=1), 2)]), together=widest)
    (own,) = run(study, "quick", Runner(tmp_path, jobs=1, progress=False)).outcomes
    assert own.values["share"].max() == 1
    assert own.values["share"] * own.values["DtO"].max() == pytest.approx(own.values["DtO"])


def test_data_that_are_not_there_cost_their_cells_only(tmp_path, monkeypatch):
    monkeypatch.setenv("UNPICK_DATA", str(tmp_path / "nothing"))
    digits = replace(preset("mnist"), data=MNIST(), steps=1)
    study = tiny([Cell("mnist", "b", digits, 1), Cell("a", "b", replace(CONFIG, steps=1), 1)])
    found = run(study, "quick", Runner(tmp_path, jobs=1, progress=False))
    assert [o.cell.row for o in found.outcomes] == ["a"]
    assert "mnist" in found.missing[0]


def test_what_needs_no_run_is_computed_once_and_handed_on(tmp_path):
    log = tmp_path / "log"

    def squares(scale):
        with log.open("a") as file:
            file.write(f"{scale} ")
        return {"squares": [k * k for k in range(3)]}

    claim = Claim("they are", lambda r: Verdict(r.computed["table"]["squares"] == [0, 1, 4], ""))
    study = Study("sum", "t", "Nobody", "", claims=(claim,), computed={"table": squares})
    for _ in range(2):
        found = collect(study, "quick", tmp_path)
        assert found.computed == {"table": {"squares": [0, 1, 4]}}
        assert found.verdicts == (Verdict(True, ""),)
    assert log.read_text() == "quick "


def test_claims_are_judged_when_results_are_collected(tmp_path):
    study = tiny([Cell("a", "b", replace(CONFIG, steps=0), 1)])
    assert [v.holds for v in collect(study, "quick", tmp_path).verdicts] == [False]
    found = run(study, "quick", Runner(tmp_path, jobs=1, progress=False))
    assert [v.holds for v in found.verdicts] == [True]


def test_differences_in_standard_errors():
    own = outcome(DtO=[0.1, 0.3], printed={"DtO": Printed(0.5, 0.0)})
    error = math.sqrt(0.02 / 2 + 0.01**2 / 12)
    assert own.differs("DtO") == pytest.approx(-0.3 / error)
    assert outcome(DtO=[0.1], printed={"DtO": Printed(0.5, 0.1)}).differs("DtO") is None
    assert outcome(DtO=[0.1, 0.2], printed={"DtO": Printed(0.5)}).differs("DtO") is None
    assert outcome(DtO=[0.1, 0.2]).differs("DtO") is None


def test_departures_name_what_differs_and_nothing_else():
    base = preset("sprites")
    assert departures(replace(base, seed=3), base) == ""
    other = replace(
        base,
        optimiser=Adam(1e-2),
        steps=10,
        model=replace(base.model, network=MLP((5,), "relu", (1200, 1200, 1200), "tanh")),
    )
    told = departures(other, base)
    assert "optimiser Adam instead of Adagrad" in told
    assert "steps 10 instead of 230400" in told
    assert "encoder 5 instead of 1200 1200" in told
    assert "decoder " not in told
    assert isinstance(base.optimiser, Adagrad)


def test_weights_are_compared_per_pixel():
    paper = replace(preset("sprites"), objective=BetaTCVAE(beta=8.0))
    small = replace(paper, data=Sprites(32), objective=BetaTCVAE(beta=2.0, alpha=0.25, gamma=1.0))
    assert (
        departures(small, paper)
        == "size 32 instead of 64; gamma 1.0 instead of 0.25 (1.0 at 64 pixels)"
    )
    same = replace(paper, data=Sprites(32))
    assert "beta 8.0 instead of 2 (8.0 at 64 pixels)" in departures(same, paper)
    noisy = (
        replace(paper, data=Noisy(Sprites(64), 0.1)),
        replace(small, data=Noisy(Sprites(32), 0.1)),
    )
    assert "beta" not in departures(*noisy)


@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
@pytest.mark.parametrize("scale", SCALES)
def test_every_study_can_be_asked_at_every_scale(study, scale):
    cells = study.cells(scale)
    assert len({(cell.row, cell.column) for cell in cells}) == len(cells)
    if scale == "paper":
        assert all(study.departures(cell) == cell.note for cell in cells)
    empty = Results(study, scale)
    if cells:  # nothing was run, so nothing that needs a run can have failed
        assert all(claim.check(empty).holds is not False for claim in study.claims)


def test_published_numbers():
    scores = [bhowal("bhowal-scores", "mpi3d", m)["OD-Score"] for m in ("vae", "beta-vae")]
    assert [str(each) for each in scores] == ["0.9466 ± 0.01", "0.9254 ± 0.016"]


@pytest.mark.slow
def test_a_run_that_diverged_is_left_out_and_named(tmp_path):
    wild = replace(CONFIG, optimiser=Adam(1e30), steps=30)
    study = tiny([Cell("wild", "b", wild, 1), Cell("a", "b", replace(CONFIG, steps=1), 1)])
    found = run(study, "quick", Runner(tmp_path, jobs=1, progress=False))
    assert [o.cell.row for o in found.outcomes] == ["a"]
    assert "wild, b, seed 0" in found.missing[0]


@pytest.mark.slow
def test_a_damaged_log_costs_its_run_only(tmp_path):
    study = tiny([Cell("a", "b", CONFIG, 2)])
    make(study.cells("quick")[0].configs(), Runner(tmp_path, jobs=1, progress=False))
    (folder(CONFIG, tmp_path) / "latents.jsonl").write_text("{")
    found = collect(study, "quick", tmp_path)
    assert [each.config.seed for each in found.outcomes[0].runs] == [1]
    assert "latents.jsonl does not match its checksum" in found.missing[0]


def test_a_value_that_one_seed_lacks_is_not_counted():
    own = outcome(DtO=[0.1, math.nan, 0.3], printed={"DtO": Printed(0.2, 0.0)})
    assert own.mean("DtO") == pytest.approx(0.2)
    assert own.deviation("DtO") == pytest.approx(math.sqrt(0.02))
    assert own.differs("DtO") == pytest.approx(0)
    assert own.count("DtO") == 2


def test_costs_are_told_or_not():
    assert cost(tiny([]), "quick") == "not measured"


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
def test_the_demo_shows_what_it_says(tmp_path):
    """At the demo's own settings, with fewer seeds."""
    found = run(STUDIES["thesis-3.3"], "quick", Runner(tmp_path, jobs=1, progress=False), seeds=4)
    columns = found.rows()["synth-lin"]
    assert columns["beta-VAE"].mean("DtO") < 0.02  # which four seeds do not decide by a test
    assert columns["beta-VAE"].values["DtO"].max() < 0.05
    assert columns["beta-VAE"].values["DS"].min() > 0.95
    for method in ("AE", "full covariance"):
        assert columns[method].mean("DtO") > 0.2
        assert columns[method].mean("DS") < 0.8
    verdicts = {claim.text: claim.check(found).holds for claim in thesis_3_3.STUDY.claims}
    for beginning in (
        "On every data set the VAE",
        "It dis",
        "A bent square",
    ):
        assert [holds for text, holds in verdicts.items() if text.startswith(beginning)] == [True]


@pytest.mark.slow
def test_the_demo_in_small(tmp_path, monkeypatch, capsys):
    """The whole path at a fraction of its length, in one process."""
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    for name in demo.SHOWN:
        study = STUDIES[name]
        short = [
            replace(cell, config=replace(cell.config, steps=min(cell.config.steps, 20)), seeds=2)
            for cell in study.cells("quick")
        ]
        small = replace(study, cells=lambda scale, short=short: short)
        monkeypatch.setitem(STUDIES, name, small)
    page = demo.demo(tmp_path / "report", tmp_path / "runs")
    text = page.read_text()
    assert "thesis-3.3-quick.html" in text
    (picture,) = re.findall('<img src="([^"]+)"', text)
    assert (page.parent / picture).is_file()
    columns = collect(STUDIES["thesis-3.3"], "quick", tmp_path / "runs").rows()["synth-lin"]
    assert f"is {columns['beta-VAE'].mean('DtO'):.2f}, against" in text  # what was measured
    assert ">holds<" not in text.split("<img")[0]  # after twenty steps
    assert "0.33 ± 0.18" in capsys.readouterr().out
    assert read(folder(setting("synth-lin", "untrained", "quick"), tmp_path / "runs")) is not None
