import math

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeRegressor

from unpick.metrics.boosting import boost, grow, sort_codes
from unpick.metrics.importance import dci, dci_from_importances
from unpick.metrics.separability import sap, squared_correlations

LEARNERS = ("gradient-boosting", "fast")
each_learner = pytest.mark.parametrize("learner", LEARNERS)


def grid(rng, rows, *sizes):
    return np.stack([rng.integers(0, size, rows) for size in sizes], axis=1)


def noisy_mixture(rng, factors, latents, noise):
    """Codes in which most latents know something of most factors."""
    turn = rng.standard_normal((factors.shape[1], latents))
    codes = factors / factors.std(0) @ turn
    return codes + noise * rng.standard_normal(codes.shape)


def test_importances_of_a_permutation_are_perfect_and_equal_ones_are_nothing():
    perfect = dci_from_importances(np.eye(10)[np.random.default_rng(0).permutation(10)])
    assert perfect.disentanglement == pytest.approx(1.0, abs=1e-8)
    assert perfect.completeness == pytest.approx(1.0, abs=1e-8)
    equal = dci_from_importances(np.ones((10, 10)))
    assert equal.disentanglement == pytest.approx(0.0, abs=1e-12)
    assert equal.completeness == pytest.approx(0.0, abs=1e-12)


def test_two_equal_of_ten_are_one_less_the_share_of_their_entropy():
    two_factors = np.zeros((5, 10))
    two_factors[range(5), range(0, 10, 2)] = two_factors[range(5), range(1, 10, 2)] = 1.0
    expected = 1 - math.log(2) / math.log(10)
    assert dci_from_importances(two_factors).disentanglement == pytest.approx(expected, abs=1e-8)
    assert dci_from_importances(two_factors.T).completeness == pytest.approx(expected, abs=1e-8)


def test_importances_are_weights():
    matrix = np.array([[0.9, 0.0], [0.1, 0.2], [0.0, 0.8], [0.0, 0.0]])
    found = dci_from_importances(matrix)
    mixed = 1 - (math.log(3) / 3 + 2 * math.log(3 / 2) / 3) / math.log(2)  # shares 1/3 and 2/3
    np.testing.assert_allclose(found.per_latent, [1, mixed, 1, 0], atol=1e-8)
    assert found.disentanglement == pytest.approx((0.9 + 0.3 * mixed + 0.8) / 2, abs=1e-8)
    scaled = dci_from_importances(-7 * matrix)  # signs and units do not count
    assert scaled.disentanglement == pytest.approx(found.disentanglement, abs=1e-8)
    assert scaled.completeness == pytest.approx(found.completeness, abs=1e-8)


def test_no_importance_at_all_is_neither_disentangled_nor_complete():
    nothing = dci_from_importances(np.zeros((3, 2)))
    assert (nothing.disentanglement, nothing.completeness) == pytest.approx((0, 0), abs=1e-12)


@each_learner
def test_codes_that_are_the_factors_are_disentangled_complete_and_informative(learner):
    factors = grid(np.random.default_rng(0), 600, 4, 3, 2)
    found = dci(factors[:, [2, 0, 1]].astype(float), factors, learner=learner, rounds=20)
    assert found.disentanglement > 0.98
    assert found.completeness > 0.98
    assert (found.informativeness, found.informativeness_train) == (1, 1)
    assert np.array_equal(found.matrix.argmax(0), [1, 2, 0])
    np.testing.assert_allclose(found.matrix.sum(0), 1)


@each_learner
def test_codes_in_a_random_order_for_each_row_are_nothing(learner):
    rng = np.random.default_rng(0)
    factors = grid(rng, 900, 3, 3, 3, 3)
    codes = rng.permuted(factors, axis=1).astype(float)
    found = dci(codes, factors, learner=learner, rounds=20)
    assert found.disentanglement < 0.2
    assert found.completeness < 0.2


@pytest.mark.slow
@each_learner
def test_two_copies_of_the_factors_share_their_importance(learner):
    """They tie in every split, and neither is preferred."""
    factors = grid(np.random.default_rng(0), 600, 4, 3, 3, 4)
    codes = np.concatenate([factors, factors], axis=1).astype(float)
    found = dci(codes, factors, learner=learner, rounds=40)
    assert found.disentanglement > 0.98
    assert found.completeness == pytest.approx(1 - math.log(2) / math.log(8), abs=0.02)


@each_learner
def test_a_constant_latent_has_no_importance(learner):
    factors = grid(np.random.default_rng(0), 300, 3, 2)
    codes = np.insert(factors.astype(float), 1, 5.0, axis=1)
    found = dci(codes, factors, learner=learner, rounds=5)
    assert (found.matrix[1] == 0).all()
    assert found.per_latent[1] == pytest.approx(0, abs=1e-12)
    dead = dci(np.ones((300, 3)), factors, learner=learner, rounds=5)
    assert (dead.matrix == 0).all()
    assert dead.disentanglement == pytest.approx(0, abs=1e-12)
    guesses = [np.bincount(column).max() / 300 for column in factors.T]
    assert dead.informativeness == pytest.approx(np.mean(guesses), abs=0.1)


def test_the_exact_learner_is_scikit_learns():
    rng = np.random.default_rng(1)
    factors = grid(rng, 300, 4, 2)
    codes = noisy_mixture(rng, factors, 3, 0.3)
    fit, test = (codes[:200], factors[:200]), (codes[200:], factors[200:])
    found = dci(*fit, test=test, rounds=10)
    ties = np.random.RandomState(np.random.default_rng(0).bit_generator)
    model = GradientBoostingClassifier(n_estimators=10, random_state=ties)
    importances, right = [], []
    for w, wanted in zip(factors[:200].T, factors[200:].T, strict=True):
        importances.append(model.fit(codes[:200], w).feature_importances_)
        right.append(model.score(codes[200:], wanted))
    assert np.array_equal(found.matrix.T, importances)
    assert found.informativeness == pytest.approx(np.mean(right))


def test_a_tree_is_scikit_learns_regression_tree():
    rng = np.random.default_rng(2)
    codes, target = rng.standard_normal((200, 4)), rng.standard_normal(200)
    tree = DecisionTreeRegressor(max_depth=3, random_state=0).fit(codes, target)
    leaf, decreases = grow(sort_codes(codes, codes), target[:, None].astype(np.float32), rng)
    expected = tree.tree_.compute_feature_importances(normalize=False)
    np.testing.assert_allclose(decreases / 200, expected, rtol=1e-4, atol=1e-6)
    assert np.array_equal(leaf[0, :200], leaf[0, 200:])  # rows to fit and new ones go the same way
    pairs = set(zip(leaf[0, :200].tolist(), tree.apply(codes).tolist(), strict=True))
    assert len(pairs) == 8  # leaves correspond one to one


def test_a_row_at_the_edge_of_a_node_is_cut_off():
    """The first row behind a cut is an outlier, and bins of 63 rows show the other steps only."""
    codes = np.arange(1000.0)[:, None]
    target = np.select([codes < 500, codes < 620, codes < 750], [-1.0, 1.0, 1.15], 1.45).ravel()
    target[500] = 6
    tree = DecisionTreeRegressor(max_depth=3).fit(codes, target)
    ranked = sort_codes(codes, codes, bins=16)
    _, decreases = grow(ranked, target[:, None].astype(np.float32), np.random.default_rng(0))
    exact = tree.tree_.compute_feature_importances(normalize=False)
    np.testing.assert_allclose(decreases / 1000, exact, rtol=1e-4)


@pytest.mark.parametrize("values", [2, 5])
def test_with_few_values_the_fast_learner_is_the_exact_one(values):
    """Below 256 different codes all cuts are tried."""
    rng = np.random.default_rng(3)
    labels = rng.integers(0, values, 240)
    codes = noisy_mixture(rng, labels[:, None], 4, 1.0)
    fast = boost(sort_codes(codes, codes[:40]), labels, rounds=5)
    exact = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(codes, labels)
    np.testing.assert_allclose(fast.importances, exact.feature_importances_, atol=5e-3)
    assert (fast.fitted == exact.predict(codes)).mean() > 0.98
    assert np.array_equal(fast.fitted[:40], fast.predicted)


@pytest.mark.slow
def test_the_fast_learner_stays_near_the_exact_one():
    """With bins of six rows: importances within 0.02, D and C within 0.02."""
    rng = np.random.default_rng(4)
    factors = grid(rng, 2000, 6, 4, 3)
    codes = noisy_mixture(rng, factors, 5, 0.2)
    exact, fast = (dci(codes, factors, learner=learner, rounds=15) for learner in LEARNERS)
    np.testing.assert_allclose(fast.matrix, exact.matrix, atol=0.02)
    assert fast.disentanglement == pytest.approx(exact.disentanglement, abs=0.02)
    assert fast.completeness == pytest.approx(exact.completeness, abs=0.02)
    assert fast.informativeness == pytest.approx(exact.informativeness, abs=0.02)
    assert (exact.learner, fast.learner) == LEARNERS


def test_coarse_bins_find_what_fine_ones_find():
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 6, 1500)
    codes = noisy_mixture(rng, labels[:, None], 4, 0.5)
    coarse, every = (
        boost(sort_codes(codes, codes, bins), labels, rounds=10).importances for bins in (64, 1500)
    )
    np.testing.assert_allclose(coarse, every, atol=0.02)


def test_boosting_ignores_monotonic_maps():
    rng = np.random.default_rng(6)
    labels = rng.integers(0, 3, 500)
    codes = noisy_mixture(rng, labels[:, None], 3, 0.5)
    warped = np.exp(codes / 4) * [1, 5, 1e3]
    base, found = (boost(sort_codes(c, c), labels, rounds=5) for c in (codes, warped))
    np.testing.assert_allclose(found.importances, base.importances, atol=1e-6)
    assert np.array_equal(found.fitted, base.fitted)


def test_a_class_that_only_test_rows_have_is_never_predicted():
    rng = np.random.default_rng(7)
    factors = grid(rng, 200, 3, 2)
    fit, rest = factors[:, 0] < 2, factors[:, 0] == 2
    codes = factors.astype(float)
    for learner in LEARNERS:
        test = (codes[rest], factors[rest])
        found = dci(codes[fit], factors[fit], test=test, learner=learner, rounds=5)
        assert found.informativeness == 0.5  # the second factor only


@each_learner
def test_progress_is_told(learner):
    factors, told = grid(np.random.default_rng(0), 60, 2, 3), []
    dci(factors.astype(float), factors, learner=learner, rounds=10, progress=told.append)
    assert "factor 1 of 2, 2 values" in told
    if learner == "gradient-boosting":
        assert told[-1] == "factor 2 of 2, 3 values: 10 of 10 rounds"


def test_sap_of_two_values_is_half_for_the_factors_themselves():
    factors = grid(np.random.default_rng(0), 3000, 2, 2, 2)
    found = sap(factors.astype(float), factors)
    assert np.diag(found.matrix).tolist() == [1, 1, 1]
    assert found.score == pytest.approx(0.5, abs=0.03)  # the second best guesses


def test_sap_of_copies_and_of_nothing_is_zero():
    factors = grid(np.random.default_rng(0), 900, 3, 2)
    copies = np.concatenate([factors, factors], axis=1).astype(float)
    assert sap(copies, factors).score == 0.0
    dead = sap(np.zeros((900, 2)), factors)
    assert dead.score == 0.0
    assert dead.matrix[0] == pytest.approx([1 / 3, 1 / 2], abs=0.1)  # one class is always named


def test_sap_does_not_see_order_and_sign_of_the_codes():
    rng = np.random.default_rng(1)
    factors = grid(rng, 600, 4, 3)
    codes = noisy_mixture(rng, factors, 3, 0.3)
    base, other = sap(codes, factors), sap(-codes[:, [2, 0, 1]], factors)
    np.testing.assert_allclose(other.matrix, base.matrix[[2, 0, 1]], atol=0.01)


def test_continuous_sap_is_the_squared_correlation():
    rng = np.random.default_rng(2)
    factors = rng.random((500, 3))
    codes = np.concatenate([noisy_mixture(rng, factors, 4, 0.3), np.ones((500, 1))], axis=1)
    expected = np.corrcoef(codes[:, :4].T, factors.T)[:4, 4:] ** 2
    found = squared_correlations(codes, factors)
    np.testing.assert_allclose(found[:4], expected, rtol=1e-10)
    assert (found[4] == 0).all()
    same = sap(factors, factors, continuous=True)
    np.testing.assert_allclose(np.diag(same.matrix), 1)
    assert same.score > 0.95


def test_a_continuous_factor_can_be_cut_into_classes():
    factors = np.random.default_rng(0).random((900, 2))
    with pytest.raises(ValueError, match="looks continuous; pass factor_bins"):
        sap(factors, factors)
    assert np.diag(sap(factors, factors, factor_bins=2).matrix) == pytest.approx(1, abs=0.05)
    found = dci(factors, factors, learner="fast", factor_bins=3, rounds=10)
    assert found.disentanglement > 0.9


FACTORS = grid(np.random.default_rng(0), 60, 2, 3)
CODES = FACTORS.astype(float)


@pytest.mark.parametrize("metric", [dci, sap])
@pytest.mark.parametrize(
    ("codes", "factors", "options", "message"),
    [
        (CODES[:, :1], FACTORS, {}, "at least 2 columns, got 1"),
        (CODES[:5], FACTORS[:5], {}, "10 or more rows, got 5 and 5"),
        (np.where(CODES > 1, np.inf, CODES), FACTORS, {}, "codes must be finite"),
        (CODES, np.minimum(FACTORS, 0), {}, "factor 0 is constant"),
        (CODES[:30], 0 * FACTORS[:30], {"test": (CODES, FACTORS)}, "constant in the rows to fit"),
        (
            CODES,
            FACTORS,
            {"test": (CODES[:, :1], FACTORS)},
            "2 latents and 2 factors, got 1 and 2",
        ),
    ],
)
def test_what_cannot_be_scored_is_refused(metric, codes, factors, options, message):
    with pytest.raises(ValueError, match=message):
        metric(codes, factors, **options)


def test_what_only_one_of_them_cannot_score():
    with pytest.raises(ValueError, match="factors must have at least 2 columns, got 1"):
        dci(CODES, FACTORS[:, :1])
    with pytest.raises(ValueError, match="rounds must be at least 1, got 0"):
        dci(CODES, FACTORS, rounds=0)
    with pytest.raises(ValueError, match="2 or more latents and factors"):
        dci_from_importances(np.ones((1, 4)))
    with pytest.raises(ValueError, match="factor_bins must be None for continuous factors"):
        sap(CODES, FACTORS, continuous=True, factor_bins=3)
    with pytest.raises(ValueError, match="factor 1 is constant"):
        sap(CODES, FACTORS * [1, 0], continuous=True)
