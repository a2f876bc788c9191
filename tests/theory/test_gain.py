import math

import pytest
import torch

from unpick.data import Dataset, Factor
from unpick.data.dataset import ArrayStore
from unpick.theory import factor_gains, gain_per_nat


def test_a_one_hot_factor_saves_what_it_costs_and_the_entropy_of_not_being_the_others():
    n = 5
    # n pixels, one lit for each value: H(1/n) each before, none after.
    before = n * -(math.log(1 / n) / n + (1 - 1 / n) * math.log(1 - 1 / n))
    found = gain_per_nat(torch.eye(n).double())
    assert float(found) == pytest.approx(before / math.log(n))


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_the_gain_goes_with_the_number_of_pixels(likelihood):
    x = torch.rand(4, 3, 7, generator=torch.Generator().manual_seed(0)).double()
    once, twice = gain_per_nat(x, likelihood), gain_per_nat(torch.cat([x, x], -1), likelihood)
    assert once.shape == (4,)
    torch.testing.assert_close(twice, 2 * once)
    assert (once > 0).all()
    torch.testing.assert_close(
        gain_per_nat(x[:, :1].expand(-1, 3, -1), likelihood), torch.zeros(4).double()
    )


def test_squared_error_saves_the_variance():
    x = torch.tensor([[0.0], [2.0]])
    assert float(gain_per_nat(x, "gaussian")) == pytest.approx(1 / math.log(2))


def planted():
    """Two factors: the first lights three pixels, the second one."""
    rows = [[a, a, a, b] for a in (0.0, 1.0) for b in (0.0, 1.0)]
    factors = (Factor("wide", (0.0, 1.0)), Factor("narrow", (0.0, 1.0)))
    return Dataset("planted", ArrayStore(torch.tensor(rows)), factors)


def test_each_factor_of_a_grid_has_its_own_gain():
    assert factor_gains(planted(), draws=3) == pytest.approx({"wide": 3.0, "narrow": 1.0})


def test_wrong_input_is_refused():
    with pytest.raises(ValueError, match="at least 2 values of the factor, got 1"):
        gain_per_nat(torch.rand(1, 4))
    with pytest.raises(ValueError, match="draws must be at least 1, got 0"):
        factor_gains(planted(), draws=0)
