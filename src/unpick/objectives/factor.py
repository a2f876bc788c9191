"""FactorVAE: total correlation through a density-ratio critic."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from unpick.models.autoencoder import ModelConfig
from unpick.models.networks import Dense
from unpick.models.posterior import Family
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
    decodes: ClassVar[bool] = True
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
        assert p.critic is not None
        return {
            "distortion": Term(p.distortion()),
            "kl": Term(p.q.kl()),
            "total_correlation": Term(p.critic(p.z)[..., 0], self.gamma),
        }

    def make_critic(
        self,
        model: ModelConfig,
        shape: tuple[int, ...],
        factors: int,
        generators: Sequence[torch.Generator],
    ) -> nn.Module:
        """Six hidden layers of a thousand, leaky ReLU with slope 0.2 (appendix A)."""
        widths = (model.latents, *[self.critic_width] * self.critic_layers, 1)
        return Dense(widths, "leaky_relu", generators)

    def critic_optimiser(self) -> tuple[float, float, float]:
        """Adam's learning rate, beta1 and beta2 for the critic (appendix A)."""
        return self.critic_learning_rate, 0.5, 0.9

    def critic_loss(
        self, critic: nn.Module, first: Pass, other: Pass, keys: Float[Tensor, "s b d"]
    ) -> Float[Tensor, "s b"]:
        """Cross-entropy of telling samples from those with each latent shuffled on its own."""
        with torch.no_grad():
            shuffled = other.z.gather(1, keys.argsort(1))
        real, torn = critic(first.z.detach()), critic(shuffled)
        return 0.5 * (softplus(-real) + softplus(torn))[..., 0]
