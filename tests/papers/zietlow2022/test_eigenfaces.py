import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from unpick.data import ArrayStore, Dataset, Factor
from unpick.data.heads import Heads
from unpick.models import MLP, Autoencoder, ModelConfig
from unpick.papers.zietlow2022.eigenfaces.claims import faithful, meaningful, ordered, telling
from unpick.papers.zietlow2022.eigenfaces.figures import draw, eigenfaces, label_axes
from unpick.papers.zietlow2022.eigenfaces.readings import (
    SEEN,
    distance_to_data,
    find_axes,
    move_components,
    move_latents,
    traversal,
)
from unpick.papers.zietlow2022.eigenfaces.study import STUDY
from unpick.probe import probe_run
from unpick.runs import Run
from unpick.study.study import Outcome, Results

NAMES = ("azimuth", "elevation", "lighting", "hair")
DEVIATIONS = (0.95, 0.3, 0.97, 0.1, 0.4, 0.2)  # of six latents
CARRIED = {3: 0, 5: 1, 1: 2, 4: 3}  # latent: factor, the most precise first
SCALES = (0.12, 0.08, 0.06, 0.04)  # of a factor in the image


@pytest.fixture
def patterns():
    """What each factor does to an image of 8x8 pixels; they overlap, so PCA mixes them."""
    shapes = torch.rand(4, 64, generator=torch.Generator().manual_seed(0))
    return shapes / shapes.norm(dim=1, keepdim=True) * torch.tensor(SCALES)[:, None] * 8


@pytest.fixture
def planted(monkeypatch, tmp_path, patterns):
    """Results of a linear model on linear images: makes them for latents turned by an angle."""
    levels = tuple(np.linspace(-1, 1, 8).tolist())
    factors = tuple(Factor(name, levels) for name in NAMES)
    values = torch.cartesian_prod(*4 * [torch.tensor(levels)])
    images = (0.5 + values @ patterns / 3).reshape(-1, 1, 8, 8)
    # Turned axes have the same code for many values: rounding must not tell these apart.
    images += 1e-3 * torch.randn(images.shape, generator=torch.Generator().manual_seed(0))
    dataset = Dataset("heads", ArrayStore(images), factors)
    monkeypatch.setattr(Heads, "load", lambda self: dataset)

    models = {}
    monkeypatch.setattr(Run, "model", lambda self: models[self])

    def make(turn=0.0, reach=1.0, deviations=DEVIATIONS, seeds=2):
        config = ModelConfig(6, "diagonal", "gaussian", MLP((), "tanh", (), "tanh"))
        model = Autoencoder(config, (1, 8, 8), [0])
        rotation = torch.eye(4)
        rotation[:2, :2] = torch.tensor(
            [[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]]
        )
        to_image = reach * rotation @ patterns / 3
        into, out_of = torch.zeros(64, 12), torch.zeros(6, 64)
        for latent, factor in CARRIED.items():
            into[:, latent] = torch.linalg.pinv(to_image)[:, factor]
            out_of[latent] = to_image[factor]
        bias = torch.cat([-0.5 * into[:, :6].sum(0), 2 * torch.tensor(deviations).log()])
        with torch.no_grad():
            encoder, decoder = model.encoder.layers[0], model.decoder.layers[0]
            encoder.weight[0], encoder.bias[0, 0] = into, bias
            decoder.weight[0], decoder.bias[0, 0] = out_of, torch.full((64,), 0.5)
        cell = STUDY.cells("quick")[0]
        runs = []
        for seed in range(seeds):  # the same weights: differences are certain
            name = f"{turn} {reach} {deviations} {seed}"
            own = replace(cell.config, model=config, seed=seed)
            runs.append(Run(tmp_path / name, own, {"weights_sha256": name}))
            models[runs[-1]] = model.eval()
        return Results(STUDY, "quick", (Outcome(cell, tuple(runs), {}),))

    return make


def test_latents_come_in_the_order_of_their_deviation(planted, patterns):
    run = planted().outcomes[0].runs[0]
    found, images = find_axes(run), move_latents(probe_run(run, samples=SEEN))
    assert found.deviation == pytest.approx(sorted(DEVIATIONS))
    # The squared error bends by twice the squared length of a column.
    assert found.effect[:4] == pytest.approx(2 * (patterns / 3).square().sum(1).numpy(), rel=1e-4)
    assert found.effect[4:] == pytest.approx(0)
    assert found.active.tolist() == 4 * [True] + 2 * [False]
    # The mean code of 300 images is near 0, and each axis carries its own factor.
    image = images[1, -1].flatten()
    middle = images[1, 2].flatten()
    assert image - middle == pytest.approx(2.5 * patterns[1] / 3, abs=1e-5)
    assert middle == pytest.approx(torch.full((64,), 0.5), abs=0.02)
    assert found.latents.parts.argmax(0).tolist() == [0, 1, 2, 3]
    assert np.diag(found.latents.parts[:4]).min() > 0.95
    assert found.latents.parts[4:].max() < 0.1


def test_ordinary_axes_are_those_of_the_covariance(planted, patterns):
    images, _ = move_components(probe_run(planted().outcomes[0].runs[0], samples=SEEN))
    x = Heads().load().observe(torch.arange(8**4)).flatten(1).double()
    variances, axes = torch.linalg.eigh(torch.cov(x.T))
    expected = 2.5 * variances[-1].sqrt() * axes[:, -1]
    moved = (images[0, -1] - images[0, 2]).flatten()
    moved = moved * torch.sign(moved @ expected.float())
    assert moved == pytest.approx(expected, abs=0.02)  # a tenth of the images has been seen


def test_axes_with_a_meaning_are_told_from_turned_ones(planted):
    straight = planted()
    assert telling(straight).holds
    assert "axes 4.00 against " in meaningful(straight).evidence
    turned = telling(planted(turn=math.pi / 4))
    assert turned.holds is False
    assert "lighting 1.00 against 0." in turned.evidence  # it alone was not turned


def test_traversals_within_the_data_and_beyond(planted):
    """A factor reaches from -1 to 1, and 2.5 of its deviations along a component to 1.45."""
    within, beyond = planted(reach=0.3), planted(reach=1.0)
    for results, holds in ((within, True), (beyond, False)):
        assert faithful(results).holds is holds


def test_order_of_deviation_and_effect(planted):
    assert ordered(planted()).holds
    assert ordered(planted(deviations=(0.95, 0.1, 0.97, 0.4, 0.3, 0.2))).holds is False


def test_one_seed_decides_nothing(planted):
    for claim in STUDY.claims:
        assert claim.check(planted(seeds=1)).holds is None


def test_without_runs_nothing_is_claimed():
    for claim in STUDY.claims:
        assert claim.check(Results(STUDY, "quick")).holds is None


def test_distance_to_the_nearest_image():
    """Images whose grey value is the step: the nearest of 0 and 1 is 1.5, 1.25 and 0.25 away."""
    grey = torch.tensor([-2.5, -1.25, 0, 1.25, 2.5])[None, :, None, None, None]
    x = torch.stack([torch.zeros(1, 4, 4), torch.ones(1, 4, 4)])
    expected = math.sqrt((2.5**2 + 1.25**2 + 0.25**2 + 1.5**2) / 4)
    assert distance_to_data(grey.expand(1, 5, 1, 4, 4), x) == pytest.approx(expected)


def test_traversals_move_one_axis():
    moved = traversal(torch.eye(3)[[2, 0]])
    assert moved[0, -1].tolist() == [0, 0, 2.5]
    assert moved[1, 1].tolist() == [-1.25, 0, 0]


def test_the_picture_has_a_row_an_axis(planted):
    results = planted()
    left, right = draw("heads", results).axes
    labels = [label.get_text().split() for label in left.get_yticklabels()]
    assert [label[1:3] for label in labels[:3]] == [
        ["0.10", "azimuth"],
        ["0.20", "elevation"],
        ["0.30", "lighting"],
    ]
    assert draw("celeba", results) is None
    assert right.get_title() == "ordinary eigenfaces"
    assert label_axes(["a"], np.zeros((1, 0)), ()) == ["a"]


def test_tiles_are_where_they_belong():
    images = torch.rand(2, 3, 3, 4, 4)
    shown = eigenfaces({"x": (images, ["a", "b"])}, (-1.0, 0.0, 1.0)).axes[0]
    picture = np.asarray(shown.images[0].get_array())
    assert picture.shape == (10, 16, 3)
    assert picture[6:10, 12:16] == pytest.approx(images[1, 2].permute(1, 2, 0).numpy())
    assert [label.get_text() for label in shown.get_xticklabels()] == ["-1", "mean", "+1"]
    with pytest.raises(ValueError, match="panels must hold at least one"):
        eigenfaces({}, (0.0,))


def test_scales():
    """Published settings at the scale of the paper, and CelebA only there."""
    assert [cell.row for cell in STUDY.cells("quick")] == ["heads"]
    heads, celeba = STUDY.cells("paper")
    assert heads.config.objective == celeba.config.objective
    assert heads.config.model == celeba.config.model
    assert heads.config.steps == 50 * (101_640 // 128)
    assert STUDY.departures(heads) == "rendered heads stand for CelebA"
    assert STUDY.departures(celeba) == ""
