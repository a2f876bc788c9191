"""Beta as the variance of the likelihood: train a beta-VAE and its twin without beta."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import inf, isclose
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from unpick.arrays import Array, to_tensor

Optimiser = Literal["sgd", "adam"]
Cost = Callable[[Tensor, Tensor], Tensor]  # of outputs and observations, a value an observation


@dataclass(frozen=True, eq=False)
class LikelihoodTwins:
    """A beta-VAE and a VAE without beta, trained from the same weights on the same noise.

    Attributes:
        difference: Distance between their final weights, as a share of how far the beta-VAE's
            weights moved.
        beta_vae: Final weights of the beta-VAE.
        vae: Final weights of the other.
    """

    difference: float
    beta_vae: Float[Tensor, "k"]
    vae: Float[Tensor, "k"]


def train_twins(
    x: Array,
    beta: float,
    variance: float,
    *,
    twin_variance: float | None = None,
    latents: int = 2,
    hidden: int = 0,
    optimiser: Optimiser = "sgd",
    rate: float = 1e-3,
    steps: int = 100,
    seed: int = 0,
) -> LikelihoodTwins:
    r"""Train a beta-VAE and its twin without beta (Allen 2024, theorem 3, Gaussian case).

    .. math:: \frac{\|x - \hat x\|^2}{2\sigma^2} + \beta\, KL
              = \beta \left( \frac{\|x - \hat x\|^2}{2 \beta\sigma^2} + KL \right)

    SGD follows the same path if the twin's learning rate is beta times as large. Adam needs no
    scaling: the factor cancels but for its epsilon. The variance must be fixed. A learned one
    adds p/2 log variance to the loss, which does not scale.

    Args:
        x: Observations; every step takes all of them.
        beta: Weight of the KL in the beta-VAE.
        variance: sigma^2 of the beta-VAE.
        twin_variance: Variance of the twin; None takes beta sigma^2.
        latents: Number of latents of both.
        hidden: Width of a tanh layer in encoder and decoder; 0 for linear ones.
        optimiser: Plain SGD, or Adam with its usual constants.
        rate: Learning rate of the beta-VAE.
        steps: Number of training steps.
        seed: Seed of the weights and of the noise.

    Example:
        >>> x = torch.randn(20, 3, generator=torch.Generator().manual_seed(0))
        >>> train_twins(x, beta=4.0, variance=0.5).difference < 1e-12
        True
    """
    other = beta * variance if twin_variance is None else twin_variance
    _check_positive(beta=beta, variance=variance, twin_variance=other, rate=rate)
    x = to_tensor("x", x, "observations, outputs").cpu()
    training = _Training(x, latents, hidden, optimiser, steps, seed)

    def error(variance: float) -> Cost:
        return lambda output, x: (output - x).square().sum(1) / (2 * variance)

    return training.twins(error(variance), error(other), beta, rate)


def train_bernoulli_twins(
    x: Array,
    beta: float,
    *,
    latents: int = 2,
    hidden: int = 0,
    optimiser: Optimiser = "sgd",
    rate: float = 1e-3,
    steps: int = 100,
    seed: int = 0,
) -> LikelihoodTwins:
    r"""Train a beta-VAE with Bernoulli likelihood and its twin, or the VAE nearest to one.

    For beta = 1/k the twin takes an observation for the mean of k, whose log-likelihood is

    .. math:: k\, (x\, o - \log(1 + e^o)) + const

    with log-odds o: both models train alike (Allen 2024, theorem 3, Bernoulli case). For other
    betas p(x|z)^{1/beta} belongs to no distribution, and we compare with the nearest one that is
    Bernoulli again: renormalised over black and white, with log-odds divided by beta. Arguments
    are those of `train_twins`; observations lie in [0, 1].

    Example:
        >>> [train_bernoulli_twins(torch.eye(4), b).difference > 1e-12 for b in (0.2, 1.0, 4.0)]
        [False, False, True]
    """
    _check_positive(beta=beta, rate=rate)
    x = to_tensor("x", x, "observations, outputs").cpu()
    if not 0 <= x.min() <= x.max() <= 1:
        raise ValueError(f"x must lie in [0, 1], got {x.min():g} to {x.max():g}")
    training = _Training(x, latents, hidden, optimiser, steps, seed)

    def entropy(observations: float, scale: float) -> Cost:
        return lambda o, x: observations * (softplus(o / scale) - x * o / scale).sum(1)

    twin = entropy(1 / beta, 1.0) if is_mean_of_observations(beta) else entropy(1.0, beta)
    return training.twins(entropy(1.0, 1.0), twin, beta, rate)


def is_mean_of_observations(beta: float) -> bool:
    """Whether beta is 1/k for a whole k, to rounding; Bernoulli VAEs have a twin only then."""
    return beta < 2 and isclose(1 / beta, round(1 / beta), rel_tol=1e-12)


def _check_positive(**sizes: float) -> None:
    for name, size in sizes.items():
        if not 0 < size < inf:
            raise ValueError(f"{name} must be positive and finite, got {size}")


@dataclass(frozen=True, eq=False)
class _Training:
    """Data, networks and optimiser, which twins share."""

    x: Float[Tensor, "..."]
    latents: int
    hidden: int
    optimiser: str
    steps: int
    seed: int

    def __post_init__(self) -> None:
        x = self.x
        if self.optimiser not in get_args(Optimiser):
            raise ValueError(
                f"optimiser must be one of {get_args(Optimiser)}, got {self.optimiser!r}"
            )
        if x.ndim != 2 or x.numel() == 0:
            raise ValueError(
                f"x must have shape (observations, outputs), neither of them 0, "
                f"got {tuple(x.shape)}"
            )
        if not x.isfinite().all():
            raise ValueError(f"x must be finite, got {x[~x.isfinite()][0].item()}")
        for name, least in {"latents": 1, "hidden": 0, "steps": 1}.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")

    def twins(self, cost: Cost, other: Cost, beta: float, rate: float) -> LikelihoodTwins:
        """Train a beta-VAE with the first cost and a VAE with the other; SGD's rate is scaled."""
        start, first = self.train(cost, beta, rate)
        _, second = self.train(other, 1.0, rate * beta if self.optimiser == "sgd" else rate)
        difference = float((first - second).norm() / (first - start).norm())
        if not difference < inf:
            raise ValueError(f"rate must let the weights move and stay finite, got {rate}")
        return LikelihoodTwins(difference, first, second)

    def train(
        self, cost: Cost, beta: float, rate: float
    ) -> tuple[Float[Tensor, "k"], Float[Tensor, "k"]]:
        """Train one model; its weights before and after."""
        generator = torch.Generator().manual_seed(self.seed)
        n, p = self.x.shape
        encoder = _network(p, self.hidden, 2 * self.latents, generator)
        decoder = _network(self.latents, self.hidden, p, generator)
        weights = [*encoder.parameters(), *decoder.parameters()]
        start = nn.utils.parameters_to_vector(weights).detach().clone()
        data, moments = self.x.double(), (torch.zeros_like(start), torch.zeros_like(start))
        for step in range(1, self.steps + 1):
            mean, log_variance = encoder(data).chunk(2, 1)
            noise = torch.randn(n, self.latents, generator=generator, dtype=torch.float64)
            output = decoder(mean + (log_variance / 2).exp() * noise)
            kl = 0.5 * (mean.square() + log_variance.exp() - log_variance - 1).sum(1)
            loss = (cost(output, data) + beta * kl).mean()
            gradient = torch.cat([g.flatten() for g in torch.autograd.grad(loss, weights)])
            move = gradient if self.optimiser == "sgd" else _adam(gradient, moments, step)
            moved = nn.utils.parameters_to_vector(weights).detach() - rate * move
            nn.utils.vector_to_parameters(moved, weights)
        return start, nn.utils.parameters_to_vector(weights).detach()


def _network(inputs: int, hidden: int, outputs: int, generator: torch.Generator) -> nn.Sequential:
    sizes = [inputs, hidden, outputs] if hidden else [inputs, outputs]
    layers: list[nn.Module] = []
    for a, b in pairwise(sizes):
        layer = nn.Linear(a, b, dtype=torch.float64)
        with torch.no_grad():
            for each in layer.parameters():  # drawn from this generator only
                each.copy_(torch.randn(each.shape, generator=generator) / a**0.5)
        layers += [layer, nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def _adam(
    gradient: Float[Tensor, "k"], moments: tuple[Float[Tensor, "k"], Float[Tensor, "k"]], step: int
) -> Float[Tensor, "k"]:
    """The step of Kingma & Ba (2015), since `torch.optim` takes two seconds to import."""
    first, second = moments
    first.mul_(0.9).add_(gradient, alpha=0.1)
    second.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
    return first / (1 - 0.9**step) / ((second / (1 - 0.999**step)).sqrt() + 1e-8)
