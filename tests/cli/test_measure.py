"""`unpick measure`."""

import csv
import json

import pytest
import safetensors.torch

from unpick.cli import main
from unpick.data import load
from unpick.data.shapes3d import Shapes3D
from unpick.models import MLP, ModelConfig
from unpick.objectives import PCL
from unpick.probe import STANDARD, measure_run
from unpick.runs import Runner, make
from unpick.training import RunConfig


@pytest.mark.slow
@pytest.mark.usefixtures("cheap_scorecard")
def test_measure_prints_keeps_and_reads_again(run_cli, capsys, trained, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    names = [str(run.path) for run in trained]
    options = ("--samples", "300", "--draws", "2")
    table = trained[0].path.parent / "scores.csv"
    code, out, _ = run_cli("measure", *names, *options, "--csv", str(table))
    assert code == 0
    with table.open(newline="") as file:
        lines = {(line["run"], line["measure"]): line for line in csv.DictReader(file)}
    for word in ("DtO", "chance 0.55", "MIG, sampled", "DCI completeness", "±", "UDR", "2 runs"):
        assert word in out, word
    assert out.count("learner: unpick's fast boosting, a proxy") == 3 * len(names) + 1
    with monkeypatch.context() as patched:  # measured once, read ever after
        patched.setattr(safetensors.torch, "load_file", None)
        code, out, _ = run_cli("measure", names[0], *options, "--json")
    kept = json.loads(out)[names[0]]
    scores = {score["name"]: score for score in kept["scores"]}
    assert kept["factors"] == [factor.name for factor in load("synth-lin").factors]
    assert kept["options"] == {"samples": 300, "learner": "fast", "draws": 2}
    assert len(scores["MIG"]["matrix"]) == 2
    assert len(scores["MIG"]["per_factor"]) == 2
    assert scores["MIG"]["interval"]["draws"] == 2
    assert {name for run, name in lines if run == trained[0].path.name} == scores.keys()
    line = lines[trained[0].path.name, "MIG"]
    assert float(line["value"]) == scores["MIG"]["value"]
    assert float(line["low"]) == scores["MIG"]["interval"]["low"]
    assert scores["DCI completeness"]["interval"]["draws"] == 10
    assert 0 <= scores["DtO"]["value"] < 1.1
    (file,) = (trained[0].path / "measures").glob("IRS-*.json")
    for damage in ("", "[]", file.read_text().replace('"value": ', '"value": 1')):
        file.write_text(damage)  # not believed: measured again
        with monkeypatch.context() as patched:
            patched.setattr(safetensors.torch, "load_file", lambda _: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                main(["measure", names[0], *options])
        capsys.readouterr()
    code, _, err = run_cli("measure", names[0], "--samples", "3")
    assert (code, "samples must be at least 30" in err) == (2, True)


@pytest.mark.slow
@pytest.mark.usefixtures("cheap_scorecard")
def test_a_run_without_a_decoder_is_scored_and_not_diagnosed(run_cli, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    model = ModelConfig(2, "delta", network=MLP((4,), "tanh", (4,), "tanh"))
    config = RunConfig(Shapes3D(8), model, PCL(), steps=2, batch=16)
    (trained,) = make([config], Runner(tmp_path, jobs=1, progress=False))
    code, out, _ = run_cli("measure", str(trained.path), "--samples", "500", "--draws", "0")
    assert code == 0
    assert "MIG" in out
    assert "DtO" not in out
    assert measure_run(trained, STANDARD, samples=500).keys() == {"DS"}
    code, _, err = run_cli("diagnose", str(trained.path))
    message = "diagnose needs a decoder, and pcl has none; unpick measure scores its codes"
    assert (code, err) == (2, f"unpick: {message}\n")
