import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import mutual_info_score, roc_auc_score
from sklearn.preprocessing import MultiLabelBinarizer

from unpick.metrics import information, sampled
from unpick.metrics.information import (
    class_entropies,
    mig_sup,
    mutual_information,
    mutual_information_gap,
)
from unpick.metrics.inputs import histogram_bins
from unpick.metrics.logistic import logistic_regression
from unpick.metrics.modularity import explicitness, modularity, modularity_explicitness
from unpick.metrics.sampled import mixture_log_density, sampled_information


def grid(*sizes):
    """All combinations of values, one row each."""
    return np.indices(sizes).reshape(len(sizes), -1).T


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows_at_once", [10_000, 7])
def test_the_table_is_what_scikit_learn_counts(dtype, rows_at_once, rng, monkeypatch):
    monkeypatch.setattr(information, "ROWS_AT_ONCE", rows_at_once)
    factors = np.stack([rng.integers(m, size=500) ** 2 for m in (2, 3, 40)], axis=1)
    codes = (rng.standard_normal((500, 4)) + factors[:, [0, 1, 2, 0]]).astype(dtype)
    result = mutual_information_gap(codes, factors)
    for j, code in enumerate(codes.T):
        binned = np.digitize(code, np.histogram(code, 20)[1][:-1])
        for k, factor in enumerate(factors.T):
            expected = mutual_info_score(factor, binned)
            assert result.matrix[j, k] == pytest.approx(expected, abs=1e-12)
    expected = [mutual_info_score(factor, factor) for factor in factors.T]
    assert result.entropies == pytest.approx(expected, abs=1e-12)
    ranked = np.sort(result.matrix, axis=0)
    assert result.score == pytest.approx(((ranked[-1] - ranked[-2]) / expected).mean(), abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("bins", [2, 7, 20])
def test_bins_are_those_of_a_search_among_the_edges_of_a_histogram(bins, dtype, rng):
    for scale, shift in ((1.0, 0.0), (100.0, 1e3), (3e5, -1e5)):
        values = (scale * rng.standard_normal(2000) + shift).astype(dtype)
        edges = np.histogram_bin_edges(values, bins)[1:-1]
        below, above = np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)
        values = np.concatenate([values, edges, below, above]).astype(dtype)
        expected = np.digitize(values, np.histogram(values, bins)[1][:-1])
        assert (histogram_bins(values[:, None], bins)[:, 0] == expected).all()


def test_a_latent_that_is_constant_but_for_rounding_has_no_information():
    """np.histogram refuses such a column: it cannot make 20 edges there."""
    values = grid(4, 4)
    still = np.full((16, 1), 0.1, dtype=np.float32)
    still[values[:, 0] > 1] = np.nextafter(np.float32(0.1), np.float32(1))
    codes = np.concatenate([values.astype(np.float32), still], axis=1)
    result = mutual_information_gap(codes, values)
    assert result.matrix[2].tolist() == [0, 0]
    assert result.score == pytest.approx(1)


def test_mig_at_its_three_points(ten):
    codes = ten.astype(float)
    assert 0.9 < mutual_information_gap(codes, ten).score <= 1
    assert mutual_information_gap(np.full((3000, 10), 0.1), ten).score == 0
    assert mutual_information_gap(np.concatenate([codes, codes], axis=1), ten).score == 0


def test_twenty_bins_cannot_tell_forty_values_apart():
    values = grid(40, 4)
    result = mutual_information_gap(values.astype(float), values)
    assert result.per_factor == pytest.approx([np.log(20) / np.log(40), 1])
    assert mutual_information_gap(values.astype(float), values, bins=40).score == pytest.approx(1)


def test_noise_has_the_information_that_counting_adds_and_nearly_no_gap(rng):
    """The bias of counted information is (bins - 1) (values - 1) / 2n to first order."""
    n, values = 10_000, 10
    codes, factors = rng.random((n, 40)), rng.integers(values, size=(n, 5))
    result = mutual_information_gap(codes, factors)
    assert result.matrix.mean() == pytest.approx(19 * (values - 1) / (2 * n), rel=0.05)
    assert 0 < result.score < 0.003


def test_migs_ignore_names_signs_scales_and_order(rng):
    factors = rng.integers(5, size=(1000, 3))
    codes = factors @ rng.standard_normal((3, 4)) + rng.standard_normal((1000, 4))
    shuffled = rng.permutation(1000)
    changed = (codes * [2.0, -1.0, 30.0, -0.5] + [1.0, 0.0, -7.0, 3.0])[:, [2, 0, 3, 1]][shuffled]
    renamed = np.array([7, -2, 100, 3, 0])[factors][shuffled]
    for measure in (mutual_information_gap, mig_sup):
        assert measure(changed, renamed).score == pytest.approx(measure(codes, factors).score)


def test_one_latent_with_all_factors_and_one_factor_in_two_latents():
    """MIG cannot see the first, MIG-sup cannot see the second."""
    values = grid(4, 4)
    all_in_one = np.stack([values @ [4.0, 1.0], np.zeros(16)], axis=1)
    assert mutual_information_gap(all_in_one, values).score == pytest.approx(1)
    assert mig_sup(all_in_one, values).score == pytest.approx(0, abs=1e-12)
    twice = np.concatenate([values, values], axis=1).astype(float)
    assert mutual_information_gap(twice, values).score == 0
    assert mig_sup(twice, values).score == pytest.approx(1)


def test_mig_sup_counts_active_latents_only():
    values = grid(4, 4)
    codes = values @ np.array([[1.0, 0.0, 0.01], [0.0, 0.05, 0.0]])  # variances 1.33, 0.003, 1e-4
    result = mig_sup(codes, values)
    assert result.active.tolist() == [True, False, False]
    assert result.per_latent == pytest.approx([1, 1, 1])
    assert result.matrix == pytest.approx(np.array([[1, 0], [0, 1], [1, 0]]), abs=1e-12)
    leaky = np.concatenate([codes, values @ [[4.0], [1.0]]], axis=1)
    assert mig_sup(leaky, values).score == pytest.approx(0.5)  # gaps 1 and 0
    assert mig_sup(np.full((16, 3), 0.1), values).score == 0


def test_continuous_factors_need_bins(rng):
    factors = rng.random((2000, 2))
    with pytest.raises(ValueError, match="looks continuous; pass factor_bins"):
        mutual_information_gap(factors, factors)
    assert mutual_information_gap(factors, factors, factor_bins=20).score > 0.95


def two_gaussians(mean, deviations):
    """Information of a fair coin in N(+-mean, deviation of that side), by quadrature."""
    components = [norm(-mean, deviations[0]), norm(mean, deviations[1])]

    def integrand(z):
        density = [c.pdf(z) for c in components]
        return sum(p / 2 * np.log(2 * p / sum(density)) for p in density if p > 0)

    edge = mean + 12 * max(deviations)
    return quad(integrand, -edge, edge, limit=500)[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("mean", "deviations"), [(1.0, (1.0, 1.0)), (0.3, (0.5, 0.5)), (0.0, (0.2, 1.0))]
)
def test_sampled_information_of_two_gaussians_is_the_integral(mean, deviations, dtype, rng):
    """The last case: the factor is in the width of the posterior alone."""
    labels = np.tile([[0], [1]], (2000, 1))
    means = np.concatenate([mean * (2 * labels - 1), 0 * labels], axis=1).astype(dtype)
    spread = np.concatenate([np.array(deviations)[labels], 0 * labels + 1.0], axis=1)
    found = sampled_information(means, (2 * np.log(spread)).astype(dtype), labels, rng=rng)
    assert found[0, 0] == pytest.approx(two_gaussians(mean, deviations), abs=0.02)
    assert found[1, 0] == pytest.approx(0, abs=1e-6)


def test_few_points_estimate_the_same(rng):
    labels = np.tile([[0], [1]], (4000, 1))
    means = np.concatenate([2.0 * labels, -2.0 * labels], axis=1)
    found = sampled_information(means, np.zeros((8000, 2)), labels, points=1000, rng=rng)
    assert found[:, 0] == pytest.approx(two_gaussians(1.0, (1.0, 1.0)), abs=0.04)


def test_narrow_posteriors_on_a_lattice_are_the_histogram(rng):
    """Samples then tell the mean they came from, and nothing else: a count is exact."""
    factors = np.stack([rng.choice(3, 600, p=[0.6, 0.3, 0.1]), rng.integers(4, size=600)], axis=1)
    means = np.stack([factors.sum(axis=1) % 5, factors[:, 1], rng.integers(7, size=600)], axis=1)
    narrow = np.full(means.shape, 2 * np.log(1e-3))
    result = mutual_information_gap(means.astype(float), factors, log_variances=narrow)
    assert result.matrix == pytest.approx(mutual_information(means, factors), abs=1e-9)
    assert result.entropies == pytest.approx(class_entropies(factors))
    counted = mutual_information_gap(means.astype(float), factors)
    assert result.score == pytest.approx(counted.score)
    both = [mig_sup(means.astype(float), factors, log_variances=v).score for v in (narrow, None)]
    assert both[0] == pytest.approx(both[1])


def test_narrow_posteriors_at_scattered_means_know_everything(rng):
    """The documented trap: a sample tells its row, and with it every factor of that row."""
    factors, means = rng.integers(4, size=(300, 2)), rng.standard_normal((300, 3))
    result = mutual_information_gap(means, factors, log_variances=np.full((300, 3), -30.0))
    assert result.matrix == pytest.approx(np.tile(result.entropies, (3, 1)), abs=0.01)
    assert result.score < 0.01


def test_wide_posteriors_know_nothing(rng):
    factors = rng.integers(4, size=(500, 2))
    result = mutual_information_gap(
        factors.astype(float), factors, log_variances=np.full((500, 2), 10.0)
    )
    assert result.matrix.min() >= 0
    assert result.score < 1e-3


def test_the_mixture_density_in_parts(rng, monkeypatch):
    monkeypatch.setattr(sampled, "CELLS_AT_ONCE", 50)
    means, log_variances = rng.standard_normal((83, 2)), rng.standard_normal((83, 2)) - 3
    z = means[:30] + np.exp(log_variances[:30] / 2) * rng.standard_normal((30, 2))
    logs = norm.logpdf(z[:, None], means, np.exp(log_variances / 2))
    expected = logsumexp(logs, axis=1) - np.log(83)
    assert mixture_log_density(z, means, log_variances) == pytest.approx(expected, abs=1e-10)


def test_modularity_from_a_table():
    two_of_ten = np.zeros((2, 10))
    two_of_ten[:, [2, 7]] = 0.4
    assert modularity(two_of_ten) == pytest.approx([8 / 9, 8 / 9])
    assert modularity(np.eye(3)) == pytest.approx([1, 1, 1])
    assert modularity(np.ones((2, 3))) == pytest.approx([0, 0])
    assert modularity(np.zeros((2, 3))).tolist() == [0, 0]


def test_a_latent_of_two_among_ten_factors():
    """The sum of two coins knows as much of either; the rank order of either from it is 7/8."""
    values = grid(*[2] * 10)
    codes = np.stack([values[:, 0] + values[:, 1], values[:, 2]], axis=1).astype(float)
    result = modularity_explicitness(codes, values, test=(codes, values))
    assert result.per_latent == pytest.approx([8 / 9, 1])
    assert result.per_factor[2] == pytest.approx(1)
    assert result.per_factor[0] == pytest.approx(7 / 8)
    assert result.per_factor[5:] == pytest.approx(0.5, abs=1e-6)
    assert result.explicitness == pytest.approx(result.explicitness_train)


def test_modularity_and_explicitness_at_their_three_points(rng):
    factors = rng.integers(2, size=(600, 3))
    codes = factors.astype(float)
    perfect = modularity_explicitness(codes, factors)
    assert perfect.modularity == pytest.approx(1, abs=1e-3)
    assert perfect.explicitness == 1
    constant = modularity_explicitness(np.full((600, 4), 0.1), factors)
    assert (constant.modularity, constant.explicitness) == (0, 0.5)
    twice = modularity_explicitness(np.concatenate([codes, codes], axis=1), factors)
    assert twice.modularity == pytest.approx(perfect.modularity)
    assert twice.explicitness == 1


def test_noise_is_not_explicit_but_can_look_modular(rng):
    """Counted information grows with the number of values, so one factor stands out."""
    factors = np.stack([rng.integers(m, size=3000) for m in (2, 2, 2, 30)], axis=1)
    noise = modularity_explicitness(rng.standard_normal((3000, 5)), factors)
    assert noise.explicitness == pytest.approx(0.5, abs=0.03)
    assert noise.modularity > 0.95


def test_explicitness_ignores_shift_and_scale(rng):
    factors = rng.integers(4, size=(500, 2))
    codes = factors + rng.standard_normal((500, 2))
    base = modularity_explicitness(codes, factors)
    moved = modularity_explicitness(codes * [100.0, -0.01] + [5.0, 3.0], factors)
    assert moved.explicitness == pytest.approx(base.explicitness, abs=1e-6)
    assert moved.modularity == pytest.approx(base.modularity)


def test_explicitness_is_the_macro_average_over_classes(rng):
    labels, test_labels = rng.integers(3, size=300), rng.integers(3, size=200)
    codes = rng.standard_normal((300, 2)) + labels[:, None]
    test_codes = rng.standard_normal((200, 2)) + test_labels[:, None]
    found = explicitness(codes, labels, test_codes, test_labels)
    model = LogisticRegression().fit(codes, labels)
    expected = [
        roc_auc_score(MultiLabelBinarizer().fit_transform(y[:, None]), model.predict_proba(x))
        for x, y in ((codes, labels), (test_codes, test_labels))
    ]
    assert found == pytest.approx(expected, abs=1e-12)
    without = test_labels != 1
    _, area = explicitness(codes, labels, test_codes[without], test_labels[without])
    scores = model.predict_proba(test_codes[without])
    kept = [roc_auc_score(test_labels[without] == c, scores[:, c]) for c in (0, 2)]
    assert area == pytest.approx(np.mean(kept), abs=1e-12)
    known = labels != 1  # class 1 turns up in the test rows only
    _, area = explicitness(codes[known], labels[known], test_codes, test_labels)
    scores = LogisticRegression().fit(codes[known], labels[known]).predict_proba(test_codes)
    kept = [roc_auc_score(test_labels == c, scores[:, i]) for i, c in enumerate((0, 2))]
    assert area == pytest.approx(np.mean(kept), abs=1e-12)


def test_a_regression_that_needs_more_steps_stops_in_silence_where_scikit_learn_does(rng):
    labels = rng.integers(20, size=1000)
    codes = labels[:, None] + np.array([1e-2, 1.0, 10.0]) * rng.standard_normal((1000, 3))
    with pytest.warns(ConvergenceWarning):
        expected = LogisticRegression().fit(codes, labels).coef_
    assert (logistic_regression(codes, labels).coef_ == expected).all()


CODES, FACTORS = np.random.default_rng(0).random((50, 3)), grid(5, 10)
ONE = FACTORS[:, 0] == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mutual_information_gap(CODES[:, :1], FACTORS), "at least 2 columns, got 1"),
        (lambda: mig_sup(CODES, FACTORS[:, :1]), "at least 2 columns, got 1"),
        (lambda: modularity_explicitness(CODES, FACTORS[:, :1]), "at least 2 columns, got 1"),
        (lambda: mutual_information_gap(CODES * np.nan, FACTORS), "codes must be finite"),
        (lambda: mutual_information_gap(CODES, 0 * FACTORS), "factor 0 is constant"),
        (lambda: mutual_information_gap(CODES, FACTORS, bins=1), "bins must be at least 2, got 1"),
        (
            lambda: mutual_information_gap(CODES, FACTORS, log_variances=CODES / 0.0),
            "log_variances must be finite",
        ),
        (lambda: mig_sup(CODES, FACTORS, log_variances=CODES, points=0), "at least 1, got 0"),
        (
            lambda: sampled_information(CODES, CODES[:, :2], FACTORS),
            r"log_variances must have the shape of the codes, \(50, 3\), got \(50, 2\)",
        ),
        (
            lambda: modularity_explicitness(CODES, FACTORS, test=(CODES[:9], FACTORS[:9])),
            "test rows must hold at least 2 values",
        ),
        (
            lambda: modularity_explicitness(CODES[ONE], FACTORS[ONE], test=(CODES, FACTORS)),
            "factor 0 is constant in the rows to fit",
        ),
        (
            lambda: modularity_explicitness(CODES, FACTORS, test=(CODES[:, :2], FACTORS)),
            "test must have 3 latents and 2 factors, got 2 and 2",
        ),
    ],
)
def test_what_cannot_be_scored_is_refused(call, message):
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=message):
        call()
