from inspect import unwrap

import pytest
import torch
from torch.distributions import MultivariateNormal, Normal, kl_divergence

from unpick.geometry import ima_contrast
from unpick.papers.allen2024.surfaces import conformal_helicoid
from unpick.theory.mechanisms import mechanism_gap
from unpick.theory.pushforward import push_forward

MIXING = torch.tensor([[1.0, 0.6], [0.0, 0.8], [0.5, 0.1]]).double()


def linear(z):
    return z @ MIXING.T


def bent(z):
    a, b = z.T
    return torch.stack([a + b / 2, b + a.sin() / 3], 1)


@pytest.fixture
def z():
    return torch.randn(6, 2, generator=torch.Generator().manual_seed(0)).double() / 2


@pytest.mark.parametrize("precision", [1.0, 10.0, 1e4])
def test_z_s7_6_linear_decoder_in_closed_form(precision, z):
    found = mechanism_gap(linear, z, precision)
    shape = torch.eye(2).double() + precision * MIXING.T @ MIXING
    noise = torch.eye(3).double() / precision
    density = MultivariateNormal(torch.zeros(3).double(), MIXING @ MIXING.T + noise)
    torch.testing.assert_close(found.log_likelihood, density.log_prob(linear(z)))
    shift = torch.einsum("ni,ij,nj->n", z, shape.inverse(), z)
    gap = (shape.diagonal().log().sum() - shape.logdet() + shift) / 2
    torch.testing.assert_close(found.gap, gap, rtol=1e-6, atol=1e-9)


def test_elbo_of_drawn_noise(z):
    precision = 20.0
    found = mechanism_gap(bent, z, precision)
    jacobians = torch.func.vmap(torch.func.jacfwd(lambda one: bent(one[None])[0]))(z)
    deviation = (1 + precision * jacobians.square().sum(1)).rsqrt()
    posterior = Normal(z, deviation)
    codes = z + deviation * torch.randn(
        40_000, *z.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    )
    likelihood = Normal(bent(codes.flatten(0, 1)).reshape(codes.shape), precision**-0.5)
    drawn = likelihood.log_prob(bent(z)).sum(2)
    elbo = drawn.mean(0) - kl_divergence(posterior, Normal(0.0, 1.0)).sum(1)
    assert ((found.elbo - elbo).abs() < 5 * drawn.std(0) / 200).all()


def test_log_likelihood_of_drawn_codes(z):
    precision = 20.0
    codes = torch.randn(
        200_000, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    )
    chances = Normal(bent(codes), precision**-0.5).log_prob(bent(z)[:, None]).sum(2).exp()
    error = chances.std(1) / len(codes) ** 0.5
    found = mechanism_gap(bent, z, precision).log_likelihood.exp()
    assert ((found - chances.mean(1)).abs() < 5 * error).all()


def test_z_s7_6_the_gap_tends_to_the_contrast_and_the_parts_to_the_push_forward(z):
    jacobians = torch.func.vmap(torch.func.jacfwd(lambda one: bent(one[None])[0]))(z)
    contrast = ima_contrast(jacobians).per_sample
    errors = []
    for precision in (1e2, 1e4):
        found = mechanism_gap(bent, z, precision)
        torch.testing.assert_close(found.contrast, contrast)
        errors.append(float((found.gap - contrast).abs().max()))
    assert errors[1] == pytest.approx(errors[0] / 100, rel=0.2)
    # As many outputs as latents: without noise the likelihood is the density of decoded codes,
    # and the ELBO the product of densities along the latents' curves.
    pushed = push_forward(bent, z)
    near = {"atol": 1e-3, "rtol": 0}
    torch.testing.assert_close(found.log_likelihood, pushed.log_density, **near)
    torch.testing.assert_close(found.elbo, pushed.along_latents.sum(1), **near)
    torch.testing.assert_close(found.regularised, found.elbo, **near)


def test_orthogonal_columns_leave_no_gap(z):
    found = mechanism_gap(conformal_helicoid, z, 1e5)
    assert found.contrast.max() < 1e-12
    assert 0 < found.gap.min() < found.gap.max() < 1e-4


def test_bad_input_is_refused(z):
    for precision in (0.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match=f"precision must be positive .* got {precision}"):
            mechanism_gap(linear, z, precision)
    with pytest.raises(ValueError, match="nodes must be at least 1, got 0"):
        mechanism_gap(linear, z, 1.0, nodes=0)
    with pytest.raises(ValueError, match=r"z must have shape \(codes, latents\), .* got \(0, 2\)"):
        mechanism_gap(linear, z[:0], 1.0)
    with pytest.raises(ValueError, match=r"z must have shape .* got \(2,\)"):
        unwrap(mechanism_gap)(linear, z[0], 1.0)  # users have no types checked
    with pytest.raises(ValueError, match="z must be finite, got 12 that are not"):
        mechanism_gap(linear, z + torch.inf, 1.0)
    with pytest.raises(ValueError, match="decode must have finite Jacobians, got an entry nan"):
        mechanism_gap(lambda z: z * torch.nan, z, 1.0)
    with pytest.raises(ValueError, match=r"few latents: 24\^5 points"):
        mechanism_gap(lambda z: z, torch.zeros(1, 5), 1.0)
