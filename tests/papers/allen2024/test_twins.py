"""Theorem 3 of Allen (2024): planted twins, and a few that are trained."""

import numpy as np
import pytest

from unpick.papers.allen2024.beta import twins as allen_twins
from unpick.papers.allen2024.beta.study import STUDY
from unpick.study import Outcome, Results

NONE = Results(STUDY, "quick")
SOME = Results(STUDY, "quick", (Outcome(STUDY.cells("quick")[0], (), {}),))


@pytest.fixture
def twins(monkeypatch):
    """Distances of planted twins, to be changed by a test."""
    found = {"sgd": 1e-15, "adam": 1e-7, "not scaled": 0.5, "bernoulli": 0.0}

    def gaussian(beta, optimiser="sgd", *, scaled=True):
        return found[optimiser if scaled else "not scaled"]

    monkeypatch.setattr(allen_twins, "gaussian", gaussian)
    monkeypatch.setattr(allen_twins, "bernoulli", lambda beta: found["bernoulli"])
    monkeypatch.setattr(allen_twins, "scaled_likelihood", lambda family, beta: np.ones(3) / 3)
    return found


@pytest.mark.parametrize(
    "change", [{"sgd": 1e-6}, {"adam": 0.01}, {"not scaled": 1e-5}, {"bernoulli": 0.1}]
)
def test_twins_train_alike_or_do_not(twins, change):
    checks = allen_twins.gaussian_twins, allen_twins.bernoulli_twins
    assert [check(SOME).holds for check in checks] == [True, True]
    twins |= change
    wrong = int("bernoulli" in change)
    assert [check(SOME).holds for check in checks] == [k != wrong for k in range(2)]
    assert [check(NONE).holds for check in checks] == [None, None]


def test_a_likelihood_with_a_negative_probability_is_none(twins, monkeypatch):
    chances = {2.0: [1.1, -0.1], 4.0: [1.0, 0.0], 0.5: [0.5, 0.5], 0.2: [1.0, 0.0]}
    monkeypatch.setattr(
        allen_twins, "scaled_likelihood", lambda family, beta: np.array(chances[beta])
    )
    verdict = allen_twins.bernoulli_twins(SOME)
    assert verdict.holds is False
    assert "-0.100 at beta 2 and 0.000 at beta 4" in verdict.evidence
    assert "at 0.5 and 0.2 there is a twin" in verdict.evidence
    chances[0.2] = [1.1, -0.1]
    assert "there is a twin" not in allen_twins.bernoulli_twins(SOME).evidence


def test_trained_twins():
    assert allen_twins.gaussian(0.3) < 1e-12 < allen_twins.gaussian(0.3, "adam") < 1e-4
    assert allen_twins.bernoulli(1.0) == 0
    assert allen_twins.bernoulli(3.0) > 0.1


def test_twins_that_end_at_the_same_weights_are_drawn_at_rounding(twins):
    (axes,) = allen_twins.draw_twins(SOME).axes
    drawn = {line.get_label(): set(line.get_ydata()) for line in axes.lines}
    assert drawn == {
        "Gaussian, variance not scaled": {0.5},
        "Bernoulli": {1e-16},
        "Gaussian, Adam": {1e-7},
        "Gaussian, SGD": {1e-15},
    }
    assert allen_twins.draw_twins(NONE) is None
