import math

import pytest
import torch

from unpick.data import load
from unpick.geometry.curvature import likelihood_hessian, observations
from unpick.geometry.optimal_posterior import (
    implied_beta,
    optimal_covariance,
    optimal_variance,
    posterior_agreement,
)
from unpick.geometry.stochastic import stochastic_loss
from unpick.models import MLP, Autoencoder, Conv, ModelConfig, linear_vae
from unpick.models.likelihood import distortion


def member(network, likelihood):
    model = Autoencoder(ModelConfig(3, likelihood=likelihood, network=network), (1, 8, 8), [0])
    model = model.double().eval()
    return lambda z: model.decode(z[None])[0]


@pytest.mark.parametrize(
    "network",
    [
        MLP((8,), "relu", (8, 8), "tanh"),
        Conv(encoder=((4, 4, 2, 1),), encoder_dense=(), decoder_dense=(8,), decoder=()),
    ],
)
@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_the_exact_hessian_is_autograds_one_sample_at_a_time(network, likelihood, generator):
    decode = member(network, likelihood)
    z = torch.randn(5, 3, generator=generator).double()
    x = torch.rand(5, 1, 8, 8, generator=generator)
    found = likelihood_hessian(decode, x, z, likelihood=likelihood, chunk=2)
    for i in range(5):
        reference = torch.autograd.functional.hessian(
            lambda z, i=i: -distortion(likelihood, x[i : i + 1].double(), decode(z[None])).sum(),
            z[i],
        )
        torch.testing.assert_close(found[i], reference, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_the_exact_hessian_is_a_second_difference(likelihood, generator):
    decode = member(MLP((8,), "relu", (8, 8), "tanh"), likelihood)
    z = torch.randn(4, 3, generator=generator).double()
    x = torch.rand(4, 1, 8, 8, generator=generator).double()
    found = likelihood_hessian(decode, x, z, likelihood=likelihood)

    def value(z):
        return -distortion(likelihood, x, decode(z)).flatten(1).sum(1).detach()

    a, b = 1e-4 * torch.eye(3).double()[:2]
    for i, j, u, v in ((0, 0, a, a), (0, 1, a, b)):
        corners = value(z + u + v) - value(z + u - v) - value(z - u + v) + value(z - u - v)
        torch.testing.assert_close(found[:, i, j], corners / 4e-8, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_the_forms_agree_at_a_perfect_reconstruction_only(likelihood, generator):
    decode = member(MLP((8,), "relu", (8, 8), "tanh"), likelihood)
    z = torch.randn(5, 3, generator=generator).double()
    perfect = decode(z).detach()
    if likelihood == "bernoulli":
        perfect = perfect.sigmoid()

    def both(x):
        return [
            likelihood_hessian(decode, x, z, likelihood=likelihood, form=form)
            for form in ("exact", "gauss-newton")
        ]

    torch.testing.assert_close(*both(perfect), rtol=1e-9, atol=1e-12)
    exact, approximate = both(1 - perfect)
    assert (exact - approximate).abs().max() > 1e-4
    assert torch.linalg.eigvalsh(approximate).max() < 1e-12  # never bends upwards


def test_logits_that_are_linear_need_no_second_term(generator):
    mixing = torch.randn(20, 3, generator=generator).double()
    z, x = torch.randn(5, 3, generator=generator).double(), torch.rand(5, 20, generator=generator)

    def decode(z):
        return z @ mixing.T

    p = decode(z).sigmoid()
    closed = -torch.einsum("pi,np,pj->nij", mixing, p * (1 - p), mixing)
    for form in ("exact", "gauss-newton"):
        found = likelihood_hessian(decode, x, z, likelihood="bernoulli", form=form)
        torch.testing.assert_close(found, closed, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_the_forms_agree_between_the_kinks_of_a_relu(likelihood, generator):
    decode = member(MLP((8,), "relu", (8, 8), "relu"), likelihood)
    z = torch.randn(5, 3, generator=generator).double()
    x = torch.rand(5, 1, 8, 8, generator=generator)
    forms = [
        likelihood_hessian(decode, x, z, likelihood=likelihood, form=form)
        for form in ("exact", "gauss-newton")
    ]
    torch.testing.assert_close(*forms, rtol=1e-9, atol=1e-12)


def test_a_latent_the_decoder_ignores_has_no_curvature():
    z, x = torch.ones(2, 2), torch.zeros(2, 1)
    found = likelihood_hessian(lambda z: z[:, :1] ** 2, x, z)
    torch.testing.assert_close(found[0], torch.tensor([[-12.0, 0], [0, 0]]).double())
    assert optimal_variance(found, 1.0)[0, 1] == 1


def test_bad_arguments_are_refused():
    x, z = torch.zeros(2, 2), torch.zeros(2, 2)
    with pytest.raises((ValueError, TypeError), match="poisson"):  # TypeError under pytest
        likelihood_hessian(lambda z: z, x, z, likelihood="poisson")
    with pytest.raises((ValueError, TypeError), match="diagonal"):
        likelihood_hessian(lambda z: z, x, z, form="diagonal")
    with pytest.raises(ValueError, match="each of the 2 latent points, got 3"):
        observations(torch.zeros(3, 2), z, "gaussian")
    with pytest.raises(ValueError, match=r"\[0, 1\] for bernoulli, got -1 to 0"):
        likelihood_hessian(lambda z: z, torch.tensor([[-1.0, 0]] * 2), z, likelihood="bernoulli")
    with pytest.raises(ValueError, match="without a gradient"):
        likelihood_hessian(lambda z: z.detach(), x, z)
    with pytest.raises(ValueError, match="beta must be positive, got -1"):
        optimal_covariance(torch.zeros(1, 2, 2), -1.0)
    with pytest.raises(ValueError, match="variance must be positive and finite, got 0"):
        implied_beta(torch.zeros(1, 2), torch.ones(1, 2))


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_the_best_posterior_is_where_the_loss_is_flat(likelihood, generator):
    """1/2 tr(-H S) + beta KL has no slope there; for a linear Gaussian model it is the loss."""
    decode = member(MLP((8,), "relu", (8, 8), "tanh"), likelihood)
    z = torch.randn(5, 3, generator=generator).double()
    x = torch.rand(5, 1, 8, 8, generator=generator)
    hessian = 20 * likelihood_hessian(decode, x, z, likelihood=likelihood, form="gauss-newton")
    beta = 0.3

    def loss(covariance):
        kl = covariance.diagonal(dim1=1, dim2=2).sum(1) - torch.logdet(covariance)
        return (beta * kl / 2 - torch.einsum("nij,nji->n", hessian, covariance) / 2).sum()

    full = optimal_covariance(hessian, beta).requires_grad_()
    (slope,) = torch.autograd.grad(loss(full), full)
    assert slope.abs().max() < 1e-10
    diagonal = optimal_variance(hessian, beta).requires_grad_()
    (slope,) = torch.autograd.grad(loss(torch.diag_embed(diagonal)), diagonal)
    assert slope.abs().max() < 1e-10
    assert loss(full) < loss(torch.diag_embed(diagonal)) < loss(torch.diag_embed(1.1 * diagonal))
    assert (full.diagonal(dim1=1, dim2=2) >= diagonal).all()


def test_squared_error_and_beta_give_the_constant_two(generator):
    """Minimise E|x - W (m + s e)|^2 + beta KL over s by hand, then compare."""
    mixing, beta = torch.randn(6, 2, generator=generator).double(), 0.4
    log_variance = torch.zeros(2).double().requires_grad_()
    optimiser = torch.optim.LBFGS(
        [log_variance], max_iter=100, tolerance_grad=1e-12, tolerance_change=0.0
    )

    def closure():
        optimiser.zero_grad()
        variance = log_variance.exp()
        noise = (mixing.square().sum(0) * variance).sum()  # E|W s e|^2
        loss = noise + beta * 0.5 * (variance - log_variance - 1).sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    z = torch.zeros(1, 2).double()
    hessian = likelihood_hessian(lambda z: z @ mixing.T, torch.zeros(1, 6), z)
    best = optimal_variance(hessian, beta)[0]
    torch.testing.assert_close(best, log_variance.detach().exp(), rtol=1e-6, atol=0)
    torch.testing.assert_close(best, 1 / (1 + 2 * mixing.square().sum(0) / beta))


def test_the_linear_vae_has_its_best_posterior():
    data = load("linear-gaussian", points=2000)
    x = data.observe(torch.arange(2000)).double()
    model = linear_vae(x, 3, noise_variance=2.0)  # one of three latents is passive
    beta = 2 * model.noise_variance
    hessian = likelihood_hessian(model.decode, x[:10], model.encode(x[:10]))
    covariance = model.posterior_covariance.expand(10, 3, 3)
    torch.testing.assert_close(optimal_covariance(hessian, beta), covariance, atol=1e-10, rtol=0)
    variance = covariance.diagonal(dim1=1, dim2=2)
    torch.testing.assert_close(optimal_variance(hessian, beta), variance, atol=1e-10, rtol=0)
    implied = implied_beta(variance, -hessian.diagonal(dim1=1, dim2=2))
    assert implied.beta == pytest.approx(beta)
    noise = stochastic_loss(model.decode, x[:10], model.encode(x[:10]), variance.sqrt())
    price = beta / 2 * (1 - variance).sum(1)  # what the noise costs at the optimum, any decoder
    torch.testing.assert_close(noise.linearised.per_sample, price)
    assert implied.per_latent.isnan().tolist() == [False, False, True]


def test_a_likelihood_that_bends_upwards_has_no_best_posterior():
    hessian = torch.diag_embed(torch.tensor([[-1.0, 0.5], [-1.0, 2.0]])).double()
    covariance, variance = optimal_covariance(hessian, 1.0), optimal_variance(hessian, 1.0)
    torch.testing.assert_close(covariance[0], torch.diag(torch.tensor([0.5, 2.0])).double())
    assert covariance[1].isnan().all()
    assert variance.isnan().tolist() == [[False, False], [False, True]]
    agreement = posterior_agreement(torch.tensor([[0.5, 2.0], [0.5, 2.0]]), hessian, 1.0)
    assert agreement.undefined == 0.25
    assert agreement.ratio == pytest.approx(1)


def test_agreement_of_planted_variances(generator):
    jacobians = torch.randn(300, 20, 3, generator=generator).double()
    hessian = -2 * jacobians.mT @ jacobians
    best = optimal_variance(hessian, 0.1)
    same = posterior_agreement(best, hessian, 0.1)
    assert (same.ratio, same.correlation) == pytest.approx((1, 1))
    assert same.scatter == pytest.approx(0, abs=1e-12)
    double = posterior_agreement(best * torch.tensor([1.0, 2.0, 4.0]), hessian, 0.1)
    torch.testing.assert_close(double.ratio_per_latent, torch.tensor([1.0, 2, 4]).double())
    torch.testing.assert_close(double.correlation_per_latent, torch.ones(3).double())
    assert double.ratio == pytest.approx(2)
    assert double.scatter == pytest.approx(math.log(2) * math.sqrt(5 / 3))
    constant = posterior_agreement(torch.full_like(best, 0.01), hessian, 0.1)
    assert constant.correlation_per_latent.isnan().all()


def test_beta_is_read_from_variances_through_noise_and_passive_latents(generator):
    curvature = torch.rand(2000, 4, generator=generator).double() * torch.tensor([5.0, 3, 2, 0])
    variance = 1 / (1 + curvature / 0.05)
    noisy = variance * torch.exp(0.2 * torch.randn(2000, 4, generator=generator))
    found = implied_beta(noisy, curvature)
    assert found.beta == pytest.approx(0.05, rel=0.02)
    assert found.low < 0.05 < found.high
    assert found.per_latent.isnan().tolist() == [False] * 3 + [True]
    assert math.isnan(implied_beta(torch.ones(5, 2), torch.zeros(5, 2)).beta)
