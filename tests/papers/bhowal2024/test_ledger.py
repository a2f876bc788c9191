"""What the ledger's general tests do not cover: counterexamples in numbers, and remarks."""

from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest
import torch

from unpick.models import linear_vae
from unpick.papers.bhowal2024.ledger import constraints as bhowal_constraints
from unpick.papers.bhowal2024.ledger import neighbours as bhowal_neighbours
from unpick.papers.bhowal2024.ledger import optimum as bhowal_optimum
from unpick.papers.bhowal2024.ledger import taylor as bhowal_taylor
from unpick.papers.bhowal2024.ledger.embedding import EMBEDDING, T_SHAPE, best_codes
from unpick.papers.bhowal2024.ledger.variances import best_variances
from unpick.papers.ledger import LEDGER
from unpick.study.ledger.instances import decoder, orthonormal
from unpick.theory.orthogonal import nearest_orthogonal
from unpick.theory.quadrature import gaussian_grid, kl_by_quadrature


def test_the_prior_has_no_kl_but_a_printed_one():
    prior = np.zeros(1), np.ones(1)
    assert kl_by_quadrature(*prior) == pytest.approx(0)
    assert LEDGER["B-E4"].printed(*prior) == 1
    assert LEDGER["B-E5"].printed(*prior) == 2
    assert kl_by_quadrature(np.array([2.0]), np.array([np.e])) == pytest.approx(np.e / 2 + 1)


def test_with_the_printed_sign_the_best_noise_is_none():
    """The bracket of eq. 4 keeps falling with the noise; that of the KL has its least at 1."""
    variances = np.geomspace(1e-8, 10, 200)
    printed = [LEDGER["B-E4"].printed(np.zeros(1), v[None]) for v in variances]
    right = [LEDGER["B-E4"].standing(np.zeros(1), v[None]) for v in variances]
    assert np.argmin(printed) == 0
    assert variances[np.argmin(right)] == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize("sigma", [0.1, 0.01])
def test_the_bias_of_a_bent_decoder_is_as_large_as_the_stochastic_loss(sigma):
    """Dec(z) = z + z^2 / 2 at 0 for x = 1: what proposition 1 leaves out is -sigma^2."""
    nodes, weights = gaussian_grid(1, 9)
    decoded = sigma * nodes + (sigma * nodes) ** 2 / 2
    said = LEDGER["B-P1"].printed(decoded, weights, np.zeros(1), np.ones(1))
    assert weights @ np.square(decoded - 1).sum(1) - said == pytest.approx(-(sigma**2))
    assert said - 1 == pytest.approx(sigma**2 + 0.75 * sigma**4)


DERIVATIVES = {np.exp: (1, 1, 1), bhowal_taylor.softplus: (0.5, 0.25, 0)}


@pytest.mark.parametrize("f", DERIVATIVES)
def test_the_next_term_of_the_variance(f):
    """(f''^2 / 2 + f' f''') v^2, not f'' v^2 / 4."""
    first, second, third = DERIVATIVES[f]
    nodes, weights = gaussian_grid(1, 30)
    values = f(np.sqrt(1e-3) * nodes[:, 0])
    beyond = (weights @ (values - weights @ values) ** 2 - first**2 * 1e-3) / 1e-6
    assert beyond == pytest.approx(second**2 / 2 + first * third, rel=0.02, abs=1e-4)
    assert abs(beyond - second / 4) > 0.03


def test_two_ways_to_reconstruct_differ_in_kl_by_three_halves():
    """Decoder z with code 2, decoder 2z with code 1."""
    noise = np.array([0.01])
    difference = kl_by_quadrature(np.array([2.0]), noise) - kl_by_quadrature(np.ones(1), noise)
    assert difference == pytest.approx(1.5)
    evidence = LEDGER["B-L3"].check(LEDGER["B-L3"].printed)
    assert "such as mu = [2.] and variance = [0.01] and mu' = [1.] and variance'" in evidence.text


@pytest.mark.parametrize("kind", ["plain", "scaled"])
def test_the_half_matters_whether_codes_turn_or_stretch(kind, rng):
    check, codes = LEDGER["B-L3"].check, (np.ones(2), np.full(2, 1e-3))
    halved = LEDGER["B-L3"].mutation.reading
    assert halved(*codes) == pytest.approx(LEDGER["B-L3"].printed(*codes) / 2)
    instances = [check.draw(rng, kind) for _ in range(10)]
    assert max(check.violation(LEDGER["B-L3"].printed, each) for each in instances) > 0.1
    if kind == "plain":  # codes turn only
        assert max(check.violation(halved, each) for each in instances) <= 0


def test_decoders_with_the_same_loss_are_what_they_are_said_to_be(rng):
    """Both descents reach what an SVD says is least; mirrors and stretched ones do not."""
    for kind in ("plain", "scaled", "orthogonal", "equal"):
        x, *pair = bhowal_constraints.two_decoders(rng, kind)
        projections = [m @ np.linalg.pinv(m) for m in pair]
        losses = [np.square(x - x @ p).sum() for p in projections]
        least = np.square(np.linalg.svd(x, compute_uv=False)[pair[0].shape[1] :]).sum()
        assert losses[0] == pytest.approx(losses[1])
        assert np.allclose(*projections) == (kind in ("plain", "scaled"))
        assert (losses[0] == pytest.approx(least)) == (kind == "plain")
    assert losses[0] == pytest.approx(0.64)


def test_the_smallest_decoder_against_theorem_1():
    """Columns of M are orthogonal, those of diag(1, 2) M are not: 10 against 8."""
    m, image = np.array([[2.0, 1.0], [2.0, -1.0]]), np.array([1.0, 2.0])
    jacobian = image[:, None] * m
    assert m[:, 0] @ m[:, 1] == 0
    assert np.linalg.norm(jacobian, axis=0).prod() == pytest.approx(10)
    assert abs(np.linalg.det(jacobian)) == pytest.approx(8)
    turned, variance, least = bhowal_optimum.cheapest_turn(m, image, (0.3, 0.0))
    assert np.exp(least) == pytest.approx(2 * 8 * 1e-12, rel=1e-5)
    assert abs(turned[:, 0] @ turned[:, 1]) > 1.8  # of M, where it costs least
    lengths = np.square(image[:, None] * turned).sum(0)
    assert variance * lengths == pytest.approx(8e-12, rel=1e-4)


@pytest.mark.parametrize("name", ["B-T1", "B-L5"])
def test_one_slope_for_all_outputs_is_enough(name):
    entry = LEDGER[name]
    draws = [entry.check.draw(np.random.default_rng(seed), "equal") for seed in range(3)]
    assert max(entry.check.violation(entry.printed, draw) for draw in draws) < 1e-4


def test_orthogonal_columns_can_need_more_budget():
    """(2, 1; 2, -1) against the same turned so that the Jacobian's columns are orthogonal."""
    m, slopes = np.array([[2.0, 1.0], [2.0, -1.0]]), np.diag([1.0, 2.0])
    turned = m @ bhowal_optimum.turn_and_saving(slopes @ m)[0]
    assert abs(turned[:, 0] @ turned[:, 1]) > 1.8
    needed = [bhowal_optimum.cheapest_budget(slopes @ each, 0.01) for each in (m, turned)]
    assert needed == pytest.approx([15.20, 14.76], abs=0.005)
    assert needed[0] - needed[1] == pytest.approx(np.log(100 / 64))


def test_the_counterexample_to_lemma_5_in_numbers():
    m, slopes = np.array([[4.0, 2.0], [2.0, -1.0]]), np.diag([1.0, 2.0])
    assert (slopes @ m)[:, 0] @ (slopes @ m)[:, 1] == 0
    turn, claimed = bhowal_optimum.turn_and_saving(m)
    needed = [bhowal_optimum.cheapest_budget(slopes @ each, 0.01) for each in (m, m @ turn)]
    assert claimed == pytest.approx(0.45, abs=0.005)
    assert needed[1] - needed[0] == pytest.approx(0.20, abs=0.005)


def test_the_budget_of_the_worked_example():
    """Lengths sqrt(50) and sqrt(3), inner product -4 (Rolinek et al. 2019, section 4)."""
    m = np.array([[4.0, 1.0], [-3.0, 1.0], [5.0, -1.0]])
    gap = np.log(150 / 134)
    turn, saving = bhowal_optimum.turn_and_saving(m)
    assert saving == pytest.approx(gap)
    budgets = [bhowal_optimum.cheapest_budget(each, 0.3) for each in (m, m @ turn)]
    assert budgets[0] - budgets[1] == pytest.approx(gap, abs=1e-8)
    assert budgets[0] == pytest.approx(np.log(150 * (2 / 0.3) ** 2), abs=1e-8)


@pytest.mark.parametrize(("a", "gain"), [((2.0, 1.0), 1 / 6), ((1.0, 2.0), -2 / 3)])
def test_the_gain_of_lemma_11_depends_on_which_is_larger(a, gain):
    moved = LEDGER["B-L11"].printed(*a, 0.5)
    assert sum(a) - sum(moved) == pytest.approx(gain)
    assert sum(a) * 0.5 / 1.5 == pytest.approx(1)  # what the proof says, for both


def test_two_lengths_in_rising_order_swap_the_axes():
    _, values, vt = np.linalg.svd(np.diag([1.0, 2.0]))
    assert values.tolist() == [2, 1]
    assert np.abs(vt).tolist() == [[0, 1], [1, 0]]


def test_in_the_order_of_the_columns_v_is_the_identity(rng):
    m = orthonormal(rng, 5, 3) * (1.0, 3.0, 2.0)
    u, values, vt = np.linalg.svd(m, full_matrices=False)
    place = np.abs(vt).argmax(0)  # of each column among the singular values
    signs = np.sign(vt[place, np.arange(3)])
    assert signs[:, None] * vt[place] == pytest.approx(np.eye(3))
    assert (u[:, place] * signs) @ np.diag(values[place]) == pytest.approx(m)


def test_the_two_parts_of_the_od_score_are_one_for_the_polar_factor_only(rng):
    m = decoder(rng, "plain")
    u, _, vt = np.linalg.svd(m, full_matrices=False)
    of_v = LEDGER["B-S4.4"].printed(vt.T)
    nearest = nearest_orthogonal(torch.tensor(m)).numpy()
    assert np.square(u - nearest).sum() == pytest.approx(of_v)
    unit_columns = m / np.linalg.norm(m, axis=0)
    assert np.square(u - unit_columns).sum() != pytest.approx(of_v, rel=1e-3)


def test_half_the_gap_is_what_reconstructions_may_be_off():
    x = np.array([[0.0], [1.0], [-3.0]])
    found = [bhowal_neighbours.order_violation(share, x) for share in (0.0, 0.499, 0.501)]
    assert found == pytest.approx([-1, -0.002, 0.002])


def test_distinct_elements_are_the_nearest_ones_if_the_sum_starts_at_one(rng):
    for _ in range(20):
        squares = rng.random(4)
        for k in (1, 2, 3):
            picks = list(combinations(range(4), k))  # k terms: l = 1 to k
            best = min(picks, key=lambda pick: squares[list(pick)].sum())
            assert LEDGER["B-L13"].mutation.reading(squares, k) == [{*best}]
            assert {*best} in LEDGER["B-L13"].printed(squares, k)
    assert LEDGER["B-L13"].printed(np.array([1.0, 9.0]), 2) == [{0}, {0, 1}]


def test_whatever_the_order_of_codes_a_point_of_the_t_is_cut_off_from_its_nearest():
    middle = 0
    for order in permutations(range(4)):
        place = np.argsort(order)
        assert max(abs(place[i] - place[middle]) for i in (1, 2, 3)) > 1


def test_the_best_codes_of_the_t_put_the_middle_between_two_of_the_three():
    mean = best_codes()[:4]
    order = np.argsort(mean)
    assert 0 in order[1:3]
    distances = np.linalg.norm(np.diff(T_SHAPE[order], axis=0), axis=1)
    assert sorted(distances) == pytest.approx([1, 1, np.sqrt(2)])  # the shortest path there is


@pytest.mark.parametrize(
    "slip",
    [
        {"partners": EMBEDDING.printed.partners},
        {"loss": lambda squares, overlap: float((np.sqrt(squares) * overlap).sum() / 2)},
        {"distance": EMBEDDING.printed.distance},
    ],
    ids=["nearest", "not squared", "codes drawn"],
)
def test_each_part_of_theorem_2_can_fail_alone(slip):
    assert EMBEDDING.check(EMBEDDING.standing).holds
    assert not EMBEDDING.check(replace(EMBEDDING.standing, **slip)).holds


def test_codes_drawn_move_apart_as_the_kl_falls():
    """(1 - v) 3/2 + 2 v for noise of the share v: neighbours are 3/2 variances apart, squared."""
    text = EMBEDDING.check(EMBEDDING.printed).text
    expected = [(1 - v) * 1.5 + 2 * v for v in (0.1, 0.5, 0.9)]
    assert text.endswith(", ".join(f"{distance:.2f}" for distance in expected))


def test_the_mean_variance_and_the_mean_kl_may_have_another_order():
    """Section 3.5: squared lengths 1, 1 and 0.1, 20 over two observations."""
    found = best_variances(np.sqrt([[1.0, 0.1], [1.0, 20.0]]))
    means, kl = found.mean(0), -np.log(found).mean(0)
    assert means[1] / means[0] == pytest.approx((10 + 0.05) / 2, rel=1e-4)
    assert kl[1] - kl[0] == pytest.approx(np.log(2) / 2, rel=1e-4)


def test_longer_columns_belong_to_larger_variances_of_the_data():
    """Section 3.5, for a linear VAE, where posterior variances are noise by variance."""
    x = np.concatenate([np.eye(3), -np.eye(3)]) * np.sqrt(3 * np.array([9.0, 4.0, 1.0]))
    best = linear_vae(torch.from_numpy(x), 2, 0.5)
    assert best.weights.norm(dim=0).numpy() == pytest.approx(np.sqrt([8.5, 3.5]))
    posterior = best.posterior_covariance.diagonal().numpy()
    assert posterior == pytest.approx([0.5 / 9, 0.5 / 4])
