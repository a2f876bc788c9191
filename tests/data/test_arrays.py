"""A data set of the user's own arrays."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from unpick.data import SharePairs, from_arrays, pairs, split
from unpick.training import RunConfig, preset, train


def test_numbers_come_back_as_they_were(rng):
    x, factors = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    data = from_arrays(x, factors, ["a", "b"])
    which = torch.tensor([7, 0, 7])
    expected = torch.tensor(x, dtype=torch.float32)[which]
    assert torch.equal(data.observe(which), expected)
    assert torch.equal(data.factor_values(which), torch.tensor(factors).float()[which])
    assert [factor.name for factor in data.factors] == ["a", "b"]
    assert [factor.values for factor in data.factors] == [(), ()]
    assert not data.is_grid
    x[7] = 0  # the data set has a copy
    assert torch.equal(data.observe(which), expected)


@pytest.mark.parametrize("make", [np.asarray, torch.as_tensor, lambda x: x.tolist()])
def test_arrays_tensors_and_lists_are_the_same_data(make, rng):
    x = rng.normal(size=(4, 2, 3)).astype(np.float32)
    data = from_arrays(make(x), make(x[:, 0]))
    assert np.array_equal(data.observe(torch.arange(4)).numpy(), x)
    assert np.array_equal(data.factor_values(torch.arange(4)).numpy(), x[:, 0])


def test_bytes_are_pixels_and_other_integers_are_numbers():
    x = np.array([[[[0, 51]]], [[[102, 255]]]])
    images = from_arrays(x.astype(np.uint8)).observe(torch.arange(2))
    assert images.flatten().tolist() == pytest.approx([0, 0.2, 0.4, 1])
    assert from_arrays(x).observe(torch.arange(2)).flatten().tolist() == [0, 51, 102, 255]
    factors = from_arrays(x, np.array([[7], [200]], np.uint8)).factor_values(torch.arange(2))
    assert factors.flatten().tolist() == [7, 200]


GRID = np.array([[a, b] for a in (0.5, 2.0) for b in (1, 3, 4)])


def test_factors_in_grid_order_make_a_grid():
    data = from_arrays(np.arange(6.0)[:, None], GRID, categorical=[True, False])
    assert data.is_grid
    assert [factor.values for factor in data.factors] == [(0.5, 2.0), (1.0, 3.0, 4.0)]
    assert [factor.categorical for factor in data.factors] == [True, False]
    assert [factor.name for factor in data.factors] == ["factor 0", "factor 1"]
    assert torch.equal(data.factor_values(torch.arange(6)), torch.tensor(GRID).float())
    first, second = pairs(data, 50, torch.Generator().manual_seed(0), SharePairs())
    kept = data.factor_values(first) == data.factor_values(second)
    assert kept.any(1).all()


@pytest.mark.parametrize("order", [[1, 0, 2, 3, 4, 5], [0, 1, 2, 3, 4, 4], [0, 1, 2, 3]])
def test_any_other_order_makes_none(order):
    data = from_arrays(np.zeros((len(order), 1)), GRID[order], categorical=[True, False])
    assert not data.is_grid
    assert data.factors[0].values == (0.5, 2.0)  # classes are listed
    assert data.factors[1].values == ()
    expected = torch.tensor(GRID[order]).float()
    assert torch.equal(data.factor_values(torch.arange(len(order))), expected)


def test_a_model_trains_on_it(rng):
    config = replace(preset("synth-lin"), steps=3, batch=8)
    assert isinstance(config, RunConfig)
    data = from_arrays(rng.normal(size=(50, 4)))
    assert [len(part) for part in split(data)] == [40, 5, 5]
    ensemble = train([config], data, False)
    assert ensemble.model.encode(data.observe(torch.arange(50))[None]).mean.shape[1] == 50


def with_value(value):
    x = np.zeros((3, 2))
    x[1, 0] = value
    return x


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((with_value(np.nan),), r"x must be finite.*1 values.*first nan at \(1, 0\)"),
        ((with_value(-np.inf),), r"x must be finite.*-inf"),
        ((with_value(1e300),), r"x must be finite in float32.*1e\+300"),
        ((np.zeros((3, 2)), with_value(np.nan)), r"factors must be finite.*nan at \(1, 0\)"),
        (([[1.0, 2.0], [3.0]],), "x must be one array, got rows of different lengths"),
        ((np.array([["a"], ["b"]]),), "x must hold real numbers, got type <U1"),
        ((np.ones((3, 2)) * 1j,), "x must hold real numbers, got type complex128"),
        ((np.array([[None], [1]]),), "x must hold real numbers, got type object"),
        ((np.zeros((1, 2)),), r"at least 2 rows and no empty axis, got shape \(1, 2\)"),
        ((np.zeros((0, 2)),), r"at least 2 rows and no empty axis, got shape \(0, 2\)"),
        ((np.zeros((3, 0)),), r"at least 2 rows and no empty axis, got shape \(3, 0\)"),
        ((np.zeros(3),), r"x must have shape \(n, ...\), got shape \(3,\)"),
        ((np.zeros((3, 2)), np.zeros((2, 2))), r"shape \(3, k\).*got \(2, 2\)"),
        ((np.zeros((3, 2)), np.zeros(3)), r"shape \(3, k\).*got \(3,\)"),
        ((np.zeros((3, 2)), np.zeros((3, 0))), r"shape \(3, k\).*got \(3, 0\)"),
        ((np.zeros((3, 2)), np.zeros((3, 2)), ["a"]), "names must have 2 entries"),
        ((np.zeros((3, 2)), np.zeros((3, 2)), ["a", "a"]), "names of factors must differ"),
        ((np.zeros((3, 2)), np.zeros((3, 2)), None, [True]), "categorical must have 2 entries"),
        ((np.zeros((3, 2)), None, ["a"]), "names needs factors"),
        ((np.zeros((3, 2)), None, None, [True]), "categorical needs factors"),
    ],
)
def test_what_is_no_data_set_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        from_arrays(*arguments)
