"""Comparisons of means: against SciPy, and how often they decide rightly and wrongly."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import nct, t, ttest_1samp, ttest_ind, ttest_rel

from unpick.study import comparison
from unpick.study.comparison import (
    Comparison,
    Group,
    above,
    group,
    order_power,
    same_within,
    weigh,
    welch,
)
from unpick.study.verdict import Verdict, against, all_decided, decide_all

RNG = np.random.default_rng(7)
PAIRS = [
    (RNG.normal(0.3, 1, 3), RNG.normal(0, 1, 3)),
    (RNG.normal(2, 0.1, 10), RNG.normal(0, 3, 4)),
    (RNG.normal(-1, 1, 2), RNG.normal(0, 1, 8)),
]


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_it_is_welchs_test(a, b):
    found, expected = above(a, b), ttest_ind(a, b, equal_var=False)
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval()))
    assert found.difference == pytest.approx(a.mean() - b.mean())
    assert above(b, a).difference == -found.difference
    padded = np.append(a, math.nan)
    assert repr(above(padded, b)) == repr(
        found
    )  # a power that is not given is nan, equal to nothing


def test_a_known_number_and_pairs_are_the_tests_of_one_sample():
    a, b = RNG.normal(1, 1, 6), RNG.normal(0, 1, 6)
    assert above(a, 0.4).p == pytest.approx(ttest_1samp(a, 0.4).pvalue)
    assert above(a - b, 0.0).p == pytest.approx(ttest_rel(a, b).pvalue)


def test_a_weighted_sum_of_two_means_is_a_test_of_scaled_values():
    (a, b), c = PAIRS[1], RNG.normal(0, 1, 5)
    found = weigh([(0.5, group(a)), (-0.75, group(b))])
    assert found.p == pytest.approx(ttest_ind(0.5 * a, 0.75 * b, equal_var=False).pvalue)
    three = weigh([(1.0, group(a)), (-0.5, group(b)), (-0.5, group(c))])
    assert three.difference == pytest.approx(a.mean() - b.mean() / 2 - c.mean() / 2)


def test_decisions_at_the_limits():
    same, more = np.ones(3), np.full(3, 2.0)
    assert above(more, same).holds is True
    assert above(same, more).holds is False
    assert above(same, same).holds is None
    single = above(np.ones(1), same)
    assert single.holds is None
    assert math.isnan(single.p)
    assert str(single) == "+0, too few seeds"
    # Values on a grid of ten: apart by one step of it is no certainty.
    assert above(same + 10, same, resolution=10.0).p == pytest.approx(
        2 * t.sf(10 / math.sqrt(2 * 100 / 12 / 3), 4)
    )


def drawn(mean, spread, seeds, repeats=4000, *, seed=0):
    """Groups of many repeats of an experiment."""
    values = np.random.default_rng(seed).normal(mean, spread, (repeats, seeds))
    return Group(values.mean(1), values.var(1, ddof=1) / seeds, seeds - 1.0)


@pytest.mark.parametrize(("spreads", "seeds"), [((1, 1), (3, 3)), ((1, 3), (10, 3))])
def test_equal_means_are_rarely_decided(spreads, seeds):
    one, other = (
        drawn(0, s, n, seed=k) for k, (s, n) in enumerate(zip(spreads, seeds, strict=True))
    )
    total, _, _, p = welch([(1.0, one), (-1.0, other)])
    for way in (1, -1):
        assert ((p < 0.05) & (way * total > 0)).mean() < 0.025 + 0.01


def test_power_is_how_often_a_true_difference_is_decided():
    z = np.linspace(-1, 1, 5)
    values = z / z.std(ddof=1)
    found = above(values, values, expected=1.5).power
    one, other = drawn(1.5, 1, 5, seed=3), drawn(0, 1, 5, seed=4)
    total, _, _, p = welch([(1.0, one), (-1.0, other)])
    assert found == pytest.approx(((p < 0.05) & (total > 0)).mean(), abs=0.03)
    # Student's test, which knows that spreads are equal, is a little more powerful.
    exact = nct.sf(t.isf(0.025, 8), 8, 1.5 / math.sqrt(2 / 5))
    assert exact - 0.06 < found < exact
    assert found == order_power([values, values], [1.5, 0.0])
    assert above(values, values, expected=100.0).power == 1
    assert math.isnan(above(values, values, expected=-1.0).power)
    assert math.isnan(above(values[:1], values, expected=1.0).power)


def test_the_power_of_an_order_counts_every_pair():
    groups = [RNG.normal(size=4) for _ in range(3)]
    pairs = [order_power([groups[i], groups[j]], [2.0 * i, 2.0 * j]) for i, j in ((0, 1), (1, 2))]
    whole = order_power(groups, [0.0, 2.0, 4.0])
    assert 0 < whole < min(pairs)
    assert order_power(groups, [0.0, 200.0, 400.0]) == 1
    assert order_power(groups, [0.0, 0.0, 200.0]) == 1  # nothing is said of equal means
    assert math.isnan(order_power([groups[0][:1], groups[1]], [0.0, 1.0]))


def test_equivalence_is_two_one_sided_tests():
    for a, b in ((RNG.normal(5, 1, 6), RNG.normal(5, 1, 8)), (PAIRS[0][0] + 9, PAIRS[0][1] + 9)):
        found = same_within(a, b, 0.25)
        low = ttest_ind(a, 0.75 * b, equal_var=False, alternative="greater").pvalue
        high = ttest_ind(a, 1.25 * b, equal_var=False, alternative="less").pvalue
        assert found.p == pytest.approx(max(low, high))
        assert found.holds is (True if found.p < 0.05 else None)
        interval = ttest_ind(a, b, equal_var=False).confidence_interval(0.9)
        assert (found.low, found.high) == pytest.approx(tuple(interval))


def test_equivalence_has_three_outcomes():
    z = 0.05 * np.linspace(-1, 1, 4)
    assert same_within(1 + z, 1 + z, 0.25).holds is True
    assert same_within(1 + z, 1 + z, 0.01).holds is None
    for far in (0.5, 1.5):
        assert same_within(far + z, 1 + z, 0.25).holds is False
    # A difference that is certain but small is no difference to speak of.
    assert same_within(1.1 + z / 50, 1 + z / 50, 0.25).holds is True
    assert same_within(1 + z[:1], 1 + z, 0.25).holds is None
    with pytest.raises(ValueError, match="share must lie between 0 and 1, got 2"):
        same_within(z, z, 2.0)
    with pytest.raises(ValueError, match=r"mean of b must be positive, got -1"):
        same_within(z, z - 1, 0.25)


def equivalent(true, spread, seeds, share=0.25):
    """How often a mean is found to be within a share of one."""
    groups = drawn(true, spread, seeds, seed=5), drawn(1, spread, seeds, seed=6)
    return np.logical_and(
        *(comparison._decided(e, 0.1) for e in comparison._edges(*groups, share))
    ).mean()


def test_what_lies_at_the_margin_is_rarely_found_the_same():
    for true in (0.75, 1.25):
        assert equivalent(true, 0.1, 5) < 0.05 + 0.01
        assert equivalent(true, 0.5, 3) < 0.05 + 0.01
    z = np.linspace(-1, 1, 5)
    values = 0.1 * z / z.std(ddof=1)
    power = same_within(1 + values, 1 + values, 0.25).power
    assert power == pytest.approx(equivalent(1.0, 0.1, 5), abs=0.03)
    assert same_within(1 + 9 * values, 1 + 9 * values, 0.25).power < 0.1


def orders(means, seeds=3):
    """Shares of repeats in which the order of three groups of spread one holds and fails."""
    groups = [drawn(mean, 1, seeds, seed=k) for k, mean in enumerate(means)]
    tests = [welch([(1.0, groups[j]), (-1.0, groups[i])]) for i, j in combinations(range(3), 2)]
    pairs = [
        [Comparison(t > 0 if q < 0.05 else None, t, t, t, q) for t, q in zip(*both, strict=True)]
        for both in ((total.tolist(), p.tolist()) for total, _, _, p in tests)
    ]
    found = [
        all_decided({str(k): one for k, one in enumerate(each)})
        for each in zip(*pairs, strict=True)
    ]
    return found.count(True) / len(found), found.count(False) / len(found)


def test_orders_are_decided_as_planted():
    held, failed = orders((0.0, 20.0, 40.0))
    assert held > 0.98
    assert failed == 0
    held, failed = orders((40.0, 20.0, 0.0))
    assert held == 0
    assert failed > 0.98


@pytest.mark.slow
def test_noise_alone_neither_confirms_nor_refutes_an_order():
    for means in ((0.0, 0.0, 0.0), (0.0, 0.3, 0.6), (0.0, 0.0, 20.0)):
        held, failed = orders(means)
        assert held < 0.05
        assert failed < 0.05


def test_one_wrong_pair_must_stand_out_among_many():
    z = np.array([-1.0, 0.0, 1.0])
    wrong = above(z, z + 2.8)
    assert 0.02 < wrong.p < 0.05
    right = above(z + 20, z)
    assert all_decided({"a": wrong}) is False
    assert all_decided({"a": wrong} | {str(k): right for k in range(9)}) is False  # after those
    open_ = above(z + 0.1, z)
    many = {"a": wrong} | {str(k): open_ for k in range(9)}
    assert all_decided(many) is None
    assert against(many) == []
    text = decide_all(many, "means", complete=True).evidence
    assert text.startswith(
        "means; decided as claimed: 0 of 10; the other way, but not after Holm's correction for "
        "several (difference, 95 % interval): a ("
    )
    assert "; undecided (difference, 95 % interval): 0 (" in text
    assert "a (-2.8, -5.1 to -0.53)" in text


def test_the_verdict_of_several_comparisons():
    z = np.array([-1.0, 0.0, 1.0])
    right, wrong, open_ = above(z + 20, z), above(z, z + 20), above(z, z)

    def word(complete=True, **comparisons):
        return decide_all(comparisons, "", complete=complete).word

    assert word(a=right, b=right) == "holds"
    assert word(a=right, b=right, complete=False) == "not measured"
    assert word(a=right, b=wrong, complete=False) == "fails"
    assert word(a=right, b=open_) == "undecided"
    assert word(a=right, b=open_, complete=False) == "not measured"
    assert decide_all({}, "", complete=True) == Verdict(None, "")
    with pytest.raises(ValueError, match="must have holds None, got True"):
        Verdict(True, "", undecided=True)
