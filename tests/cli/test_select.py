"""`unpick select` ranks runs without labels."""

from dataclasses import replace

import pytest

from unpick.objectives import AE, BetaVAE
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
    assert table.count("* ") == 1
    assert "beta 0.05" in verdict
    assert "restarts find" in verdict
    autoencoder = replace(
        trained[0].config,
        objective=AE(),
        model=replace(trained[0].config.model, posterior="delta"),
        steps=1,
    )
    (plain,) = make([autoencoder], Runner(root, jobs=1, progress=False))
    code, out, _ = run_cli("select", str(plain.path), *(str(run.path) for run in trained))
    assert code == 0
    assert f"left out, since only beta-VAEs are compared: {plain.path}" in out
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
    assert (code, said.count("\n")) == (2, 1)
    assert "select needs two beta-VAEs with a diagonal posterior or more, got 1" in said
    assert run_cli("select", "--help")[0] == 0
