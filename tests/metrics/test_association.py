import math

import numpy as np
import pytest
from scipy import stats

from unpick.metrics.association import association


def pairs(rng, correlation, n):
    x, noise = rng.normal(size=(2, n))
    return x, correlation * x + math.sqrt(1 - correlation**2) * noise


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_pearson_is_that_of_scipy(rng, level):
    x, y = pairs(rng, -0.6, 25)
    theirs = stats.pearsonr(x, y)
    low, high = theirs.confidence_interval(level)
    ours = association(x, y, level).pearson
    assert (ours.value, ours.low, ours.high) == pytest.approx((theirs.statistic, low, high))


def test_spearman_is_that_of_scipy_with_ties(rng):
    x, y = rng.integers(5, size=(2, 40))
    y = x + y
    assert association(x, y).spearman.value == pytest.approx(stats.spearmanr(x, y).statistic)


def test_a_variance_worked_out_by_hand():
    """Ranks 1..5 against 2, 1, 4, 3, 5: rho = 1 - 6 * 4 / (5 * 24) = 0.8."""
    found = association(np.arange(1.0, 6.0), np.array([2.0, 1.0, 4.0, 3.0, 9.0])).spearman
    half = 1.959964 * math.sqrt((1 + 0.32) / 2)
    middle = 0.5 * math.log(1.8 / 0.2)
    expected = (0.8, math.tanh(middle - half), math.tanh(middle + half))
    assert (found.value, found.low, found.high) == pytest.approx(expected)


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, -0.6, 0.9])
def test_intervals_cover_the_planted_correlation(rng, correlation):
    """Normal pairs, Spearman's through a monotonic map, for which rho = 6 / pi asin(r / 2)."""
    rho = 6 / math.pi * math.asin(correlation / 2)
    linear = monotonic = 0
    for _ in range(1500):
        x, y = pairs(rng, correlation, 25)
        found = association(x, y)
        linear += found.pearson.low < correlation < found.pearson.high
        bent = association(np.exp(x), y**3).spearman
        assert bent == found.spearman
        monotonic += bent.low < rho < bent.high
    # 4 standard errors of a share of 1500 are 0.023; Bonett and Wright are a little too sure.
    assert linear / 1500 == pytest.approx(0.95, abs=0.023)
    assert monotonic / 1500 == pytest.approx(0.95, abs=0.035)


def test_exchange_and_sign(rng):
    x, y = pairs(rng, 0.5, 12)
    found, swapped, mirrored = association(x, y), association(y, x), association(x, -y)
    assert found == swapped
    assert mirrored.spearman.value == pytest.approx(-found.spearman.value)
    assert mirrored.pearson.low == pytest.approx(-found.pearson.high)


def test_a_line_leaves_no_doubt():
    x = np.array([0.1, 0.2, 0.3, 0.7])
    found = association(x, 3 - 2 * x)
    assert found.pearson.value == pytest.approx(-1)
    assert found.spearman.low == found.spearman.high == -1
    assert str(found.spearman) == "-1.00 [-1.00, -1.00]"


def test_bad_input():
    x = np.arange(5.0)
    with pytest.raises(ValueError, match="4 or more values each, got 3 and 3"):
        association(x[:3], x[:3])
    with pytest.raises(ValueError, match=r"y is constant, 0\.1"):
        association(x, np.full(5, 0.1))
    with pytest.raises(ValueError, match="x must be finite, got 1 that"):
        association(np.array([0.0, 1.0, math.nan, 2.0, 3.0]), x)
    with pytest.raises(ValueError, match=r"level must lie between 0 and 1, got 95\.0"):
        association(x, x, 95.0)
