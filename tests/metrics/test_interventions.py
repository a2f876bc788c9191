import numpy as np
import pytest
from scipy.stats import chisquare

from unpick.metrics import interventions
from unpick.metrics.draws import fixed_factor_groups, shared_factor_pairs
from unpick.metrics.interventions import (
    beta_vae_score,
    factor_vae_score,
    factor_vae_votes,
    majority_accuracy,
    pair_differences,
    vote_table,
)
from unpick.metrics.irs import irs

FEW = {"train": 3000, "evaluations": 2000, "batch": 5}


def grid(*sizes):
    """All combinations of values, one row each."""
    return np.indices(sizes).reshape(len(sizes), -1).T


def test_groups_share_the_held_factor_and_are_otherwise_uniform(rng):
    labels = grid(2, 3, 4)
    groups, held = fixed_factor_groups(labels, 6000, 4, rng)
    assert chisquare(np.bincount(held)).pvalue > 0.01
    for k in range(3):
        mine = groups[held == k]
        assert (labels[mine, k] == labels[mine[:, :1], k]).all()
        # One draw of a group is uniform over all rows, and two are over pairs that share k.
        assert chisquare(np.bincount(mine[:, 0], minlength=24)).pvalue > 0.01
        pairs = np.bincount(24 * mine[:, 1] + mine[:, 3], minlength=24 * 24)
        allowed = (labels[:, None, k] == labels[None, :, k]).ravel()
        assert pairs[~allowed].sum() == 0
        assert chisquare(pairs[allowed]).pvalue > 0.01


def test_every_pair_has_a_value_of_its_own(rng):
    labels = grid(2, 3, 4)
    pairs, shared = shared_factor_pairs(labels, 6000, 4, rng)
    assert chisquare(np.bincount(shared)).pvalue > 0.01
    for k in range(3):
        mine = pairs[shared == k]
        assert (labels[mine[..., 0], k] == labels[mine[..., 1], k]).all()
        both = np.bincount(24 * mine[:, 0, 0] + mine[:, 0, 1], minlength=24 * 24)
        allowed = (labels[:, None, k] == labels[None, :, k]).ravel()
        assert chisquare(both[allowed]).pvalue > 0.01
        # Inside a batch the values are independent: 0 and 1 share theirs by chance alone.
        same = (labels[mine[:, 0, 0], k] == labels[mine[:, 1, 0], k]).mean()
        assert same == pytest.approx(1 / (2, 3, 4)[k], abs=0.05)


def test_a_value_is_held_as_often_as_it_occurs(rng):
    labels = np.stack([np.repeat([0, 1], [900, 100]), np.arange(1000) % 2], axis=1)
    groups, held = fixed_factor_groups(labels, 8000, 2, rng)
    assert labels[groups[held == 0][:, 0], 0].mean() == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("at_once", [2**18, 1000])
def test_votes_are_those_of_a_loop(dtype, at_once, rng, monkeypatch):
    monkeypatch.setattr(interventions, "CODES_AT_ONCE", at_once)
    codes = (rng.standard_normal((500, 6)) * [1, 2, 0.01, 3, 0, 0.5]).astype(dtype)
    variances = codes.var(axis=0, ddof=1)
    groups, held = fixed_factor_groups(grid(5, 10, 10), 400, 16, rng)
    active = np.array([0, 1, 3, 5])
    expected = []
    for group in groups:
        local = np.var(codes[group][:, active], axis=0, ddof=1)
        expected.append(active[np.argmin(local / variances[active])])
    votes = factor_vae_votes(codes, groups, variances, 0.05)
    assert votes.tolist() == expected
    table = vote_table(votes, held, 6, 3)
    assert table.sum() == 400
    assert table[3, 1] == ((votes == 3) & (held == 1)).sum()


def test_differences_are_those_of_a_loop(rng, monkeypatch):
    monkeypatch.setattr(interventions, "CODES_AT_ONCE", 1000)
    codes = rng.standard_normal((50, 3))
    pairs, _ = shared_factor_pairs(grid(5, 10), 100, 8, rng)
    expected = [np.mean(np.abs(codes[p[:, 0]] - codes[p[:, 1]]), axis=0) for p in pairs]
    assert pair_differences(codes, pairs) == pytest.approx(np.array(expected))


def test_the_majority_is_taken_from_one_table_and_tested_on_another():
    fitted = np.array([[5, 1, 0], [0, 2, 3], [0, 0, 0]])  # latents stand for factors 0, 2, 0
    tested = np.array([[3, 1, 1], [1, 2, 3], [1, 0, 0]])
    assert majority_accuracy(fitted, tested) == pytest.approx((3 + 3 + 1) / 12)
    assert majority_accuracy(fitted, fitted) == pytest.approx(8 / 11)


def test_factor_vae_score_at_its_three_points(ten):
    codes = ten.astype(float)
    perfect = factor_vae_score(codes, ten, **FEW)
    assert perfect.score > 0.99  # in a batch of 5 a second latent is still by chance
    assert (perfect.matrix.argmax(axis=1) == np.arange(10)).all()
    constant = factor_vae_score(np.full((3000, 10), 0.1), ten, **FEW)
    assert constant.score == 0
    assert not constant.active.any()
    twice = factor_vae_score(np.concatenate([codes, codes], axis=1), ten, **FEW)
    assert twice.score > 0.99


@pytest.mark.parametrize("score", [factor_vae_score, beta_vae_score])
def test_noise_is_at_chance_and_fits_the_training_votes_a_little_better(score, rng):
    factors = rng.integers(4, size=(2000, 5))
    result = score(rng.standard_normal((2000, 10)), factors, train=1000, evaluations=4000)
    assert result.score == pytest.approx(0.2, abs=0.025)
    assert result.train_accuracy > 0.2


def test_factor_vae_score_ignores_names_and_scales_of_active_latents(rng):
    factors = grid(4, 5, 6)
    codes = factors @ rng.standard_normal((3, 4)) + rng.standard_normal((120, 4))
    base = factor_vae_score(codes, factors, **FEW)
    moved = factor_vae_score((codes * [2.0, -4.0, 0.5, 1.0])[:, [3, 1, 0, 2]], factors, **FEW)
    assert moved.score == base.score
    assert (moved.matrix == base.matrix[[3, 1, 0, 2]]).all()
    held = base.per_factor  # of a mean over factors drawn equally often
    assert base.score == pytest.approx(held.mean(), abs=0.02)


def test_latents_below_the_threshold_have_no_vote():
    """Without pruning a nearly constant latent that copies factor 1 would do its work."""
    factors = grid(4, 5)
    codes = factors * [1.0, 0.01]
    counts = {"train": 1000, "evaluations": 1000}
    pruned = factor_vae_score(codes, factors, **counts)
    assert pruned.active.tolist() == [True, False]
    assert pruned.matrix[1].sum() == 0
    assert pruned.score == pytest.approx(0.5, abs=0.05)
    assert factor_vae_score(codes, factors, threshold=0.0, **counts).score == 1
    dead = np.concatenate([codes, np.zeros((20, 1))], axis=1)  # 0 / 0 must not win
    assert factor_vae_score(dead, factors, threshold=0.0, **counts).score == 1


@pytest.mark.parametrize("score", [factor_vae_score, beta_vae_score])
def test_a_rotation_is_not_seen_until_it_is_half_way(score, rng):
    """Held factor k leaves 1 - Q_kj^2 of the variance of latent j: still the least for its own."""
    factors = np.tile(grid(8, 8), (50, 1))
    noise = 0.05 * rng.standard_normal((3200, 2))  # half way the two latents are one up to this
    for degrees, expected in ((0, 1.0), (25, 1.0), (45, 0.5)):
        c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
        turned = (factors - 3.5) @ np.array([[c, -s], [s, c]]) + noise
        found = score(turned, factors, train=1000, evaluations=1000, batch=200).score
        assert found == pytest.approx(expected, abs=0.15)


def test_beta_vae_score_at_its_three_points(ten):
    codes = ten.astype(float)
    assert beta_vae_score(codes, ten, **FEW).score > 0.9
    assert beta_vae_score(np.full((3000, 10), 0.1), ten, **FEW).score == pytest.approx(
        0.1, abs=0.03
    )
    twice = np.concatenate([codes, codes], axis=1)
    assert beta_vae_score(twice, ten, **FEW).score > 0.9


def test_differences_of_a_perfect_code_have_a_closed_form():
    """Two uniform values of m differ by (m^2 - 1) / 3m on average, and by 0 if they are shared."""
    factors = grid(3, 5, 8)
    result = beta_vae_score(factors.astype(float), factors)
    free = np.array([(m * m - 1) / (3 * m) for m in (3, 5, 8)])
    expected = np.tile(free[:, None], (1, 3))
    np.fill_diagonal(expected, 0)
    assert result.matrix == pytest.approx(expected, abs=0.02)
    assert np.diag(result.matrix).tolist() == [0, 0, 0]
    assert result.score == 1
    assert result.per_factor.tolist() == [1, 1, 1]


@pytest.mark.parametrize("quantile", [0.99, 1.0])
def test_irs_is_that_of_a_loop(quantile, rng):
    factors = np.stack([rng.integers(m, size=800) for m in (3, 25)], axis=1)
    codes = rng.standard_normal((800, 4)) + factors[:, [0, 1, 1, 0]] * [1, 2, 0.3, 0]
    found = irs(codes, factors, quantile=quantile)
    for j, code in enumerate(codes.T):
        most = np.abs(code - code.mean()).max()
        assert found.weights[j] == pytest.approx(most)
        for k, factor in enumerate(factors.T):
            groups = [code[factor == v] for v in np.unique(factor)]
            held = [np.quantile(np.abs(g - g.mean()), quantile) for g in groups]
            assert found.matrix[j, k] == pytest.approx(1 - np.mean(held) / most, abs=1e-12)
    assert found.score == pytest.approx(
        np.average(found.matrix.max(axis=1), weights=found.weights)
    )


def test_irs_at_its_three_points(ten):
    codes = ten.astype(float)
    assert irs(codes, ten).score == pytest.approx(1)
    assert irs(np.full((3000, 10), 0.1), ten).score == 0
    assert irs(np.concatenate([codes, codes], axis=1), ten).score == pytest.approx(1)


def test_irs_leaves_constant_latents_out(ten):
    codes = np.concatenate([ten[:, :2] + ten[:, 2:4], np.full((3000, 3), 0.1)], axis=1)
    result = irs(codes, ten)
    assert result.score == pytest.approx(irs(codes[:, :2], ten).score)
    assert result.per_latent[2:].tolist() == [0, 0, 0]
    assert result.weights[2:].tolist() == [0, 0, 0]


def test_irs_of_a_sum_of_two_factors_is_a_half():
    """On a grid, holding one of two equal terms leaves half of the largest deviation."""
    values = grid(5, 5)
    assert irs(values @ np.array([[1.0], [1.0]]), values, quantile=1.0).score == pytest.approx(0.5)


def test_irs_ignores_signs_shifts_and_names_but_weighs_by_scale(rng):
    factors = rng.integers(5, size=(500, 2))
    codes = factors + rng.standard_normal((500, 2)) * [0.1, 2.0]
    base = irs(codes, factors)
    moved = irs(codes * [-3.0, 1.0] + 7, np.array([4, 9, -1, 0, 2])[factors])
    assert moved.matrix == pytest.approx(base.matrix)
    assert moved.weights == pytest.approx(base.weights * [3, 1])
    assert moved.score > base.score  # the good latent weighs more


def test_noise_has_an_irs_above_zero(rng):
    """0.99 quantiles of normal noise within a value against the largest of 10 000."""
    factors = rng.integers(4, size=(10_000, 5))
    score = irs(rng.standard_normal((10_000, 10)), factors).score
    assert 0.25 < score < 0.45


FACTORS = grid(5, 10)
CODES = np.random.default_rng(0).random((50, 3))
ALONE = np.stack([np.arange(50) // 2, np.minimum(np.arange(50), 1)], axis=1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: factor_vae_score(CODES, FACTORS[:, :1]), "at least 2 columns, got 1"),
        (lambda: beta_vae_score(CODES, FACTORS[:, :1]), "at least 2 columns, got 1"),
        (lambda: factor_vae_score(CODES, ALONE), "factor 1 has 1 values with a single row"),
        (lambda: beta_vae_score(CODES, ALONE), "factor 1 has 1 values with a single row"),
        (lambda: factor_vae_score(CODES, FACTORS, batch=1), "batch must be at least 2"),
        (lambda: beta_vae_score(CODES, FACTORS, batch=0), "batch must be at least 1"),
        (lambda: factor_vae_score(CODES, FACTORS, train=0), "train and evaluations"),
        (lambda: beta_vae_score(CODES, FACTORS, evaluations=0), "got 10000 and 0"),
        (lambda: beta_vae_score(CODES * np.inf, FACTORS), "codes must be finite"),
        (lambda: irs(CODES, CODES), "looks continuous; pass factor_bins"),
        (lambda: irs(CODES, FACTORS, quantile=1.5), "quantile must lie in 0 to 1, got 1.5"),
        (
            lambda: factor_vae_votes(CODES, FACTORS, np.full(3, 1e-4)),
            "no latent has a deviation of 0.05 or more",
        ),
    ],
)
def test_what_cannot_be_scored_is_refused(call, message):
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=message):
        call()
