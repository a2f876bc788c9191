import itertools

import numpy as np
import pytest
from scipy.stats import ortho_group, spearmanr
from sklearn.linear_model import Lasso
from sklearn.preprocessing import StandardScaler

from unpick.metrics.agreement import relative_strength, udr
from unpick.metrics.correlation import mean_correlation, unit_columns


def informative(codes):
    return [np.ones(z.shape[1]) for z in codes]


def copies(w, rng, number=4):
    """The same latents in another order, with other signs, scales and offsets."""
    d = w.shape[1]
    return [
        w[:, rng.permutation(d)] * rng.choice([-2.0, 1.0, 3.0], d) + rng.normal(size=d)
        for _ in range(number)
    ]


@pytest.mark.parametrize(
    ("matrix", "strength"),
    [
        (np.eye(3), 1.0),
        (np.ones((3, 3)), 1 / 3),
        (np.zeros((3, 3)), 0.0),
        (np.array([[0.5, 0.0, 0.0], [0.0, 0.5, 0.5]]), (0.5 + (0.5 + 0.25) / 2) / 2),
        (np.zeros((0, 4)), 0.0),
    ],
)
def test_relative_strength_by_hand(matrix, strength):
    assert relative_strength(matrix) == pytest.approx(strength)
    assert relative_strength(matrix.T) == pytest.approx(strength)


def test_strength_is_linear_in_the_size_of_the_similarities(rng):
    matrix = rng.random((4, 6))
    assert relative_strength(0.3 * matrix) == pytest.approx(0.3 * relative_strength(matrix))


def test_udr_of_permuted_flipped_copies(rng):
    models = copies(rng.normal(size=(1000, 5)), rng)
    lasso = udr(models, informative(models))
    # Latents are nearly uncorrelated, so the penalty takes 0.1 off the one coefficient of 1.
    np.testing.assert_allclose(lasso.per_model, 0.9, atol=0.01)
    spearman = udr(models, informative(models), variant="spearman")
    assert ((spearman.per_model > 0.8) & (spearman.per_model < 1)).all()


@pytest.mark.parametrize("variant", ["lasso", "spearman"])
def test_udr_ranks_copies_above_rotations_above_noise(variant, rng):
    w = rng.normal(size=(1000, 5))
    rotations = [w @ ortho_group.rvs(5, random_state=rng) for _ in range(4)]
    noise = [rng.normal(size=(1000, 5)) for _ in range(4)]
    levels = [
        udr(models, informative(models), variant=variant).per_model
        for models in (copies(w, rng), rotations, noise)
    ]
    assert levels[0].min() > 0.8 > 0.5 > levels[1].max()
    assert levels[1].min() > 0.15 > 0.05 > levels[2].max()


def test_the_odd_one_out_is_the_worst(rng):
    w = rng.normal(size=(500, 4))
    models = [*copies(w, rng, 3), w @ ortho_group.rvs(4, random_state=rng)]
    for variant in ("lasso", "spearman"):
        result = udr(models, informative(models), variant=variant)
        assert result.per_model.argmin() == 3
        assert result.best == result.per_model.argmax() != 3


def test_spearman_pairs_are_those_of_scipy(rng):
    models = [np.round(rng.normal(size=(200, d)), 1) for d in (3, 5, 2)]  # rounding makes ties
    result = udr(models, informative(models), variant="spearman")
    for i, j in itertools.permutations(range(3), 2):
        expected = np.array(
            [[abs(spearmanr(a, b).statistic) for b in models[j].T] for a in models[i].T]
        )
        assert result.matrix[i, j] == pytest.approx(relative_strength(expected), rel=1e-12)
    np.testing.assert_array_equal(np.diag(result.matrix), 0)


def test_lasso_pairs_are_those_of_sklearn_on_all_latents_with_the_uninformative_at_zero(rng):
    """What disentanglement_lib does: mask, fit all latents, and drop rows and columns after."""
    w = rng.normal(size=(300, 3))
    models = [w @ rng.normal(size=(3, 4)) + 0.3 * rng.normal(size=(300, 4)) for _ in range(3)]
    kl = [np.array([1.0, 0.001, 2.0, 0.5]), np.array([1.0, 1, 1, 1]), np.array([0.01, 1, 0, 1])]
    result = udr(models, kl)
    masked = [
        StandardScaler().fit_transform(z) * (k > 0.01) for z, k in zip(models, kl, strict=True)
    ]
    for i, j in itertools.permutations(range(3), 2):
        weights = abs(Lasso(alpha=0.1).fit(masked[i], masked[j]).coef_.T)
        expected = relative_strength(weights[kl[i] > 0.01][:, kl[j] > 0.01])
        assert result.matrix[i, j] == pytest.approx(expected, rel=1e-9)
    for j in range(3):
        others = [result.matrix[i, j] for i in range(3) if i != j]
        assert result.per_model[j] == pytest.approx(np.median(others))


@pytest.mark.parametrize("variant", ["lasso", "spearman"])
def test_uninformative_latents_change_nothing(variant, rng):
    models = copies(rng.normal(size=(200, 3)), rng, 3)
    base = udr(models, informative(models), variant=variant)
    wider = [np.concatenate([z, rng.normal(size=(200, m))], axis=1) for m, z in enumerate(models)]
    kl = [np.array([1.0] * 3 + [0.01] * m) for m in range(3)]
    np.testing.assert_allclose(udr(wider, kl, variant=variant).matrix, base.matrix, rtol=1e-12)
    assert (udr(wider, kl, variant=variant, threshold=0.005).matrix != base.matrix).any()


@pytest.mark.parametrize("variant", ["lasso", "spearman"])
def test_one_latent_against_many(variant, rng):
    """One latent of three: its column has one entry, and two of the three rows are empty."""
    w = rng.normal(size=(2000, 3))
    models = [w, w[:, :1]]
    peak = 0.9 if variant == "lasso" else 1.0
    expected = (peak + peak / 3) / 2
    scores = udr(models, informative(models), variant=variant).per_model
    np.testing.assert_allclose(scores, expected, atol=0.04)


@pytest.mark.parametrize("variant", ["lasso", "spearman"])
def test_a_model_that_says_nothing_agrees_with_nobody(variant, rng):
    models = copies(rng.normal(size=(100, 3)), rng)
    kl = informative(models)
    kl[1] = np.zeros(3)
    models[2] = np.full((100, 3), 0.1)  # constant, though its kl says otherwise
    result = udr(models, kl, variant=variant)
    assert result.per_model[1] == result.per_model[2] == 0
    np.testing.assert_array_equal(result.matrix[1:3], 0)
    # Two of the three others say nothing, so the medians are 0 as well; the pair itself is not.
    assert result.matrix[0, 3] > 0.5
    assert udr([z[:, :0] for z in models], [k[:0] for k in kl], variant=variant).best == 0


def test_single_precision_is_as_good(rng):
    models = [z.astype(np.float32) for z in copies(rng.normal(size=(200, 3)), rng)]
    double = [z.astype(np.float64) for z in models]
    for variant in ("lasso", "spearman"):
        np.testing.assert_array_equal(
            udr(models, informative(models), variant=variant).matrix,
            udr(double, informative(models), variant=variant).matrix,
        )


@pytest.mark.parametrize(
    ("codes", "kl", "message"),
    [
        ([np.ones((5, 2))], [np.ones(2)], "2 or more models, got 1 and 1"),
        ([np.ones((5, 2))] * 3, [np.ones(2)] * 2, "got 3 and 2"),
        ([np.ones((5, 2)), np.ones((4, 2))], [np.ones(2)] * 2, r"model 1 .* got codes \(4, 2\)"),
        ([np.ones((5, 2))] * 2, [np.ones(2), np.ones(3)], r"model 1 .* kl \(3,\)"),
        (
            [np.ones((5, 2)), np.full((5, 2), np.inf)],
            [np.ones(2)] * 2,
            "codes of model 1 .* finite",
        ),
    ],
)
def test_udr_refuses(codes, kl, message):
    with pytest.raises(ValueError, match=message):
        udr(codes, kl)


# Mean correlation coefficient


@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_mcc_of_permuted_flipped_factors_is_one(method, rng):
    w = rng.random((200, 4))
    order = np.array([2, 0, 3, 1])
    result = mean_correlation(w[:, order] * np.array([1.0, -2, 3, -4]) + 5, w, method=method)
    assert result.score == pytest.approx(1)
    np.testing.assert_array_equal(order[result.latents], np.arange(4))


def test_only_spearman_ignores_monotonic_maps(rng):
    w = rng.normal(size=(500, 3))
    assert mean_correlation(np.exp(3 * w), w, method="spearman").score == pytest.approx(1)
    assert mean_correlation(np.exp(3 * w), w).score < 0.7


@pytest.mark.parametrize(("d", "k"), [(4, 4), (6, 3), (3, 5)])
def test_the_assignment_is_the_best_of_all(d, k, rng):
    codes, factors = rng.normal(size=(30, d)), rng.normal(size=(30, k))
    result = mean_correlation(codes, factors)
    corr = abs(np.corrcoef(codes.T, factors.T)[:d, d:])
    np.testing.assert_allclose(result.matrix, corr, rtol=1e-10)
    padded = np.concatenate([corr, np.zeros((max(0, k - d), k))])  # factors left over count 0
    best = max(
        sum(padded[latent, factor] for factor, latent in enumerate(choice)) / k
        for choice in itertools.permutations(range(len(padded)), k)
    )
    assert result.score == pytest.approx(best)
    assert (result.latents == -1).sum() == max(0, k - d)
    np.testing.assert_array_equal(result.per_factor[result.latents == -1], 0)


def test_correlations_are_those_of_scipy_with_ties_and_whole_numbers(rng):
    codes, factors = np.round(rng.normal(size=(100, 3)), 1), rng.integers(4, size=(100, 2))
    matrix = mean_correlation(codes, factors, method="spearman").matrix
    expected = [[abs(spearmanr(z, w).statistic) for w in factors.T] for z in codes.T]
    np.testing.assert_allclose(matrix, expected, rtol=1e-12)


@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_a_constant_latent_correlates_with_nothing(method, rng):
    w = rng.normal(size=(99, 2))
    # 99 times 0.1 has a mean that is not 0.1 in floating point.
    codes = np.concatenate([np.full((99, 1), 0.1), w[:, 1:]], axis=1)
    result = mean_correlation(codes, w, method=method)
    np.testing.assert_array_equal(result.matrix[0], 0)
    np.testing.assert_allclose(result.per_factor, [0, 1], atol=1e-12)
    assert result.score == pytest.approx(0.5)


def test_noise_scores_the_documented_chance(rng):
    scores = [
        mean_correlation(rng.normal(size=(1000, 5)), rng.normal(size=(1000, 5))).score
        for _ in range(100)
    ]
    assert np.mean(scores) == pytest.approx(0.045, abs=0.003)


def test_a_planted_correlation(rng):
    """Centred orthonormal columns have sample correlations of exactly 0."""
    noise = rng.normal(size=(50, 4))
    frame = np.linalg.qr(noise - noise.mean(axis=0))[0]
    angle = 0.3
    codes = np.cos(angle) * frame[:, :2] + np.sin(angle) * frame[:, 2:]
    assert mean_correlation(codes, frame[:, :2]).score == pytest.approx(np.cos(angle))
    np.testing.assert_allclose(np.linalg.norm(unit_columns(codes, "pearson"), axis=0), 1)


def test_mcc_refuses(rng):
    w = rng.normal(size=(10, 2))
    with pytest.raises(ValueError, match="factor 1 is constant"):
        mean_correlation(w, w * np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="codes must be finite"):
        mean_correlation(np.full((10, 2), np.nan), w)
