"""Entries of the ledger against numbers worked out by hand."""

from itertools import permutations

import numpy as np
import pytest
import torch
from scipy.stats import bernoulli, poisson

from unpick.models import linear_vae
from unpick.papers.allen2024.ledger.beta import PARAMETER, scaled_likelihood
from unpick.papers.allen2024.ledger.curves import swirl
from unpick.papers.allen2024.ledger.data_size import best_posteriors
from unpick.papers.allen2024.ledger.elbo import KINKED, SMOOTH, expansion
from unpick.papers.allen2024.ledger.hessian import posterior_cost, searched_covariance
from unpick.papers.allen2024.ledger.linear import searched_linear_vae
from unpick.papers.allen2024.ledger.local_pca import CODE, WEIGHTS, linear, posterior_of
from unpick.papers.allen2024.ledger.pushforward import is_rival
from unpick.papers.allen2024.surfaces import (
    box_muller,
    conformal_helicoid,
    helicoid,
    plane,
    polar,
    sphere,
    strip,
    turn_latents,
)
from unpick.papers.ledger import LEDGER
from unpick.theory.pushforward import push_forward


def test_a_diagonal_hessian_in_the_wrong_order_is_no_maximum():
    """Theorem 4: eigenvalues -1, -2 and variances 1, 2."""
    values, variances = np.array([-1.0, -2.0]), np.array([1.0, 2.0])
    sums = {order: float(values[list(order)] @ variances) for order in permutations(range(2))}
    assert sums == {(0, 1): -5.0, (1, 0): -4.0}
    assert LEDGER["A-T4"].standing.diagonal(values, variances) == pytest.approx(values[::-1])
    assert float(values @ variances) < 0 < np.linalg.norm(values) * np.linalg.norm(variances)


def test_equal_variances_leave_the_axes_free():
    """Theorem 4, 5: S = I and the full covariance do not see a rotation; the diagonal one does."""
    hessian, straight = -np.array([[3.0, 1.0], [1.0, 3.0]]), np.diag([-2.0, -4.0])
    assert np.trace(hessian) == np.trace(straight) == -6
    for diagonal, costs in ((True, [np.log(4), np.log(15) / 2]), (False, [np.log(15) / 2] * 2)):
        found = [
            posterior_cost(h, searched_covariance(h, 1.0, diagonal), 1.0)
            for h in (hessian, straight)
        ]
        assert found == pytest.approx(costs, abs=1e-6)


def test_best_variances_are_not_the_diagonal_of_the_best_covariance():
    hessian = -np.array([[3.0, 1.0], [1.0, 3.0]])
    best = LEDGER["A-E7"].printed
    assert best.diagonal(hessian, 1.0) == pytest.approx([1 / 4, 1 / 4])
    assert np.diag(best.full(hessian, 1.0)) == pytest.approx([4 / 15, 4 / 15])


def logs(decode, a, b):
    """Of the factors along the curves of both latents."""
    return push_forward(decode, torch.tensor([[a, b]]).double()).along_latents[0]


def test_which_factors_ignore_the_other_latent():
    """Theorem 2: along z_1 from 0 to 1, then along z_2."""
    start, first, second, both = (
        {decode: logs(decode, a, b) for decode in (strip, helicoid, sphere)}
        for a, b in ((0, 0), (1, 0), (0, 1), (1, 1))
    )
    assert first[strip][1] == start[strip][1]
    assert second[strip][0] == start[strip][0]
    assert float(first[helicoid][1] - start[helicoid][1]) == pytest.approx(-np.log(2) / 2)
    assert float(second[helicoid][0] - start[helicoid][0]) == pytest.approx(0)
    assert float(first[sphere][1] - start[sphere][1]) == pytest.approx(np.log(2))
    # Whether the density by area is a function of z_1 times one of z_2 at least.
    mixed = {
        decode: float((start[decode] - first[decode] - second[decode] + both[decode]).sum())
        for decode in (strip, helicoid, sphere)
    }
    assert mixed == pytest.approx({strip: 0, helicoid: 0, sphere: 2 * np.log(3 / 4)}, abs=1e-9)


def test_conformal_decoders_can_be_turned_and_the_plane_has_polar_latents():
    """Corollary 2.1."""
    assert is_rival(conformal_helicoid, turn_latents(37.0))
    assert not is_rival(helicoid, turn_latents(37.0))
    assert is_rival(helicoid, turn_latents(90.0))  # a signed permutation
    assert is_rival(plane, box_muller)
    assert is_rival(box_muller, polar)
    assert not is_rival(helicoid, box_muller)
    assert not is_rival(plane, lambda z: 2 * z)  # orthogonal columns, another density


@pytest.mark.parametrize(("activation", "order"), [(SMOOTH, (4, 4)), (KINKED, (2, 3))])
def test_order_of_the_expansion_with_and_without_a_residual(activation, order):
    for residual, power in zip((True, False), order, strict=True):
        errors = []
        for scale in (0.03, 0.01):
            parts = expansion(activation, scale, residual)
            expanded = parts.at_mean + parts.bend * scale**2 / 2
            errors.append(np.abs(expanded - parts.expected).mean())
        assert np.log(errors[0] / errors[1]) / np.log(3) == pytest.approx(power, abs=0.05)


def test_a_linear_vae_with_more_noise_shrinks_components_and_loses_the_weak():
    """Corollary 1.1: eigenvalues 9.25, 1.25 and 0.25; the model's own noise variance is 0.25."""
    data = np.diag([9.25, 1.25, 0.25])
    for noise, lengths in ((0.25, [3, 1]), (1.0, [8.25**0.5, 0.5]), (2.0, [7.25**0.5, 0])):
        found = np.linalg.norm(searched_linear_vae(data, 2, noise), axis=1)
        assert found == pytest.approx([*lengths, 0], abs=1e-3)
        x = torch.from_numpy(np.concatenate([np.eye(3), -np.eye(3)]) @ np.sqrt(3 * data))
        closed = linear_vae(x, 2, noise).weights.norm(dim=1)
        assert closed.numpy() == pytest.approx([*lengths, 0], abs=1e-6)


def masses(family, beta):
    """Of a likelihood divided by beta: those that count, by value."""
    chances = scaled_likelihood(family, beta)
    return {k / 10: chances[k] for k in range(400) if abs(chances[k]) > 1e-6}


def test_a_mean_of_two_observations_halves_the_variance_and_half_an_observation_is_none():
    """Theorem 3: the binomial series of (1 + e^theta)^(1 / beta)."""
    odds = np.exp(PARAMETER)
    p = odds / (1 + odds)
    binomial = {0.0: (1 - p) ** 2, 0.5: 2 * p * (1 - p), 1.0: p**2}
    assert masses("Bernoulli", 0.5) == pytest.approx(binomial)
    half = masses("Bernoulli", 2.0)
    series = {0.0: 1, 2.0: odds / 2, 4.0: -(odds**2) / 8}
    assert [half[x] * (1 + odds) ** 0.5 for x in series] == pytest.approx([*series.values()])


@pytest.mark.parametrize("beta", [0.5, 0.8, 2.0])
def test_a_scaled_poisson_moves_to_multiples_of_beta(beta):
    rate = np.exp(PARAMETER) / beta
    chances = {beta * n: poisson.pmf(n, rate) for n in range(20) if poisson.pmf(n, rate) > 1e-6}
    found = masses("Poisson", beta)
    assert [*found] == pytest.approx([*chances])
    assert [*found.values()] == pytest.approx([*chances.values()])
    assert (1.0 in found) == (beta == 0.5)


def test_a_tempered_bernoulli_has_another_variance():
    """Renormalised p^(1/beta) at odds 4 and beta = 2 has odds 2."""
    p, beta = 0.8, 2.0
    tempered = p ** (1 / beta) / (p ** (1 / beta) + (1 - p) ** (1 / beta))
    assert tempered == pytest.approx(2 / 3)
    assert tempered * (1 - tempered) < beta * p * (1 - p)


def test_a_black_image_fits_whatever_is_decoded_as_printed():
    """Appendix A.4: at x = 0 the printed likelihood is 0, the corrected one log(1 - s)."""
    entry, s = LEDGER["A-SA.4"], np.array([0.1, 0.5, 0.9])
    assert entry.printed(s) == pytest.approx(0)
    assert entry.standing(s) == pytest.approx(bernoulli.logpmf(0, s))


def test_a_slope_of_one_costs_log_two():
    """Eq. 14 at beta = 1."""
    entry = LEDGER["A-E14"]
    assert entry.printed(1.0, 1.0) == pytest.approx(0.5)
    assert entry.standing(1.0, 1.0) == pytest.approx(np.log(2))


def test_the_posterior_by_quadrature_is_that_of_ppca():
    """Eq. 8: mean and covariance of a linear decoder in closed form (eq. 3)."""
    for noise in (0.09, 1e-4):
        mean, covariance = posterior_of(linear, noise)
        inverse = np.linalg.inv(WEIGHTS.T @ WEIGHTS + noise * np.eye(2))
        assert mean == pytest.approx(inverse @ WEIGHTS.T @ WEIGHTS @ CODE)
        assert covariance == pytest.approx(noise * inverse)


def test_the_decoder_without_continuous_singular_vectors_is_injective():
    """Section 3.2.3: it differs from the identity by a contraction, and is conformal at 0."""
    z = torch.randn(2, 500, 2, generator=torch.Generator().manual_seed(0)).double() * 3
    moved = torch.stack([swirl(each) - each for each in z])
    assert bool(((moved[0] - moved[1]).norm(dim=1) < 0.75 * (z[0] - z[1]).norm(dim=1)).all())
    jacobian = torch.autograd.functional.jacobian(lambda z: swirl(z[None])[0], torch.zeros(2))
    assert jacobian.numpy() == pytest.approx(np.eye(2))


def test_posteriors_of_two_points_far_apart_do_not_overlap():
    """Appendix A.2: with little noise each point has a posterior of its own, and no error."""
    variance, error = best_posteriors(2, 0.05)
    assert error < 0.05  # less than the likelihood's deviation; the points are 1.4 apart
    assert 0.01 < variance < 0.5
    wide = best_posteriors(2, 100.0)  # all that is left is the prior, and the mean is decoded
    assert wide[0] == pytest.approx(1, abs=1e-2)
    assert wide[1] == pytest.approx(1 / np.sqrt(2), abs=1e-2)


def test_a_tempered_posterior_in_numbers():
    """Section 3.3: odds 9 at beta 2 become 3; with prior odds 1/3 the two are equal."""
    q = LEDGER["A-S3.3"].printed(np.log([9.0, 1.0]), np.log([0.25, 0.75]), 2.0)
    assert q[0] == pytest.approx(q[1])
