"""FactorVAE: total correlation through a density-ratio critic."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from unpick.models.networks import Dense
from unpick.models.posterior import Diagonal, Family
from unpick.objectives.terms import Pass, Term, Terms


@dataclass(frozen=True)
class FactorVAE:
    r"""Kim & Mnih (2018), eq. 2 and 3 and algorithm 2.

    .. math:: -\log p(x|z) + KL + \gamma\, E_q\!\left[\log \frac{D(z)}{1 - D(z)}\right]

    The critic tells samples of q(z) from samples whose latents were shuffled over a second,
    independent batch. Its two logits differ by log D / (1 - D), so one logit serves.
    """

    name: ClassVar[str] = "factor-vae"
    posteriors: ClassVar[tuple[Family, ...]] = ("diagonal",)
    gamma: float = 35.0  # weight of the total correlation
    critic_layers: int = 6  # hidden
    critic_width: int = 1000
    critic_learning_rate: float = 1e-4  # of its Adam

    def __post_init__(self) -> None:
        if min(self.critic_layers, self.critic_width) < 1:
            got = f"{self.critic_layers} and {self.critic_width}"
            raise ValueError(f"critic_layers and critic_width must be at least 1, got {got}")

    def __call__(self, p: Pass) -> Terms:
        """Distortion, KL and the critic's estimate of the total correlation."""
        assert isinstance(p.q, Diagonal)
        assert p.critic is not None
        return {
            "distortion": Term(p.distortion()),
            "kl": Term(p.q.kl()),
            "total_correlation": Term(p.critic(p.z)[..., 0], self.gamma),
        }

    def make_critic(self, latents: int, generators: Sequence[torch.Generator]) -> nn.Module:
        """Six hidden layers of a thousand, leaky ReLU with slope 0.2 (appendix A)."""
        widths = (latents, *[self.critic_width] * self.critic_layers, 1)
        return Dense(widths, "leaky_relu", generators)

    def critic_optimiser(self) -> tuple[float, float, float]:
        """Adam's learning rate, beta1 and beta2 for the critic (appendix A)."""
        return self.critic_learning_rate, 0.5, 0.9

    def critic_loss(
        self,
        critic: nn.Module,
        z: Float[Tensor, "s b d"],
        other: Float[Tensor, "s b d"],
        shuffle: Float[Tensor, "s b d"],
    ) -> Float[Tensor, "s b"]:
        """Cross-entropy of telling z from `other` with each latent shuffled over the batch."""
        shuffled = other.gather(1, shuffle.argsort(1))
        return 0.5 * (softplus(-critic(z)) + softplus(critic(shuffled)))[..., 0]
