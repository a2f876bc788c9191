"""Factors on no grid: planted slopes in noise, sizes of neighbourhoods, factors of few values."""

import numpy as np
import pytest
import torch

import unpick
from unpick.data import from_arrays
from unpick.forecasting.directions import local_directions
from unpick.forecasting.kinds import closes
from unpick.forecasting.linear_fit import fit, neighbourhood_sums
from unpick.forecasting.regressions import Regressions, best_size


def foretell(x, w, **options):
    names = [f"f{k}" for k in range(w.shape[1])]
    return unpick.forecast(from_arrays(x, w, names), show=False, **options)


def standardise(x):
    return (x - x.mean(0)) / x.std(0)


def test_factors_that_change_nothing_are_noise():
    rng = np.random.default_rng(0)
    found = foretell(rng.normal(size=(2000, 2)), rng.normal(size=(2000, 2)))
    assert all(f.noise for f in found.factors)
    assert [(f.length, f.saving) for f in found.factors] == [(0, 0), (0, 0)]
    assert (found.pairs, found.order, found.betas, found.prediction) == ((), (), None, None)
    words = " ".join(note.text for note in found.findings)
    assert "f0 and f1 are not told from noise" in words
    assert "no beta is suggested" in words


@pytest.mark.parametrize("rows", [500, 2000, 20_000])
def test_noise_beside_a_factor_does_not_lengthen_it(rows):
    rng = np.random.default_rng(1)
    f = rng.normal(size=rows)
    found = foretell(standardise(np.c_[f, rng.normal(size=rows)]), f[:, None])
    assert found.factors[0].length == pytest.approx(1, abs=0.06)
    assert found.factors[0].saving == pytest.approx(2, abs=0.25)


def test_noise_does_not_tilt_orthogonal_directions():
    rng = np.random.default_rng(2)
    w = rng.normal(size=(2000, 2))
    found = foretell(w * [1.0, 0.5] + 0.3 * rng.normal(size=(2000, 2)), w)
    assert [f.length for f in found.factors] == pytest.approx([1, 0.5], rel=0.05)
    assert found.pairs[0].cosine < 0.1


def test_one_factor_in_noise_leaves_the_other_its_forecast():
    rng = np.random.default_rng(3)
    w = rng.normal(size=(1000, 3))
    found = foretell(np.c_[3 * w[:, 0], w[:, 1]] + 0.1 * rng.normal(size=(1000, 2)), w)
    assert [f.noise for f in found.factors] == [False, False, True]
    assert [(p.first, p.second) for p in found.pairs] == [("f0", "f1")]
    assert found.order == ("f1", "f0")


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_classes_that_change_nothing_save_nothing(likelihood):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        label = rng.integers(0, 10, 400)
        x = (rng.random((400, 50)) < 0.3).astype(float)
        told = x.copy()
        told[:, 0] = label % 2
        for observations, noise in ((x, True), (told, False)):
            data = from_arrays(observations, label[:, None], ["label"], [True])
            (factor,) = unpick.forecast(data, likelihood=likelihood, show=False).factors
            assert (factor.noise, factor.saving == 0) == (noise, noise)


def test_a_curved_map_has_small_neighbourhoods_and_a_noisy_line_large_ones():
    """In large ones the slope of the circle would be a third of the true one."""
    rng = np.random.default_rng(4)
    turn = 6 * rng.random((5000, 1))
    circle = np.c_[np.sin(turn), np.cos(turn)] + 0.05 * rng.normal(size=(5000, 2))
    found = foretell(circle, turn)
    assert found.factors[0].length == pytest.approx(turn.std(), rel=0.05)
    line = foretell(turn + 3 * rng.normal(size=(5000, 1)), turn)
    assert line.factors[0].length == pytest.approx(turn.std(), rel=0.15)


def test_best_size_is_the_largest_that_is_not_worse():
    rng = np.random.default_rng(5)
    same = 1 + 0.1 * rng.random((50, 1)) * np.ones(3)
    assert best_size(same) == 2
    assert best_size(same * [1, 1, 1.5]) == 1
    assert best_size(same * [3, 1, 1.5]) == 1
    few = same * [1, 2, 2]
    few[:40, 0] = np.inf  # a size at which few points have a regression does not count
    assert best_size(few) == 2


def test_a_fit_is_that_of_least_squares_and_its_error_that_without_the_point():
    rng = np.random.default_rng(6)
    w, x = np.c_[np.ones(30), rng.normal(size=(30, 2))], rng.normal(size=(30, 4))
    w[0, 1:] = 0
    *_, sums = neighbourhood_sums(w, x, (10, 30))
    found = fit(sums)
    slopes, squares, *_ = np.linalg.lstsq(w, x, rcond=None)
    noise = squares.sum() / 27 * np.linalg.inv(w.T @ w)[1:, 1:]
    np.testing.assert_allclose(found.gram, slopes[1:] @ slopes[1:].T - noise, atol=1e-9)
    np.testing.assert_allclose(found.power.sum(0), found.gram.diagonal(), atol=1e-9)
    without = np.linalg.lstsq(w[1:], x[1:], rcond=None)[0]
    assert found.error == pytest.approx(np.square(x[0] - w[0] @ without).sum())


def test_negative_squares_after_subtraction_do_not_lengthen_a_direction(monkeypatch):
    """Gram matrices have none, so those are clipped; the mean must stay."""
    gram, ones = np.array([4.0, -1.0, 6.0]).reshape(3, 1, 1), np.ones((3, 1))
    found = Regressions([0, 1, 2], gram, 0.1 * ones, ones)
    monkeypatch.setattr("unpick.forecasting.directions.regress", lambda *_: found)
    w = np.array([[0.0], [0.0], [1.0]])  # no grid
    directions = local_directions(from_arrays(w, w), (0,), 3, torch.Generator())
    assert directions.gram.flatten().tolist() == pytest.approx([3.6, 0, 5.4])


def test_a_factor_of_two_values_is_regressed_on_and_never_periodic():
    rng = np.random.default_rng(7)
    w = np.c_[rng.normal(size=2000), rng.integers(0, 2, 2000)]
    found = foretell(w * [1.0, 4.0] + 0.1 * rng.normal(size=(2000, 2)), w)
    assert [f.length for f in found.factors] == pytest.approx([1, 2], rel=0.03)
    assert {f.kind for f in found.factors} == {"ordered"}


def test_a_factor_of_two_values_does_not_widen_neighbourhoods():
    rng = np.random.default_rng(8)
    turn, other = 9 * rng.random(1500), rng.integers(0, 2, 1500)
    x = np.c_[np.sin(turn), np.cos(turn), other * 2.0]
    found = foretell(x, np.c_[turn, other])
    assert [f.length for f in found.factors] == pytest.approx([turn.std(), 1], rel=0.03)


@pytest.mark.parametrize(("values", "closed"), [(2, False), (4, False), (6, True)])
def test_a_factor_of_few_values_is_never_periodic(monkeypatch, values, closed):
    monkeypatch.setattr("unpick.forecasting.kinds._scattered", lambda *_: [1.0, 1.0, 2.0])
    w = np.random.default_rng(9).integers(0, values, (100, 1))
    assert closes(from_arrays(w.astype(float), w), 0, (0,)) == closed


def test_neighbourhoods_grow_where_a_factor_is_constant_in_the_largest():
    """With 30 000 rows the 2000 nearest ones have the same of six values."""
    rng = np.random.default_rng(8)
    w = np.c_[rng.normal(size=30_000), rng.integers(0, 6, 30_000)]
    found = foretell(w + 0.1 * rng.normal(size=w.shape), w, points=20)
    assert found.factors[1].length == pytest.approx(w[:, 1].std(), rel=0.05)


def test_what_regressions_cannot_have_is_named():
    rng = np.random.default_rng(9)
    f = rng.normal(size=(200, 2))
    with pytest.raises(ValueError, match=r"factors f0, f2 of arrays are collinear: .* leave one"):
        foretell(f, np.c_[f, 1 - 3 * f[:, :1]])
    label = np.arange(200) % 2
    data = from_arrays(f, np.c_[f[:, :1], label, label], ["f", "g", "label"], [False, False, True])
    with pytest.raises(ValueError, match="collinear among rows of the same classes: f, g"):
        unpick.forecast(data, show=False)
    data = from_arrays(f[:20], np.c_[f[:20], np.arange(20) % 5], None, [False, False, True])
    with pytest.raises(ValueError, match="at least 6 rows of the same classes, arrays has 4"):
        unpick.forecast(data, show=False)
    for bad in (f - 10, f + 10):
        with pytest.raises(ValueError, match=r"x must lie in \[0, 1\] for a Bernoulli"):
            foretell(bad, f, likelihood="bernoulli")
