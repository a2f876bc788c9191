"""What results print in a notebook: short, and with what one asks first."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from unpick.data import load
from unpick.diagnosis import diagnose
from unpick.objectives import BetaVAE
from unpick.runs import Run
from unpick.study import Cell, Claim, Outcome, Results, Study, Verdict
from unpick.training import preset, train

TINY = replace(preset("synth-lin"), steps=2)


@pytest.fixture(scope="module")
def ensemble():
    configs = [replace(TINY, objective=BetaVAE(beta)) for beta in (0.5, 2.0)]
    return train(configs, load("synth-lin", points=500), progress=False)


def test_an_ensemble_is_one_line(ensemble):
    low, high = sorted(ensemble.log[-1]["loss"])
    between = f"loss {low:.4g} to {high:.4g}"
    assert repr(ensemble) == f"Ensemble(synth-lin-beta-vae, 2 members, 2 steps, {between})"
    assert "1 diverged" in repr(replace(ensemble, stopped={1: 0}))


def test_an_ensemble_has_a_row_a_member_in_a_notebook(ensemble):
    html = ensemble._repr_html_()
    assert html.count("<tr>") == 3
    assert "<th>beta</th>" in html
    assert "<td>0.5</td>" in html
    assert "<th>learning_rate</th>" not in html  # all have the same
    assert len(html) < 1500


def test_a_data_set_does_not_print_its_observations():
    data = load("sprites", size=32)
    assert repr(data) == (
        "Dataset(sprites: 737280 observations of shape (1, 32, 32), factors shape, scale, "
        "orientation, x, y on a grid)"
    )
    assert "no factors" in repr(replace(data, factors=()))


def test_results_name_the_study_and_count_the_verdicts():
    study = Study(
        "toy",
        "Toys",
        "Somebody (1950), table <1>",
        "",
        cells=lambda scale: [Cell("row", "column", TINY)],
        measures=("DtO", "DS"),
        claims=(Claim("It aligns.", lambda results: Verdict(True, "")),),
    )
    values = {"DtO": torch.tensor([0.1, 0.3]).numpy()}
    run = Run(Path("runs/toy"), TINY, {})
    outcome = Outcome(study.cells("quick")[0], (run, run), values)
    found = Results(study, "quick", (outcome,), verdicts=(Verdict(True, "0.2 < 1"),))
    assert repr(found) == "Results(toy at scale quick: 1 cells, 2 runs; claims: 1 holds)"
    html = found._repr_html_()
    assert "<td>row</td><td>column</td><td>2</td><td>0.2</td><td></td>" in html
    assert "<td>holds</td><td>It aligns.</td><td>0.2 &lt; 1</td>" in html
    assert "table &lt;1&gt;" in html


def test_a_diagnosis_prints_its_findings_and_no_tensors():
    x = torch.randn(60, 3, generator=torch.Generator().manual_seed(0))
    found = diagnose(lambda x: x[:, :2], lambda z: z @ torch.eye(2, 3), x, report=None, show=False)
    for text in (repr(found), found._repr_html_()):
        assert "2 of 2 latents active" in text
        assert all(finding.title in text for finding in found.findings)
        assert "tensor" not in text
