"""`unpick select` ranks runs without labels."""

from dataclasses import replace

import pytest

from unpick.objectives import BetaVAE
from unpick.runs import Runner, make


@pytest.mark.slow
def test_keeps_a_beta_with_latents_that_restarts_share(run_cli, trained, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    root = trained[0].path.parent
    dead = [replace(run.config, objective=BetaVAE(5.0)) for run in trained]
    runs = [*trained, *make(dead, Runner(root, jobs=1, progress=False))]
    code, out, _ = run_cli("select", *(str(run.path) for run in runs))
    assert code == 0
    table, verdict = out.split("Keep ")
    assert table.split("\n")[1].split() == ["run", "evidence", "active", "again", "UDR", "DtO"]
    assert "…" not in table
    assert table.index("beta 0.05") < table.index("beta 5")
    assert "beta 0.05" in verdict
    assert "restarts find" in verdict
    shorter = replace(trained[0].config, steps=1)
    other = make([shorter], Runner(root, jobs=1, progress=False))
    code, _, said = run_cli("select", str(trained[0].path), str(other[0].path))
    assert code == 2
    assert "differ in data, model, optimiser, steps or batch" in said


def test_says_what_is_wrong(run_cli, trained, tmp_path):
    assert run_cli("select")[0] == 2
    code, _, said = run_cli("select", str(tmp_path))
    assert (code, said.count("\n")) == (2, 1)
    assert "is not a finished run" in said
    code, _, said = run_cli("select", str(trained[0].path))
    assert (code, said) == (2, "unpick: select needs two runs or more, got 1\n")
    assert run_cli("select", "--help")[0] == 0
