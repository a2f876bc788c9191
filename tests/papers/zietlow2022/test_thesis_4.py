"""Chapter 4 of the thesis: what is read off a run, drawn, and how the whole study runs."""

import math
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from unpick.data import ArrayStore, DataMissing, Dataset, Factor, Noisy, split
from unpick.data.shapes3d import Shapes3D
from unpick.metrics import mutual_information_gap
from unpick.models import MLP, Autoencoder, ModelConfig
from unpick.papers import STUDIES
from unpick.papers.zietlow2022.thesis_4 import cells as thesis_4_cells
from unpick.papers.zietlow2022.thesis_4.cells import change
from unpick.papers.zietlow2022.thesis_4.planes import choose_restarts, pair, plane
from unpick.papers.zietlow2022.thesis_4.readings import difference
from unpick.papers.zietlow2022.thesis_4.settings import SETTINGS, weights
from unpick.perturb import PerturbConfig
from unpick.probe import Probe, measure_run, measures, take
from unpick.probe.cache import encoder_of
from unpick.runs import Runner
from unpick.study import Cell, Study, collect, run, running
from unpick.training import RunConfig

STUDY = STUDIES["thesis-4"]
TINY = Shapes3D(8)
# Observations are four factors, each with its own size.
SCALES = torch.tensor([1.0, 2.0, 3.0, 4.0])
FACTORS = tuple(Factor(name, (0.0, 1.0, 2.0, 3.0, 4.0)) for name in "abcd")


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def cache(rendered, monkeypatch):
    monkeypatch.setenv("UNPICK_DATA", str(rendered))


def grid():
    places = torch.cartesian_prod(*[torch.arange(5.0) for _ in FACTORS])
    return Dataset("toy", ArrayStore((SCALES * places / 20).reshape(-1, 1, 1, 4)), FACTORS)


def linear(turn, log_variance, posterior="diagonal", decodes=True):
    """Encodes factors, centred and turned, and decodes them again."""
    model = Autoencoder(
        ModelConfig(4, posterior, "gaussian", MLP((), "relu", (), "relu")), (1, 1, 4), [0], decodes
    )
    into = torch.diag(20 / SCALES) @ turn
    state = model.state_dict()
    state["encoder.layers.0.weight"][0, :, :4] = into
    state["encoder.layers.0.bias"][0, 0, :4] = -2 * turn.sum(0)
    if posterior == "diagonal":
        state["encoder.layers.0.weight"][0, :, 4:] = 0
        state["encoder.layers.0.bias"][0, 0, 4:] = torch.tensor(log_variance)
    if decodes:
        state["decoder.layers.0.weight"][0] = turn.T @ torch.diag(SCALES / 20)
        state["decoder.layers.0.bias"][0, 0] = 2 * SCALES / 20
    model.load_state_dict(state)
    return model.eval()


def probe(model):
    """The model, seen at the test part of the grid."""
    dataset = grid()
    test = split(dataset).test
    return Probe(
        encoder_of(model),
        (lambda z: model.decode_mean(z[None])[0]) if model.decodes else None,
        dataset.observe(test),
        dataset.factor_values(test).numpy(),
        tuple("abcd"),
    )


def readings(model):
    return take(probe(model), STUDY.read)


@pytest.fixture
def quick_dci(monkeypatch):
    """DCI has its own tests and takes seconds."""
    monkeypatch.setattr(measures, "dci", lambda *_, learner: SimpleNamespace(disentanglement=0.5))


def test_readings_of_a_known_model(quick_dci):
    aligned = readings(linear(torch.eye(4), [math.log(v) for v in (0.04, 0.81, 0.01, 0.25)]))
    assert aligned["MIG"] > 0.8
    assert aligned["MIG"] == pytest.approx(np.mean([aligned[f"MIG, {name}"] for name in "abcd"]))
    assert aligned["FactorVAE"] == 1.0
    assert [aligned[f"sigma {j}"] for j in (1, 2, 3, 4)] == pytest.approx([0.1, 0.2, 0.5, 0.9])
    assert aligned["active"] == 3  # 0.81 is above 0.8
    assert aligned["DtO"] == pytest.approx(0, abs=1e-3)
    assert aligned["error"] == pytest.approx(0, abs=1e-5)
    half = torch.full((4, 4), 0.5) * torch.tensor([[1, 1, 1, 1], [1, -1, 1, -1]] * 2)
    half[2:] *= torch.tensor([1, 1, -1, -1])
    turned = readings(linear(half, [0.0] * 4))
    assert turned["MIG"] < 0.2
    assert turned["DtO"] > 0.5
    assert turned["active"] == 0
    assert "DtO, active" not in turned


def test_an_encoder_alone_has_scores_only(quick_dci):
    values = readings(linear(torch.eye(4), [], "delta", decodes=False))
    assert values["MIG"] > 0.8
    assert not {"DtO", "error", "active", "sigma 1"} & values.keys()


def test_planes_lie_along_the_latents_of_two_factors():
    """The latents are b falling, a, d, c rising; a plane of a and b finds and flips them."""
    turn = torch.zeros(4, 4)
    for factor, (latent, sign) in enumerate([(1, 1.0), (0, -1.0), (3, 1.0), (2, 1.0)]):
        turn[factor, latent] = sign
    found = plane(probe(linear(turn, [0.0] * 4)), ("a", "b"))
    assert found.latents == (1, 0)
    assert found.label == "2 and 1"
    a, b, c = (found.images[..., 0, 0, k] for k in range(3))
    assert (a.diff(dim=1) > 0).all()  # to the right
    assert (b.diff(dim=0) < 0).all()  # upwards: the first row is on top
    for constant in (a.diff(dim=0), b.diff(dim=1), c.diff(dim=0), c.diff(dim=1)):
        assert constant.abs().max() < 1e-5


def test_a_polar_plane_has_the_two_latents_of_the_ring():
    # Latents are the cosine, nothing, and the sine of the first factor's place in its cycle.
    turn = 2 * math.pi * torch.arange(40.0) / 10
    codes = torch.stack([turn.cos(), 0 * turn, turn.sin()], dim=1)
    factors = (torch.arange(40) % 10).double()[:, None].numpy()
    one = Probe(lambda x: x, lambda z: z[:, None, None], codes, factors, factor_names=("hue",))
    assert sorted(plane(one, ("hue", "hue"), polar=True).latents) == [0, 2]


def test_restarts_are_chosen_by_their_rings_where_there_is_a_hue():
    scores, rings = np.array([0.1, 0.5, 0.3, 0.2]), np.array([0.9, 0.2, 0.3, 0.8])
    high, low = "line, highest MIG", "line, lowest MIG"
    assert choose_restarts(scores, rings, 1) == {high: [1], low: [2], "ring": [0]}
    assert choose_restarts(scores, rings, 9) == {high: [1], low: [2], "ring": [0, 3]}
    assert choose_restarts(scores, 0 * rings, 2) == {high: [1, 2], low: [0, 3]}
    without = choose_restarts(scores, None, 9)
    assert without == {"highest MIG": [1, 2], "lowest MIG": [0, 3]}


def test_two_factors_of_one_latent_find_two_latents():
    assert pair(np.array([[0.9, 0.8], [0.1, 0.5]])) == (0, 1)
    assert pair(np.array([[0.9, 0.9], [0.7, 0.1], [0.1, 0.1]])) == (1, 0)
    codes = np.arange(40.0)[:, None] % np.array([4, 5])
    gap = mutual_information_gap(codes, codes[:, ::-1])
    assert pair(gap.matrix) == (1, 0)


def test_differences_of_pixels(cache):
    same, noisy = difference(TINY, TINY), difference(TINY, Noisy(TINY, 0.1))
    assert (same.largest, same.typical, same.share) == (0, 0, 0)
    assert (np.diff(same.variances) <= 0).all()
    assert 0.9 < same.variances.sum() <= 1 + 1e-9  # thirty components hold most of small rooms
    assert 0.099 < noisy.largest <= 0.1 + 1e-6
    # Uniform noise has the root mean square epsilon / sqrt 3; what is reflected moves less.
    assert 0.9 < noisy.typical / (0.1 / math.sqrt(3)) <= 1.01
    assert 0 < noisy.share < 0.1
    with pytest.raises(DataMissing):
        difference(TINY, change("shapes3d", "paper").data())


def small_change(steps=1):
    network = MLP((8,), "relu", (8,), "relu")
    base = RunConfig(TINY, ModelConfig(6, "diagonal", "bernoulli", network), steps=2, batch=8)
    return PerturbConfig(
        base,
        restarts=2,
        steps=steps,
        batch=4,
        samples=1,
        decoder_batches=1,
        compress=(4,),
        levels=2,
    )


@pytest.mark.slow
def test_twins_are_made_before_the_runs_on_them_and_missed_when_only_collecting(
    cache, tmp_path, monkeypatch
):
    twin = small_change()
    on_twin = replace(twin.base, data=twin.data())
    study = Study(
        "tiny",
        "t",
        "Nobody (2000), table 1",
        "",
        lambda scale: [Cell("original", "a", twin.base, 2), Cell("perturbed", "a", on_twin, 1)],
        ("x",),
        read=(lambda probe: {"x": 1.0},),
        twins=lambda scale: [twin],
    )
    (missing,) = collect(study, "quick", tmp_path).missing
    assert "twin.json" in missing
    found = run(study, "quick", Runner(tmp_path, jobs=1, progress=False))
    assert not found.missing
    assert [len(o.runs) for o in found.outcomes] == [2, 1]
    assert found.outcomes[1].values["x"].tolist() == [1.0]
    assert len([*tmp_path.glob("*/results.json")]) == 3  # the restarts are the original's runs
    monkeypatch.setenv("UNPICK_DATA", str(tmp_path / "elsewhere"))
    assert "twin.json" in collect(study, "quick", tmp_path).missing[0]


@pytest.mark.slow
def test_the_whole_study_in_small(cache, quick_dci, tmp_path, monkeypatch):
    """Every claim and every drawing, from runs of a few steps on one data set."""
    setting = replace(
        SETTINGS["standard"]["shapes3d"],
        data=TINY,
        network=MLP((8,), "relu", (8,), "relu"),
        steps=60,
        learning_rate=3e-2,
        weights=weights(0.01, 7.0, 32.0, 1.0),  # so that the beta-VAE uses latents
        batch=8,
        seeds=1,
        restarts=2,
        ensemble=1,
        change_steps=1,
        lengths={},
        counts={},
        networks={},
        search=(1.0, 2.0),
        louder=0.3,
        methods=("ae", "beta-vae", "pcl"),
    )
    monkeypatch.setattr(running, "measure_run", partial(measure_run, samples=300))
    monkeypatch.setitem(SETTINGS, "standard", {"shapes3d": setting})
    thesis_4_cells.cells.cache_clear()
    try:
        found = run(STUDY, "standard", Runner(tmp_path, jobs=1, progress=False))
        assert len(found.outcomes) == len(STUDY.cells("standard")) == 14
        assert not found.missing
        assert "largest change" in STUDY.claims[-1].check(found).evidence
        drawn = {drawing.name: drawing.draw(found) for drawing in STUDY.drawings}
        empty = {name for name, figure in drawn.items() if figure is None}
        assert empty == {"thesis-4.3-sprites", "thesis-4.10-sprites"}
        assert all(isinstance(drawn[name], Figure) for name in drawn.keys() - empty)
    finally:
        thesis_4_cells.cells.cache_clear()
