import math

import numpy as np
import pytest
from sklearn.metrics import mutual_info_score

from unpick.metrics.bootstrap import bootstrap, intervals


def mean(x):
    return float(x.mean())


def test_standard_error_of_a_mean(rng):
    x = rng.normal(size=50)
    interval = bootstrap(mean, (x,), draws=5000)
    # Over resamples a mean has variance sum((x - mean)^2) / n^2, and no bias.
    exact = math.sqrt(np.sum((x - x.mean()) ** 2)) / 50
    assert interval.value == x.mean()
    assert interval.deviation == pytest.approx(
        exact, rel=0.04
    )  # 4 deviations of 1 / sqrt(2 * 5000)
    assert abs(interval.bias) < 4 * exact / math.sqrt(5000)
    assert interval.high - interval.value == pytest.approx(1.96 * interval.deviation)
    assert interval.value - interval.low == pytest.approx(1.96 * interval.deviation)
    assert interval.draws == 5000


def test_the_numbers_of_two_draws():
    answers = iter([5.0, 1.0, 3.0])  # the observations themselves come first
    interval = bootstrap(lambda x: next(answers), (np.ones(4),), draws=2)
    assert interval.value == 5
    assert interval.deviation == pytest.approx(math.sqrt(2))
    assert interval.bias == pytest.approx(2 - 5)
    assert (interval.low, interval.high) == pytest.approx((5 - 1.96 * 2**0.5, 5 + 1.96 * 2**0.5))


@pytest.mark.slow
def test_the_interval_of_a_mean_covers_the_truth(rng):
    covered = 0
    for x in rng.normal(loc=2.0, size=(400, 60)):
        interval = bootstrap(mean, (x,), draws=60, rng=rng)
        covered += interval.low < 2 < interval.high
    # 94 % with 60 rows and 60 draws, and 4 standard errors of a share of 400.
    assert 0.89 < covered / 400 < 0.985


def test_bias_of_a_plug_in_variance(rng):
    """The variance divided by n is on average (n - 1) / n of the variance it resamples from."""
    x = rng.normal(size=20)
    interval = bootstrap(lambda x: float(x.var()), (x,), draws=5000)
    error = 4 * interval.deviation / math.sqrt(5000)
    assert interval.bias == pytest.approx(-x.var() / 20, abs=error)


def test_plug_in_information_rises_on_resamples(rng):
    """Percentiles would lie above the value; the interval stays around it."""
    a, b = rng.integers(20, size=500), rng.integers(10, size=500)
    interval = bootstrap(mutual_info_score, (a, b))
    assert interval.bias == pytest.approx(19 * 9 / (2 * 500), rel=0.2)  # (a - 1) (b - 1) / 2n
    assert interval.bias > 1.96 * interval.deviation
    assert interval.low < interval.value < interval.high


def test_rows_of_a_group_stay_together_and_groups_are_drawn_apart(rng):
    x = rng.normal(size=(100, 3))

    def gap(a, b):
        return float(np.mean(a[:, 0] - b[:, 0]))

    together, apart = bootstrap(gap, (x, x)), bootstrap(gap, (x,), (x,), draws=1000)
    assert together.deviation == together.bias == 0
    assert apart.deviation == pytest.approx(math.sqrt(2 / 100) * x[:, 0].std(), rel=0.1)


def test_no_row_leaks_from_one_group_to_another():
    seen = []

    def score(fit, labels, test):
        assert (labels == -fit).all()
        assert len(fit) == 30
        assert len(test) == 10
        seen.append((set(fit), set(test)))
        return 0.0

    rows = np.arange(40)
    bootstrap(score, (rows[:30], -rows[:30]), (rows[30:],), draws=20)
    assert len(seen) == 21
    for fit, test in seen:
        assert fit <= set(range(30))
        assert test <= set(range(30, 40))
    assert all(len(fit) < 30 for fit, _ in seen[1:])


def test_several_scores_share_the_resamples(rng):
    x = rng.normal(size=(40, 2))
    both = intervals(lambda x: [x[:, 0].mean(), x[:, 1].max()], (x,))
    assert both[0] == bootstrap(lambda x: x[:, 0].mean(), (x,))
    assert both[1] == bootstrap(lambda x: x[:, 1].max(), (x,))


def test_the_same_generator_gives_the_same_interval(rng):
    x = rng.normal(size=30)
    first = bootstrap(mean, (x,), rng=np.random.default_rng(3))
    assert first == bootstrap(mean, (x,), rng=np.random.default_rng(3))
    assert first != bootstrap(mean, (x,), rng=np.random.default_rng(4))
    assert bootstrap(mean, (x,)) == bootstrap(mean, (x,), rng=np.random.default_rng(0))


def test_a_resample_without_a_score_is_an_error():
    """One row of the second class: more than a third of the resamples lose it."""
    labels = np.array([0] * 20 + [1])

    def two_classes(labels):
        if len(np.unique(labels)) < 2:
            raise RuntimeError("one class only")
        return 1.0

    with pytest.raises(ValueError, match=r"resample \d+ of 100 has no score \(one class only\)"):
        bootstrap(two_classes, (labels,))
    with pytest.raises(ValueError, match=r"resample \d+ of 100 .* finite number, got .*nan"):
        bootstrap(lambda labels: 1.0 if labels.any() else math.nan, (labels,))


def test_an_error_on_the_observations_themselves_comes_through():
    def broken(x):
        raise KeyError("typo")

    with pytest.raises(KeyError, match="typo"):
        bootstrap(broken, (np.ones(3),))
    with pytest.raises(ValueError, match=r"finite number, got .*nan"):
        bootstrap(lambda x: math.nan, (np.ones(3),))


def test_bad_input():
    x = np.ones(3)
    with pytest.raises(ValueError, match=r"same number of rows.*\[3, 4\]"):
        bootstrap(lambda a, b: 0.0, (x, np.ones(4)))
    with pytest.raises(ValueError, match=r"array 0 of a group must have shape"):
        bootstrap(mean, (x[:0],))
    with pytest.raises(ValueError, match="at least one group"):
        bootstrap(lambda: 0.0)
    with pytest.raises(ValueError, match="draws must be at least 2, got 1"):
        bootstrap(mean, (x,), draws=1)
