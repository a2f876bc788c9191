"""The OD-Scores of runs: measured, cached, and normalised over the models of a seed."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from planted_weights import finish
from unpick.data.synthetic import SynthNonlin
from unpick.geometry import fit_local_decoder, normalised_od_score, od_score
from unpick.models import MLP
from unpick.objectives import BetaTCVAE, BetaVAE
from unpick.papers.bhowal2024.scores.figures import draw_traversal, traverse
from unpick.papers.bhowal2024.scores.readings import (
    SCORES,
    factor_scores,
    local_fit,
    term_scores,
    together,
)
from unpick.papers.bhowal2024.scores.released_term import scores_by_term
from unpick.papers.bhowal2024.scores.study import STUDY
from unpick.papers.bhowal2024.settings import NAMES
from unpick.probe import Probe, measure_run, probe_run, take
from unpick.probe.cache import file_of
from unpick.runs import Runner, make, read
from unpick.study import Results, collect
from unpick.study.study import Cell
from unpick.training import preset

BASE = replace(
    preset("synth-nonlin"),
    data=SynthNonlin(points=400),
    model=replace(
        preset("synth-nonlin").model, latents=3, network=MLP((8,), "tanh", (8,), "tanh")
    ),
    steps=30,
)
TINY = [
    Cell("a", name, replace(BASE, objective=objective), 2)
    for name, objective in zip(NAMES, (BetaVAE(1e-3), BetaVAE(1e-2), BetaTCVAE(1e-2)), strict=True)
]


def gridded_scores(probe):
    """Scores against factors that are rounded to tenths: the points lie on no grid."""
    return factor_scores(replace(probe, factors=(10 * probe.factors).round() / 10))


READ = (gridded_scores, local_fit, term_scores)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    make([c for cell in TINY for c in cell.configs()], Runner(root, progress=False, jobs=1))
    return root, replace(STUDY, cells=lambda _: TINY, read=READ, claims=())


@pytest.mark.slow
def test_scores_are_normalised_over_the_models_of_a_seed(trained):
    root, study = trained
    found = collect(study, "quick", root)
    for seed in (0, 1):
        raw = {}
        for outcome in found.outcomes:
            probe = probe_run(outcome.runs[seed])
            fit = fit_local_decoder(probe.decoder, probe.mean, probe.variance.sqrt())
            raw[outcome.cell.column] = od_score(fit.matrices)
        for name, score in normalised_od_score(raw).items():
            values = found.rows()["a"][name].values
            assert values["OD-Score"][seed] == pytest.approx(score.mean, rel=1e-4)
            parts = [values[f"OD-Score, {part}"][seed] for part in ("V", "V", "Sigma")]
            assert np.mean(parts) == pytest.approx(score.mean, rel=1e-4)


def test_measures_are_cached_and_read_back(trained):
    root, study = trained
    first = collect(study, "quick", root)
    run = first.outcomes[0].runs[0]

    def never():
        raise AssertionError("the data were loaded")

    cached = measure_run(run, READ, never)
    assert cached.keys() - {"parts"} <= first.outcomes[0].values.keys()
    again = collect(study, "quick", root)
    for one, other in zip(first.outcomes, again.outcomes, strict=True):
        assert one.values.keys() == other.values.keys()
        for name, values in one.values.items():
            assert other.values[name] == pytest.approx(values, nan_ok=True)
    file = json.loads(file_of(run, local_fit).read_text())
    assert {*file["values"]["parts"]} == {*cached["parts"]} == {*SCORES.values()}


def test_a_seed_or_a_model_that_is_not_there_has_no_score(trained):
    root, study = trained
    whole = collect(study, "quick", root)
    alone = replace(whole, outcomes=whole.outcomes[:2])
    bare = replace(alone, outcomes=tuple(replace(o, values={}) for o in alone.outcomes))
    assert all(o.values == {} for o in together(bare).outcomes)
    vae, *others = whole.outcomes
    short = replace(vae, runs=vae.runs[1:], values={"MIG": vae.values["MIG"][1:]})
    found = together(replace(whole, outcomes=(short, *others)))
    assert found.outcomes[0].values["OD-Score"] == pytest.approx(vae.values["OD-Score"][1:])
    kept = found.outcomes[1].values["OD-Score"]
    assert math.isnan(kept[0])
    assert kept[1] == pytest.approx(others[0].values["OD-Score"][1])


def test_a_decoder_that_ignores_its_latents_is_read_as_far_as_it_goes(tmp_path):
    (run,) = make([replace(BASE, steps=0)], Runner(tmp_path, progress=False, jobs=1))
    nothing = {name: torch.zeros_like(w[0]) for name, w in run.model().state_dict().items()}
    finish(run.path, nothing, run.results)
    found = take(probe_run(read(run.path)), READ[:2])
    assert found["parts"]["released"] is None  # nothing to invert
    assert found["parts"]["active"] is None
    assert np.array(found["parts"]["matched"]).max() == 0
    assert found["active"] == 0
    assert "DtO, active" not in found


def test_the_released_term_ranks_one_decoder_as_three():
    """Even one that is linear, with orthogonal columns."""
    columns = torch.linalg.qr(torch.randn(200, 4, generator=torch.Generator().manual_seed(1))).Q
    around = torch.zeros(5, 4), torch.full((5, 4), 0.5)
    scores = scores_by_term(lambda z: z @ columns.T, *around, steps=20)
    assert scores["beta-TCVAE"] < scores["beta-VAE"] - 0.05 < scores["VAE"] - 0.1
    start = scores_by_term(lambda z: z @ columns.T, *around, steps=0)
    assert {*start.values()} == {1.0}  # the same start for all


def test_the_traversal_of_figure_1_varies_the_latent_that_knows_y(rng):
    """The third latent is y, the first is x; decoded is a picture of three columns, one each."""
    factors = rng.integers(0, 8, (500, 2)).astype(float)
    codes = np.c_[factors[:, 0], rng.normal(size=500), factors[:, 1]]
    probe = Probe(
        lambda x: x, lambda z: z[:, None, None], codes, factors, ("x", "y"), (False, False)
    )
    figure = traverse(probe, "planted")
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["latent 3"]
    assert "x 1%, y 100%" in axes.get_title() or "x 2%, y 100%" in axes.get_title()
    assert draw_traversal(Results(STUDY, "quick")) is None
