"""Latents are uncorrelated: what a VAE can make of correlated factors."""

import numpy as np
import pytest
import torch

import unpick
from unpick.data import from_arrays, load
from unpick.forecasting.directions import local_directions
from unpick.forecasting.pairs import judge_pair
from unpick.forecasting.prediction import uncorrelated_scores


def correlated(r, lengths=(1.0, 1.0), seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(4000, 2))
    f = np.c_[z[:, 0], r * z[:, 0] + np.sqrt(1 - r**2) * z[:, 1]]
    return unpick.forecast(from_arrays(f * lengths, f, ["f", "g"]), show=False)


def test_equal_and_correlated_factors_become_sum_and_difference():
    found = correlated(0.9)
    (pair,) = found.pairs
    assert pair.correlation == pytest.approx(0.9, abs=0.01)
    assert abs(pair.angle) == pytest.approx(45, abs=1)
    assert pair.fate == "mixed"
    assert found.dto == pytest.approx(2 * np.sqrt(2) * np.sin(np.pi / 8), abs=0.02)  # 45 degrees
    # The factors themselves stay as they are.
    assert (pair.cosine, pair.close) == (pytest.approx(0, abs=0.01), 1.0)
    assert [f.length for f in found.factors] == pytest.approx([1, 1], rel=0.05)
    assert found.spectra.local_deviations == pytest.approx([1.9**0.5, 0.1**0.5], rel=0.05)
    (words,) = [note.text for note in found.findings if note.title == "Correlation"]
    assert "f with g (0.90)" in words


def test_principal_axes_of_the_observations_are_found_at_any_lengths():
    """The code is linear, so its axes are those of PCA, whatever the factors are."""
    r, lengths = 0.6, np.array([2.0, 1.0])
    (pair,) = correlated(r, tuple(lengths)).pairs
    covariance = lengths[:, None] * np.array([[1, r], [r, 1]]) * lengths
    principal = np.linalg.eigh(covariance)[1]
    squares, v = np.linalg.eigh([[1, r], [r, 1]])
    # The axes of PCA as a rotation of the whitened factors: R J^T u, normalised.
    root = v * np.sqrt(squares) @ v.T
    turned = root @ (lengths * principal[:, 1])
    expected = np.degrees(np.arctan2(turned[1], turned[0])) % 90
    assert abs(pair.angle) == pytest.approx(min(expected, 90 - expected), abs=1)


def test_ideal_codes_are_uncorrelated():
    r = np.array([[1.0, 0.9], [0.9, 1.0]])
    values = np.random.default_rng(1).multivariate_normal([3, -2], r, size=20_000)
    scores = uncorrelated_scores(values, torch.from_numpy(r)).numpy()
    np.testing.assert_allclose(np.cov(scores, rowvar=False), np.eye(2), atol=0.03)


def test_uncorrelated_factors_have_no_such_finding():
    found = correlated(0.0)
    assert "Correlation" not in {note.title for note in found.findings}


def test_a_grid_is_judged_as_it_is():
    generator = torch.Generator().manual_seed(0)
    found = local_directions(load("numerals"), (1, 2, 3), 5, generator)
    assert torch.equal(found.judged, found.gram)


def test_sureness_is_how_often_samples_of_points_agree():
    told = torch.tensor([[[4.0, 0.0], [0.0, 1.0]]], dtype=torch.float64)
    mixed = torch.tensor([[[4.0, 3.0], [3.0, 4.0]]], dtype=torch.float64)
    assert judge_pair(told.repeat(40, 1, 1))[2] == 1
    assert judge_pair(mixed.repeat(40, 1, 1))[2] == 1
    # Six points of twenty are mixed: with eight of them the fate turns.
    few = judge_pair(torch.cat([mixed.repeat(6, 1, 1), told.repeat(14, 1, 1)]))
    many = judge_pair(torch.cat([mixed.repeat(60, 1, 1), told.repeat(140, 1, 1)]))
    assert few[:2] == pytest.approx(many[:2])
    assert few[2] < 0.8 < many[2]
