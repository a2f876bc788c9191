import math

import numpy as np
import pytest
import torch

from unpick.data import load
from unpick.geometry.elbo import deterministic_elbo
from unpick.geometry.stochastic import stochastic_loss
from unpick.models import MLP, Autoencoder, ModelConfig, linear_vae


def network(activation, generator, latents=3, pixels=20):
    sizes = (latents, 30), (30, 30), (30, pixels)
    first, second, last = (
        torch.randn(*s, generator=generator).double() / s[0] ** 0.5 for s in sizes
    )
    shift = torch.randn(2, 30, generator=generator).double()
    return lambda z: activation(activation(z @ first + shift[0]) @ second + shift[1]) @ last


def lower(n, d, size, generator):
    factor = size * torch.randn(n, d, d, generator=generator).double().tril()
    return factor - torch.diag_embed(factor.diagonal(dim1=1, dim2=2) - size)


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
@pytest.mark.parametrize("posterior", ["diagonal", "full"])
def test_the_parts_add_up_draw_by_draw(likelihood, posterior, generator):
    config = ModelConfig(3, likelihood=likelihood, network=MLP((8,), "relu", (8, 8), "tanh"))
    model = Autoencoder(config, (1, 4, 4), [0]).eval()
    x = torch.rand(10, 1, 4, 4, generator=generator)
    z = torch.randn(10, 3, generator=generator)
    spread = torch.rand(10, 3, generator=generator) + 0.1
    if posterior == "full":
        spread = lower(10, 3, 0.7, generator).float()
    parts = stochastic_loss(
        lambda z: model.decode(z[None])[0], x, z, spread, likelihood=likelihood, chunk=4
    )
    added = parts.deterministic.per_sample + parts.stochastic.per_sample + parts.bias.per_sample
    torch.testing.assert_close(parts.total.per_sample, added, rtol=1e-12, atol=1e-12)
    assert parts.total.mean == pytest.approx(float(added.mean()))
    assert parts.stochastic.per_sample.min() > 0
    assert parts.bias.per_sample.abs().max() > 1e-4  # what the published split assumes away


def test_a_linear_decoder_has_no_bias_and_the_linearised_part_is_right(generator):
    mixing = torch.randn(20, 3, generator=generator).double()
    x = torch.randn(50, 20, generator=generator).double()
    z, factor = torch.randn(50, 3, generator=generator).double(), lower(50, 3, 0.5, generator)
    parts = stochastic_loss(lambda z: z @ mixing.T, x, z, factor)
    covariance = factor @ factor.mT
    torch.testing.assert_close(
        parts.linearised.per_sample, torch.einsum("pi,nij,pj->n", mixing, covariance, mixing)
    )
    assert parts.bias.per_sample.abs().max() < 1e-12  # paired draws cancel exactly
    assert abs(parts.stochastic.mean - parts.linearised.mean) < 4 * parts.stochastic.error
    assert parts.linearity == pytest.approx(1, abs=0.1)


def test_a_parabola_has_the_closed_form():
    """D(z) = a z^2: bias 2 (a m^2 - x) a s^2, stochastic part a^2 (4 m^2 s^2 + 3 s^4)."""
    a, m, s, x = 1.5, 0.7, 0.4, 2.0
    n = 2000
    parts = stochastic_loss(
        lambda z: a * z**2, torch.full((n, 1), x), torch.full((n, 1), m), torch.full((n, 1), s)
    )
    bias = 2 * (a * m**2 - x) * a * s**2
    stochastic = a**2 * (4 * m**2 * s**2 + 3 * s**4)
    for found, value in ((parts.bias, bias), (parts.stochastic, stochastic)):
        assert 0 < found.error < 0.02 * abs(value)
        assert abs(found.mean - value) < 4 * found.error
    assert parts.linearised.mean == pytest.approx((2 * a * m * s) ** 2)


def test_a_kink_has_the_bias_of_the_heat_equation():
    """Noise s smooths relu by s^2 / 2 in total, so a residual r costs s^2 r / width a point."""
    width, s, residual = 4.0, 0.3, 0.5
    z = torch.linspace(-width / 2, width / 2, 4001).double()[:, None]
    parts = stochastic_loss(torch.relu, torch.relu(z) - residual, z, torch.full_like(z, s))
    expected = 2 * residual * (s**2 / 2) / width
    assert abs(parts.bias.mean - expected) < 4 * parts.bias.error
    assert parts.bias.error < 0.05 * expected


def test_bernoulli_noise_costs_a_divergence():
    """Against Gauss-Hermite quadrature of KL(p || p') for one logit."""
    logit, slope, s, n = 0.8, 1.5, 0.6, 2000
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    p, moved = 1 / (1 + np.exp(-logit)), 1 / (1 + np.exp(-(logit + slope * s * nodes)))
    divergence = p * np.log(p / moved) + (1 - p) * np.log((1 - p) / (1 - moved))
    expected = float((weights * divergence).sum() / math.sqrt(2 * math.pi))
    parts = stochastic_loss(
        lambda z: logit + slope * z,
        torch.ones(n, 1),
        torch.zeros(n, 1),
        torch.full((n, 1), s),
        likelihood="bernoulli",
    )
    assert abs(parts.stochastic.mean - expected) < 4 * parts.stochastic.error
    assert parts.stochastic.error < 0.01 * expected
    assert parts.deterministic.mean == pytest.approx(-math.log(p), rel=1e-6)
    assert parts.linearised.mean == pytest.approx(0.5 * p * (1 - p) * (slope * s) ** 2, rel=1e-6)


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_little_noise_is_linear(likelihood, generator):
    decode = network(torch.tanh, generator)
    z = torch.randn(200, 3, generator=generator).double()
    x = torch.rand(200, 20, generator=generator).double()

    def nonlinear(size):
        parts = stochastic_loss(
            decode, x, z, torch.full_like(z, size), likelihood=likelihood, samples=400
        )
        return parts.linearity

    assert nonlinear(0.01) == pytest.approx(1, abs=0.02)
    assert nonlinear(1.5) > 1.1  # tanh saturates


def test_the_errors_are_those_of_repeated_draws(generator):
    """One observation 2000 times: each is an estimate of the same, with its own noise."""
    decode = network(torch.tanh, generator)
    z = torch.randn(1, 3, generator=generator).double().expand(2000, 3)
    parts = stochastic_loss(decode, decode(z) + 0.3, z, torch.full_like(z, 0.5), samples=8)
    for part in (parts.total, parts.stochastic, parts.bias):
        repeated = float(part.per_sample.std()) / math.sqrt(2000)
        assert part.error == pytest.approx(repeated, rel=0.1)
    assert parts.deterministic.error == parts.linearised.error == 0


def test_deviations_are_diagonal_factors_and_chunks_do_not_matter(generator):
    decode = network(torch.tanh, generator)
    z, x = torch.randn(10, 3, generator=generator).double(), torch.zeros(10, 20).double()
    deviation = torch.rand(10, 3, generator=generator).double()
    one = stochastic_loss(decode, x, z, deviation)
    same = stochastic_loss(decode, x, z, torch.diag_embed(deviation), chunk=3)
    torch.testing.assert_close(one.total.per_sample, same.total.per_sample)
    torch.testing.assert_close(one.linearised.per_sample, same.linearised.per_sample)
    still = stochastic_loss(decode, x, z, torch.zeros_like(z))
    torch.testing.assert_close(still.total.per_sample, still.deterministic.per_sample)
    assert still.stochastic.mean == 0
    assert math.isnan(still.linearity)


def test_bad_noise_is_refused():
    x, z, one = torch.zeros(3, 2), torch.zeros(3, 2), torch.ones(3, 2)
    with pytest.raises(ValueError, match=r"samples must be an even number of at least 4, got 7"):
        stochastic_loss(lambda z: z, x, z, one, samples=7)
    with pytest.raises(ValueError, match="negative"):
        stochastic_loss(lambda z: z, x, z, -one)
    with pytest.raises(ValueError, match="lower triangular"):
        stochastic_loss(lambda z: z, x, z, torch.ones(3, 2, 2))
    with pytest.raises(ValueError, match="give 2 values for a latent point, as x has, got 4"):
        stochastic_loss(lambda z: torch.cat([z, z], 1), x, z, one)
    with pytest.raises(ValueError, match="finite"):
        stochastic_loss(lambda z: z, x, z, one / 0)
    with pytest.raises(ValueError, match="KL is infinite"):
        deterministic_elbo(lambda z: z, x, z, 0 * one, beta=1.0)
    with pytest.raises(ValueError, match="beta must be positive, got 0"):
        deterministic_elbo(lambda z: z, x, z, one, beta=0.0)


@pytest.mark.parametrize("form", ["exact", "gauss-newton"])
def test_the_elbo_of_a_linear_vae_is_the_likelihood(form):
    """Linear decoder: no gap. At the optimum the posterior is exact, and so is the bound."""
    data = load("linear-gaussian", points=2000)
    x = data.observe(torch.arange(500)).double()
    model = linear_vae(x, 3, noise_variance=0.05)
    beta = 2 * model.noise_variance
    deviation = model.posterior_covariance.diagonal().sqrt().expand(500, 3)
    found = deterministic_elbo(
        model.decode, x, model.encode(x), deviation, beta=beta, form=form, samples=4
    )
    assert found.gap.per_sample.abs().max() < 1e-9
    constant = x.shape[1] / 2 * math.log(math.pi * beta)  # of the normal density
    assert found.elbo.mean / beta - constant == pytest.approx(model.log_likelihood(x), abs=1e-8)
    wider = deterministic_elbo(
        model.decode, x, model.encode(x), 1.1 * deviation, beta=beta, form=form, samples=4
    )
    assert wider.elbo.mean < found.elbo.mean


def test_the_elbo_is_minus_the_loss(generator):
    decode = network(torch.tanh, generator)
    z, factor = torch.randn(50, 3, generator=generator).double(), lower(50, 3, 0.3, generator)
    x = torch.rand(50, 20, generator=generator).double()
    for likelihood in ("gaussian", "bernoulli"):
        loss = stochastic_loss(decode, x, z, factor, likelihood=likelihood, samples=200).total
        normal = torch.distributions.MultivariateNormal(z, scale_tril=factor)
        prior = torch.distributions.MultivariateNormal(
            torch.zeros(3).double(), torch.eye(3).double()
        )
        kl = float(torch.distributions.kl_divergence(normal, prior).mean())
        found = deterministic_elbo(decode, x, z, factor, beta=0.7, likelihood=likelihood)
        error = math.hypot(loss.error, found.elbo.error)
        assert abs(found.elbo.mean + loss.mean + 0.7 * kl) < 4 * error
        assert found.elbo.mean == pytest.approx(found.deterministic.mean + found.gap.mean)


@pytest.mark.parametrize(
    ("activation", "likelihood", "form", "residual", "order"),
    [
        (torch.tanh, "gaussian", "exact", 1.0, 4),
        (torch.tanh, "bernoulli", "exact", None, 4),
        (torch.tanh, "gaussian", "gauss-newton", 0.0, 4),
        (torch.tanh, "gaussian", "gauss-newton", 1.0, 2),
        (torch.relu, "gaussian", "exact", 0.0, 3),  # kinks within reach: one order is lost
    ],
)
def test_how_the_gap_grows_with_the_noise(
    activation, likelihood, form, residual, order, generator
):
    decode = network(activation, generator)
    z = torch.randn(1000, 3, generator=generator).double()
    x = torch.rand(1000, 20, generator=generator).double()
    if residual is not None:
        x = decode(z) + residual * x

    def gap(noise):
        found = deterministic_elbo(
            decode,
            x,
            z,
            torch.full_like(z, noise),
            beta=1.0,
            likelihood=likelihood,
            form=form,
            samples=32,
        )
        return abs(found.gap.mean)

    assert math.log2(gap(0.08) / gap(0.04)) == pytest.approx(order, abs=0.3)
