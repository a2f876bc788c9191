"""What merges and what overlaps (Allen 2024, figure 2), read off models with planted weights."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from planted_weights import finish
from unpick.data.synthetic import Circles
from unpick.models.posterior import Diagonal
from unpick.objectives import BetaVAE
from unpick.papers.allen2024.beta import figures, plots
from unpick.papers.allen2024.beta.readings import (
    LEVELS,
    circle_labels,
    from_centres,
    overlaps,
    shares,
)
from unpick.papers.allen2024.beta.study import STUDY
from unpick.probe import measure_run, probe_run
from unpick.probe.cache import FOLDER
from unpick.probe.measures import take
from unpick.runs import Runner, make, read
from unpick.study import Outcome, Results
from unpick.study.study import Cell
from unpick.training import preset


def test_shares_of_reconstructions_by_centres():
    dataset = Circles(points=500).load()
    x, labels = dataset.observe(torch.arange(500)), circle_labels(dataset)
    circle, group = x.clone(), x.clone()
    for column, centre in zip(labels.T, (circle, group), strict=True):
        for label in column.unique():
            centre[column == label] = x[column == label].mean(0)
    for guess, kept in (
        (x, (1, 1, 1)),
        (circle, (0, 1, 1)),
        (group, (0, 0, 1)),
        (x.mean(0).expand_as(x), (0, 0, 0)),
        (x / 2 + 7, (0.25, 0.25, 0.25)),  # where the mean lies does not count
    ):
        expected = dict(zip(LEVELS, kept, strict=True))
        assert shares(guess, x, labels) == pytest.approx(expected, abs=1e-5)


def test_distances_from_centres_are_shares_of_the_radius():
    """A circle of radius 0.3 about each centre; centres are 1 from their group's."""
    dataset = Circles(points=6000).load()
    x, labels = dataset.observe(torch.arange(6000)), circle_labels(dataset)
    turn = dataset.values[:, 2]
    centre = x - 0.3 * torch.stack([turn.cos(), turn.sin()], 1)
    shifted = centre + torch.tensor([0.13, 0.0])
    for guess, off in ((x, 1.0), (centre, 0.0), (shifted, 0.13 / 0.3)):
        found = from_centres(guess[:100], labels[:100], x, labels)
        assert found["off centre, circles"] == pytest.approx(off, abs=0.1)
        assert found["most off centre, circles"] == pytest.approx(off, abs=0.2)
        assert found["off centre, groups"] == pytest.approx(1.0, abs=0.1)


def test_overlap_is_the_integral_of_the_geometric_mean():
    """Two posteriors a level, of which one pair lies on one circle, in a group, in two groups."""
    mean = torch.tensor([[0.0, 0.0], [0.5, 0.3], [-1.0, 0.4]])
    variance = torch.tensor([[0.3, 1.0], [0.6, 0.2], [0.5, 0.5]])
    labels = torch.tensor([[0, 0], [0, 0], [1, 0]])
    line = torch.linspace(-8, 8, 401)
    grid = torch.cartesian_prod(line, line)
    q = Diagonal(mean, variance.log())
    normal = torch.distributions.Normal(mean, variance.sqrt())
    density = normal.log_prob(grid[:, None]).sum(2).double().exp()

    def integral(i, j):
        return float((density[:, i] * density[:, j]).sqrt().sum() * (line[1] - line[0]) ** 2)

    found = overlaps(q, labels)
    assert found["points"] == pytest.approx(integral(0, 1), rel=1e-4)
    assert found["circles"] == pytest.approx((integral(0, 2) + integral(1, 2)) / 2, rel=1e-4)
    apart = overlaps(q, torch.tensor([[0, 0], [0, 0], [4, 1]]))
    assert apart["groups"] == found["circles"]
    same = Diagonal(torch.ones(3, 2), torch.zeros(3, 2))
    assert overlaps(same, labels)["points"] == pytest.approx(1)


SMALL = replace(
    preset("circles"),
    data=Circles(points=2000),
    model=replace(preset("linear-gaussian").model, latents=2),  # a linear one
    objective=BetaVAE(0.2),
    steps=0,
)


@pytest.fixture
def run(tmp_path):
    (made,) = make([SMALL], Runner(tmp_path, progress=False, jobs=1))
    return made


def with_weights(run, **given):
    """The same run with these weights, the others 0; a dot is told by two underscores."""
    weights = {name: torch.zeros_like(w[0]) for name, w in run.model().state_dict().items()}
    for name, values in given.items():
        weights[name.replace("__", ".layers.0.")].copy_(torch.as_tensor(values))
    finish(run.path, weights, run.results)
    return read(run.path)


def read_off(run):
    """What the study reads off a run, not cached."""
    return take(probe_run(run), STUDY.read)


def test_a_collapsed_vae_decodes_the_mean_which_is_the_average_of_all(run):
    dataset = SMALL.data.load()
    mean = dataset.observe(torch.arange(len(dataset))).mean(0)
    found = read_off(with_weights(run, decoder__bias=mean))
    assert found["active"] == 0
    assert [found[f"variance {k}"] for k in (1, 2)] == [1, 1]
    for level in LEVELS:
        assert found[level] == pytest.approx(0, abs=1e-9)
        assert found[f"overlap, {level}"] == pytest.approx(1)
    assert found["off average"] < 0.02  # the training part has a mean of its own
    assert found["off point"] == pytest.approx(1, abs=0.1)


def test_narrow_posteriors_keep_every_point_apart(run):
    """An encoder that copies its input, and a decoder that copies it back."""
    copy = {"encoder__weight": torch.eye(2, 4), "decoder__weight": torch.eye(2)}
    narrow = with_weights(run, **copy, encoder__bias=[0, 0, -14.0, -14.0])
    found = read_off(narrow)
    assert found["active"] == 2
    for level in LEVELS:
        assert found[level] == pytest.approx(1)
    assert found["overlap, groups"] == 0
    assert 0 < found["overlap, points"] < 0.05
    assert found["off average"] < found["off point"] < 1e-3
    wide = read_off(with_weights(run, **copy, encoder__bias=[0, 0, -3.0, -3.0]))
    assert 1e-3 < wide["off average"] < wide["off point"]  # which copying is not the answer to


def test_readings_are_cached_and_read_back(run):
    taken = measure_run(run, STUDY.read)

    def refuse():
        raise AssertionError("the data were loaded")

    assert measure_run(run, STUDY.read, refuse) == taken
    (merging,) = (run.path / FOLDER).glob("merging-*.json")
    merging.write_text("{}")
    assert measure_run(run, STUDY.read, SMALL.data.load) == taken


def test_pictures_of_models(run):
    """Seed 0 at one beta: what it makes of the data, and its posteriors in data units."""
    copy = {"encoder__weight": torch.eye(2, 4), "decoder__weight": torch.eye(2) / 2}
    model = with_weights(run, **copy, encoder__bias=[0, 0, -2.0, -4.0])
    outcome = Outcome(Cell("circles", "beta 0.2", SMALL), (model,), {})
    results = Results(STUDY, "quick", (outcome,))
    data, panel = [axes for axes in figures.draw_reconstructions(results).axes if axes.get_title()]
    shown, orange = (line.get_xydata() for line in panel.lines)
    assert orange == pytest.approx(shown / 2)
    assert data.lines[0].get_xydata() == pytest.approx(shown)
    (axes,) = figures.draw_posteriors(results).axes
    (ellipses,) = [each for each in axes.collections if hasattr(each, "get_widths")]
    assert ellipses.get_widths() == pytest.approx(2 * np.exp(-1.0))
    assert ellipses.get_heights() == pytest.approx(2 * np.exp(-2.0))
    assert ellipses.get_offsets() == pytest.approx(shown[: figures.DRAWN])
    with pytest.raises(ValueError, match="by_beta must hold at least one beta"):
        plots.reconstructions(np.zeros((3, 2)), {})
    with pytest.raises(ValueError, match="panels must hold at least one"):
        plots.posterior_ellipses([])
