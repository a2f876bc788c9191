"""`unpick forecast`: data by name, own data, JSON and a page."""

import json

import numpy as np


def test_forecast_by_name(run_cli):
    code, out, _ = run_cli("forecast", "synth-lin", "--points", "2000", "--ratio", "1.0")
    assert code == 0
    assert "Restarts will differ on first with second" in " ".join(out.split())
    code, out, _ = run_cli("forecast", "synth-lin", "--points", "2000", "--json")
    assert code == 0
    assert json.loads(out)["order"] == ["second", "first"]


def test_forecast_of_a_table(run_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    w = rng.random((300, 2))
    rows = [f"{a},{b},{2 * a - b},{'uv'[k % 2]}" for k, (a, b) in enumerate(w)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,kind", *rows]))
    options = ("--factors", "a,kind", "--json", "--report", "page", "--jacobians", "20")
    code, out, _ = run_cli("forecast", "t.csv", *options)
    assert code == 0
    kinds = {each["name"]: each["kind"] for each in json.loads(out)["factors"]}
    assert kinds == {"a": "ordered", "kind": "categorical"}
    assert (tmp_path / "page" / "index.html").is_file()


def test_forecast_mistakes(run_cli):
    assert run_cli("forecast")[0] == 2
    code, _, err = run_cli("forecast", "sprits")
    assert code == 2
    assert "did you mean sprites" in err
