from itertools import permutations

import numpy as np
import pytest
import torch

from unpick.models import linear_vae
from unpick.theory.claims import (
    allen_axes,
    allen_beta,
    allen_elbo,
    allen_hessian,
    allen_linear,
    allen_pushforward,
    allen_singular,
    allen_slopes,
    zietlow_mechanisms,
)
from unpick.theory.claims.allen_beta import scaled_likelihood
from unpick.theory.claims.allen_elbo import KINKED, SMOOTH, expansion
from unpick.theory.claims.allen_hessian import noise_cost, searched_covariance
from unpick.theory.claims.allen_linear import searched_linear_vae
from unpick.theory.claims.allen_pushforward import is_rival
from unpick.theory.dispersion import train_twins
from unpick.theory.surfaces import box_muller, conformal_helicoid, helicoid, plane, polar, turned

MODULES = (
    allen_axes,
    allen_beta,
    allen_elbo,
    allen_hessian,
    allen_linear,
    allen_pushforward,
    allen_singular,
    allen_slopes,
    zietlow_mechanisms,
)
ENTRIES = {entry.id: entry for module in MODULES for entry in module.ENTRIES}


def test_a_diagonal_hessian_in_the_wrong_order_is_no_maximum():
    """Theorem 4: eigenvalues -1, -2 and variances 1, 2."""
    values, variances = np.array([-1.0, -2.0]), np.array([1.0, 2.0])
    sums = {order: float(values[list(order)] @ variances) for order in permutations(range(2))}
    assert sums == {(0, 1): -5.0, (1, 0): -4.0}
    assert ENTRIES["A-T4"].standing.diagonal(values, variances) == pytest.approx(values[::-1])
    assert float(values @ variances) < 0 < np.linalg.norm(values) * np.linalg.norm(variances)


def test_equal_variances_leave_the_axes_free():
    """Theorem 4: with S = I no rotation of H changes tr(H S); with the best S it does."""
    hessian = -np.array([[3.0, 1.0], [1.0, 3.0]])  # eigenvalues -2 and -4
    assert np.trace(hessian) == -6
    costs = [
        noise_cost(h, searched_covariance(h, 1.0, diagonal=True), 1.0)
        for h in (hessian, np.diag([-2.0, -4.0]))
    ]
    assert costs == pytest.approx([np.log(4), np.log(15) / 2], abs=1e-6)


def test_best_variances_are_not_the_diagonal_of_the_best_covariance():
    hessian = -np.array([[3.0, 1.0], [1.0, 3.0]])
    best = ENTRIES["A-E7"].printed
    assert best.diagonal(hessian, 1.0) == pytest.approx([1 / 4, 1 / 4])
    assert np.diag(best.full(hessian, 1.0)) == pytest.approx([4 / 15, 4 / 15])


def test_conformal_decoders_can_be_turned_and_the_plane_has_polar_latents():
    """Corollary 2.1."""
    assert is_rival(conformal_helicoid, turned(37.0))
    assert not is_rival(helicoid, turned(37.0))
    assert is_rival(helicoid, turned(90.0))  # a signed permutation
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


@pytest.mark.parametrize("hidden", [0, 5])
@pytest.mark.parametrize(("optimiser", "rounding"), [("sgd", 1e-12), ("adam", 1e-4)])
def test_a_beta_vae_trains_as_a_vae_of_beta_times_the_variance(hidden, optimiser, rounding):
    x = torch.randn(30, 4, generator=torch.Generator().manual_seed(0))
    options = {"hidden": hidden, "optimiser": optimiser, "rate": 3e-3}
    same = train_twins(x, 3.0, 0.2, **options)
    other = train_twins(x, 3.0, 0.2, twin_variance=0.2, **options)
    assert same.difference < rounding
    assert other.difference > 0.01


def test_a_power_of_two_scales_without_rounding():
    x = torch.randn(30, 4, generator=torch.Generator().manual_seed(0))
    assert torch.equal(*(getattr(train_twins(x, 4.0, 0.5), name) for name in ("beta_vae", "vae")))


def test_a_learned_variance_is_not_scaled():
    """Theorem 3: the losses differ by more than a factor once log sigma^2 counts."""
    beta, pixels = 4.0, 6
    error, log_variance = torch.tensor([3.0, -0.5], requires_grad=True)
    first = error / (2 * log_variance.exp()) + pixels / 2 * log_variance
    second = error / (2 * beta * log_variance.exp()) + pixels / 2 * (np.log(beta) + log_variance)
    slopes = [torch.autograd.grad(loss, (error, log_variance)) for loss in (first, second)]
    by_error, by_variance = (float(a / b) for a, b in zip(*slopes, strict=True))
    assert by_error == pytest.approx(beta)
    assert by_variance != pytest.approx(beta, rel=0.5)


def test_a_mean_of_two_observations_halves_the_variance_and_half_an_observation_is_none():
    assert max(scaled_likelihood("Bernoulli", 0.5)) < 1e-12
    assert scaled_likelihood("Bernoulli", 2.0)[0] > 0.1


def test_a_tempered_bernoulli_has_another_variance():
    """Renormalised p^(1/beta) at odds 4 and beta = 2 has odds 2."""
    p, beta = 0.8, 2.0
    tempered = p ** (1 / beta) / (p ** (1 / beta) + (1 - p) ** (1 / beta))
    assert tempered == pytest.approx(2 / 3)
    assert tempered * (1 - tempered) < beta * p * (1 - p)


def test_bad_twins_are_refused():
    with pytest.raises(ValueError, match="positive, got 0"):
        train_twins(torch.zeros(2, 2), 0.0, 1.0)
