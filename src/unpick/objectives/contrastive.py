"""PCL: an encoder that tells true pairs from pairs put together by chance."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from unpick.data.transitions import LaplacePairs, PairConfig
from unpick.models.autoencoder import ModelConfig
from unpick.models.posterior import Family
from unpick.objectives.terms import Pass, Term, Terms


@dataclass(frozen=True)
class PCL:
    r"""Permutation-contrastive learning, Hyvarinen & Morioka (2017).

    .. math:: \tfrac12 \log(1 + e^{-r(x_t, x_{t-1})}) + \tfrac12 \log(1 + e^{r(x_t, x^*)})

    The score r (`PairScore`) is high for true pairs and low for x_t with the x_{t-1} of another
    pair. At the optimum it is log p(x_t | x_{t-1}) - log p(x_t). If the sources change
    independently, each depends on its past everywhere and none is quasi-Gaussian (as Gaussian ones
    are), then r is a sum over latents only if these are the sources (theorem 1). There is no
    decoder and no noise. Latents are known up to shift and scale, so they are standardised over
    the batch first.

    A batch holds pairs: the even observations are x_{t-1}, the odd ones x_t.
    """

    name: ClassVar[str] = "pcl"
    posteriors: ClassVar[tuple[Family, ...]] = ("delta",)
    decodes: ClassVar[bool] = False
    critic_learning_rate: float = 1e-2  # of the score's Adam
    pairs: PairConfig = field(default_factory=LaplacePairs)

    def __call__(self, p: Pass) -> Terms:
        """The logistic loss, log 2 for a score that knows nothing."""
        assert p.critic is not None
        h = standardise(p.q.mean)
        old, new = h[:, 0::2], h[:, 1::2]
        true, chance = p.critic(new, old), p.critic(new, old.roll(1, 1))
        return {"contrast": Term(0.5 * (softplus(-true) + softplus(chance)))}

    def make_critic(
        self,
        model: ModelConfig,
        shape: tuple[int, ...],
        factors: int,
        generators: Sequence[torch.Generator],
    ) -> nn.Module:
        """The score, which descends the same loss as the encoder."""
        return PairScore(len(generators), model.latents)

    def critic_optimiser(self) -> tuple[float, float, float]:
        """Adam's learning rate, beta1 and beta2 for the score."""
        return self.critic_learning_rate, 0.9, 0.999


class PairScore(nn.Module):
    r"""The log-ratio of first-order autoregressive sources with Laplacian steps.

    .. math:: r = m - \sum_i |u_i h_i(x_t) + v_i h_i(x_{t-1}) + b_i| + \sum_i |a_i| h_i(x_t)^2

    The first sum is log p(x_t | x_{t-1}); the second is -log p(x_t) as for a normal density, near
    enough for such sources, and it vanishes for uniform ones. The absolute value keeps a from
    turning negative, as no density would have it.
    """

    def __init__(self, members: int, latents: int) -> None:
        super().__init__()
        ones = torch.ones(members, 1, latents)
        self.new, self.old = nn.Parameter(ones), nn.Parameter(-ones)
        self.shift, self.curve = nn.Parameter(0 * ones), nn.Parameter(ones.clone())
        self.level = nn.Parameter(torch.zeros(members, 1))

    def forward(
        self, new: Float[Tensor, "s p d"], old: Float[Tensor, "s p d"]
    ) -> Float[Tensor, "s p"]:
        """High for pairs that belong together."""
        step = (self.new * new + self.old * old + self.shift).abs()
        return self.level + (self.curve.abs() * new.square() - step).sum(2)


def standardise(h: Float[Tensor, "s b d"]) -> Float[Tensor, "s b d"]:
    """Mean 0 and variance 1 over the batch, latent by latent."""
    centred = h - h.mean(1, keepdim=True)
    return centred * (centred.square().mean(1, keepdim=True) + 1e-8).rsqrt()
