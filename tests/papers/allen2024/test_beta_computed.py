"""What `allen-beta` computes without runs: pairs of theorem 3, and what linear VAEs predict."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from unpick.data.synthetic import Circles
from unpick.models import linear_vae
from unpick.papers.allen2024.beta import claims, computed, figures
from unpick.papers.allen2024.beta.cells import GRID, PLANTED
from unpick.papers.allen2024.beta.readings import circle_labels
from unpick.papers.allen2024.beta.study import STUDY
from unpick.study import Outcome, Results

CHECKS = claims.gaussian_twins, claims.bernoulli_twins
CELL = Outcome(STUDY.cells("quick")[0], (), {})
# Distances of planted pairs, and the least probabilities at beta 2, 4, 0.5 and 0.2.
ALIKE = {
    "sgd": [1e-15] * 4,
    "adam": [1e-7] * 4,
    "not scaled": [0.5] * 4,
    "bernoulli": [0.0] * 4,
    "tempered": [0.0] * 2,
    "whole": [0.0] * 2,
    "least": [0.3] * 4,
}


def planted(**change):
    """Results of pairs that train alike, but for what is changed; `_` stands for a space."""
    named = {name.replace("_", " "): values for name, values in change.items()}
    return Results(STUDY, "quick", (CELL,), computed={"twins": ALIKE | named})


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"sgd": [1e-15, 1e-6, 1e-15, 1e-15]}, 0),
        ({"adam": [0.01] * 4}, 0),
        ({"not_scaled": [0.5, 0.5, 0.5, 1e-5]}, 0),
        ({"tempered": [0.0, 0.1]}, 1),
    ],
)
def test_twins_train_alike_or_do_not(change, wrong):
    assert [check(planted()).holds for check in CHECKS] == [True, True]
    assert [check(planted(**change)).holds for check in CHECKS] == [k != wrong for k in range(2)]
    nothing = replace(planted(), outcomes=())
    assert [check(nothing).holds for check in CHECKS] == [None, None]


def test_a_likelihood_with_a_negative_probability_is_none():
    verdict = claims.bernoulli_twins(planted(least=[-0.1, 0.0, 0.5, 0.0]))
    assert verdict.holds is False
    assert "-0.100 at beta 2 and 0.000 at beta 4" in verdict.evidence
    assert "at 0.5 and 0.2 there is a twin" in verdict.evidence
    for change in ({"least": [-0.1, 0.0, 0.5, -0.1]}, {"whole": [0.0, 0.1]}):
        assert "there is a twin" not in claims.bernoulli_twins(planted(**change)).evidence


@pytest.mark.slow
def test_trained_twins():
    assert computed.gaussian(0.3) < 1e-12 < computed.gaussian(0.3, "adam") < 1e-4
    assert computed.bernoulli(1.0) == 0
    assert computed.bernoulli(0.1) < 1e-12
    assert min(computed.bernoulli(0.3), computed.bernoulli(3.0)) > 0.1


def test_distances_and_probabilities_are_named_by_their_pairs(monkeypatch):
    """Every number stands where the claims and the figure look for it."""
    monkeypatch.setattr(
        computed, "gaussian", lambda beta, by="sgd", *, scaled=True: (by, scaled, beta)
    )
    monkeypatch.setattr(computed, "bernoulli", lambda beta: beta)
    found = computed.compute_twins("quick")
    for name, kind in {
        "sgd": ("sgd", True),
        "adam": ("adam", True),
        "not scaled": ("sgd", False),
    }.items():
        assert found[name] == [(*kind, beta) for beta in computed.SCALED]
    assert found["bernoulli"] == [*computed.SCALED]
    assert found["tempered"] == [*computed.TEMPERED]
    assert found["whole"] == [*computed.WHOLE]
    assert [least < -1e-3 for least in found["least"]] == [True, True, False, False]


def test_twins_that_end_at_the_same_weights_are_drawn_at_rounding():
    (axes,) = figures.draw_twins(planted()).axes
    drawn = {
        line.get_label(): (len(line.get_xdata()), set(line.get_ydata())) for line in axes.lines
    }
    assert drawn == {
        "Gaussian, variance not scaled": (4, {0.5}),
        "Bernoulli, no twin: the nearest": (2, {1e-16}),
        "Gaussian, Adam": (4, {1e-7}),
        "Bernoulli, beta = 1/k": (2, {1e-16}),
        "Gaussian, SGD": (4, {1e-15}),
    }
    assert figures.draw_twins(replace(planted(), outcomes=())) is None


LIMITS = {"points": 0.09, "circles": 1.09, "groups": 10.09}  # twice radius^2 / 2, added up


def test_levels_merge_by_the_variance_of_what_merges():
    dataset = Circles().load()
    x = dataset.observe(torch.arange(len(dataset)))
    found = computed.merging_limits(x, circle_labels(dataset))
    assert found == pytest.approx(LIMITS, rel=0.03)
    limits = computed.compute_limits("quick")
    assert limits["levels"] == found
    # Of all, which is the only one that a linear VAE has.
    assert limits["collapse"]["circles"] == pytest.approx(found["groups"], rel=1e-5)
    for share, used in ((0.99, True), (1.01, False)):
        assert bool(linear_vae(x, 2, share * found["groups"] / 2).weights.any()) == used


def test_the_best_linear_vae_has_the_noise_by_the_eigenvalue():
    dataset = PLANTED.load()
    x = dataset.observe(torch.arange(len(dataset)))
    values = torch.linalg.eigvalsh(torch.cov(x.double().T, correction=0)).numpy()[:-5:-1]
    linear = computed.compute_linear_vaes("quick")
    for beta in GRID["linear-gaussian"]:
        expected = np.minimum(1, beta / 2 / values)
        assert computed.expected_variances(linear, beta) == pytest.approx(expected, rel=1e-6)
    curve = linear["curve"]
    assert curve["beta"][0] < min(GRID["linear-gaussian"])
    assert curve["beta"][-1] > max(GRID["linear-gaussian"])
    exact = np.minimum(1, np.array(curve["beta"])[:, None] / 2 / values)
    assert np.array(curve["variance"]) == pytest.approx(exact, rel=1e-6)
