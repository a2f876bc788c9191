import math
from inspect import unwrap

import pytest
import torch
from torch.distributions import MultivariateNormal, Normal, kl_divergence

from unpick.theory.best_encoder import best_encoder, log_marginal
from unpick.theory.mechanisms import mechanism_gap

MIXING = torch.tensor([[1.0, 0.6], [0.0, 0.8], [0.5, 0.1]]).double()


def linear(z):
    return z @ MIXING.T


def bent(z):
    a, b = z.T
    return torch.stack([a + b / 2, b + a.sin() / 3], 1)


@pytest.fixture
def z(generator):
    return torch.randn(6, 2, generator=generator).double() / 2


@pytest.mark.parametrize("precision", [1.0, 10.0, 1e4])
def test_the_best_encoder_of_a_linear_decoder_in_closed_form(precision, z):
    """The mean of the exact posterior, and the inverse diagonal of its precision."""
    found = best_encoder(linear, z, precision)
    shape = torch.eye(2).double() + precision * MIXING.T @ MIXING
    mean = precision * linear(z) @ MIXING @ shape.inverse()
    torch.testing.assert_close(found.mean, mean, atol=1e-5, rtol=0)
    variance = (1 / shape.diagonal()).expand(6, 2)
    torch.testing.assert_close(found.deviation.square(), variance, atol=0, rtol=1e-4)
    noise = torch.eye(3).double() / precision
    density = MultivariateNormal(torch.zeros(3).double(), MIXING @ MIXING.T + noise)
    gap = (shape.diagonal().log().sum() - shape.logdet()) / 2
    torch.testing.assert_close(found.elbo, density.log_prob(linear(z)) - gap, atol=1e-7, rtol=0)


def test_its_elbo_is_that_of_drawn_noise_and_no_other_encoders_is_higher(z, generator):
    precision = 20.0
    found = best_encoder(bent, z, precision, nodes=9)
    noise = torch.randn(20_000, 1, 2, generator=generator, dtype=torch.float64)

    def elbo(mean, deviation):
        codes = (mean + deviation * noise).flatten(0, 1)
        likelihood = Normal(bent(codes).reshape(-1, *z.shape), precision**-0.5)
        drawn = likelihood.log_prob(bent(z)).sum(2)
        prior = kl_divergence(Normal(mean, deviation), Normal(0.0, 1.0)).sum(1)
        return drawn.mean(0) - prior, drawn.std(0) / len(noise) ** 0.5

    value, error = elbo(found.mean, found.deviation)
    assert ((found.elbo - value).abs() < 5 * error).all()
    for k in range(2):
        step = 0.2 * torch.eye(2).double()[k]
        for sign in (-1, 1):  # on the same draws, so that differences are certain
            assert (elbo(found.mean + sign * step, found.deviation)[0] < value).all()
            assert (elbo(found.mean, found.deviation * (sign * step).exp())[0] < value).all()


def test_it_lies_between_the_inverting_encoder_and_the_likelihood(z):
    for precision in (5.0, 500.0):
        inverting = mechanism_gap(bent, z, precision)
        found = best_encoder(bent, z, precision, nodes=24)
        assert (found.elbo > inverting.elbo).all()
        assert (found.elbo < inverting.log_likelihood).all()


@pytest.mark.parametrize("precision", [5.0, 1e5])
def test_likelihoods_of_decoders_with_noise(precision, z):
    noise = torch.eye(3).double() / precision
    density = MultivariateNormal(torch.zeros(3).double(), MIXING @ MIXING.T + noise)
    close = {"atol": 0.1, "rtol": 0.0}  # of 2000 draws
    found = log_marginal(linear, linear(z), z, precision)
    torch.testing.assert_close(found, density.log_prob(linear(z)), **close)
    quadrature = mechanism_gap(bent, z, precision, nodes=60).log_likelihood
    torch.testing.assert_close(log_marginal(bent, bent(z), z, precision), quadrature, **close)
    many = log_marginal(bent, bent(z), z, precision, draws=100_000)
    torch.testing.assert_close(many, quadrature, atol=0.015, rtol=0)


def test_bad_input_is_refused(z):
    for precision in (0.0, math.inf, math.nan):
        with pytest.raises(ValueError, match=f"precision must be positive .* got {precision}"):
            best_encoder(bent, z, precision)
    for nodes in (0, 600):
        with pytest.raises(ValueError, match=rf"positive and few: {nodes}\^2 points"):
            best_encoder(bent, z, 1.0, nodes=nodes)
    with pytest.raises(ValueError, match=r"z must have shape .* got \(2,\)"):
        unwrap(best_encoder)(bent, z[0], 1.0)
    with pytest.raises(ValueError, match="z must be finite, got 12 that"):
        best_encoder(bent, z * math.nan, 1.0)
