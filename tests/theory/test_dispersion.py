"""Beta as the variance of the likelihood (Allen 2024, theorem 3): twins train alike, or not."""

from inspect import unwrap

import numpy as np
import pytest
import torch
from scipy.stats import binom
from torch.nn.functional import softplus

from unpick.theory.dispersion import train_bernoulli_twins, train_twins


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


@pytest.mark.parametrize(("optimiser", "rounding"), [("sgd", 1e-12), ("adam", 1e-4)])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_the_mean_of_k_observations_is_a_bernoulli_twin(optimiser, rounding, k):
    """Theorem 3 at beta = 1/k, with the binomial likelihood of scipy for the twin's cost."""
    x = torch.rand(30, 4, generator=torch.Generator().manual_seed(0)).round()
    found = train_bernoulli_twins(x, 1 / k, hidden=5, optimiser=optimiser)
    assert found.difference < rounding
    odds = torch.linspace(-3, 3, 7)
    for white in (0, 1):  # k white observations of k, or none
        cost = k * (softplus(odds) - white * odds)
        said = -binom.logpmf(k * white, k, torch.sigmoid(odds).double())
        assert cost.numpy() == pytest.approx(said, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_a_tempered_bernoulli_vae_is_another(optimiser):
    """Theorem 3: there is no twin unless beta = 1/k."""
    x = torch.rand(30, 4, generator=torch.Generator().manual_seed(0)).round()
    apart = [
        train_bernoulli_twins(x, beta, hidden=5, optimiser=optimiser).difference
        for beta in (1.0, 1.1, 2.0, 0.4)
    ]
    assert apart[0] == 0
    assert 1e-3 < apart[1] < apart[2]
    assert apart[3] > 1e-3


def test_a_bernoulli_decoder_learns_the_log_odds_times_beta():
    """Equal pixels leave latents nothing to tell; three parts of white to one have odds 3."""
    found = train_bernoulli_twins(
        torch.full((8, 1), 0.75), 10.0, optimiser="adam", rate=0.15, steps=200
    )
    bias = [float(weights[-1]) for weights in (found.beta_vae, found.vae)]
    assert bias == pytest.approx([np.log(3), 10 * np.log(3)], rel=0.1)


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beta": 0.0}, "beta must be positive and finite, got 0"),
        ({"variance": float("inf")}, "^variance must be positive and finite, got inf"),
        ({"twin_variance": 0.0}, "twin_variance must be positive and finite, got 0"),
        ({"twin_variance": -1.0}, "twin_variance must be positive and finite, got -1"),
        ({"steps": 0}, "steps must be at least 1, got 0"),
        ({"latents": 0}, "latents must be at least 1, got 0"),
        ({"hidden": -1}, "hidden must be at least 0, got -1"),
        ({"rate": 0.0}, "rate must be positive and finite, got 0"),
        ({"rate": 1e9}, r"rate must let the weights move and stay finite, got 1000000000\.0"),
        ({"x": torch.zeros(3)}, r"x must have shape \(observations, outputs\), .* got \(3,\)"),
        ({"x": torch.zeros(0, 3)}, r"x must have shape .* got \(0, 3\)"),
        ({"x": torch.full((3, 2), torch.nan)}, "x must be finite, got 6 that"),
        ({"optimiser": "rprop"}, "optimiser must be one of"),
    ],
)
def test_bad_twins_are_refused(options, message):
    plain = {"x": torch.ones(4, 2), "beta": 2.0, "variance": 1.0}
    with pytest.raises(ValueError, match=message):
        unwrap(train_twins)(**plain | options)  # users have no types checked


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beta": -1.0}, "beta must be positive and finite, got -1"),
        ({"rate": float("nan")}, "rate must be positive and finite, got nan"),
        ({"x": torch.full((4, 2), 1.5)}, r"x must lie in \[0, 1\], got 1.5 to 1.5"),
        ({"x": torch.full((4, 2), torch.nan)}, r"x must be finite, got 8 that"),
        ({"x": torch.zeros(0, 2)}, r"x must have shape .* got \(0, 2\)"),
        ({"steps": 0}, "steps must be at least 1, got 0"),
    ],
)
def test_bad_bernoulli_twins_are_refused(options, message):
    plain = {"x": torch.ones(4, 2), "beta": 2.0}
    with pytest.raises(ValueError, match=message):
        unwrap(train_bernoulli_twins)(**plain | options)
