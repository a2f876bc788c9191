"""The weakly supervised GAN: it learns factors from pairs that are known to share one."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import leaky_relu, softplus
from torch.nn.utils import parametrize

from unpick.data.transitions import SharePairs
from unpick.models.autoencoder import ModelConfig
from unpick.models.networks import MLP, ConvEncoder, Dense, Generators, fitting_network
from unpick.models.own import OwnNetwork
from unpick.models.posterior import Family
from unpick.models.spectral import spectrally_normalised
from unpick.objectives.terms import Pass, Term, Terms

FEATURES = 128  # of an image and of a pair, before they are widened


@dataclass(frozen=True)
class WeakGAN:
    r"""Shu et al. (2020), full share pairing; critic and training of the authors' code.

    .. math:: \log(1 + e^{-D(g(z), g(z'), k)}) - \log q(z | g(z)), \qquad z_k = z'_k

    The decoder g makes a pair of images from normal latents that share the k-th. The critic D
    compares it with true pairs that share the k-th factor; to deceive it, the k-th latent must be
    that factor. The encoder q never sees a true image in training: it learns to recover the
    latents of generated ones. Latents beyond the number of factors are never shared.

    A batch holds pairs: the even observations are the first of each, the odd ones the second.
    """

    name: ClassVar[str] = "weak-gan"
    posteriors: ClassVar[tuple[Family, ...]] = ("diagonal",)
    decodes: ClassVar[bool] = True
    critic_width: int = 2  # times the encoder's
    critic_learning_rate: float = 1e-3  # of its Adam
    pairs: SharePairs = field(default_factory=SharePairs)

    def __post_init__(self) -> None:
        if self.critic_width < 1:
            raise ValueError(f"critic_width must be at least 1, got {self.critic_width}")
        if not isinstance(self.pairs, SharePairs):
            raise ValueError(f"pairs must be share for {self.name}, got {self.pairs.name}")

    def __call__(self, p: Pass) -> Terms:
        """The generator's loss against the critic, and the encoder's log-likelihood."""
        assert p.critic is not None
        assert p.shared is not None
        z = share_latents(p.noise, p.shared)
        images = p.model.decode_mean(z)
        q = p.model.encode(images.detach())
        return {
            "generator": Term(softplus(-p.critic(images, p.shared))),
            "encoder": Term(-q.log_prob(z)),
        }

    def make_critic(
        self,
        model: ModelConfig,
        shape: tuple[int, ...],
        factors: int,
        generators: Sequence[torch.Generator],
    ) -> nn.Module:
        """Of pairs of images, spectrally normalised."""
        if model.latents < factors:
            raise ValueError(
                f"latents must be at least the {factors} factors that pairs may share, "
                f"got {model.latents}"
            )
        return spectrally_normalised(
            PairCritic(model, shape, factors, self.critic_width, generators), generators
        )

    def critic_optimiser(self) -> tuple[float, float, float]:
        """Adam's learning rate, beta1 and beta2 for the critic."""
        return self.critic_learning_rate, 0.5, 0.999

    def critic_loss(
        self, critic: nn.Module, first: Pass, other: Pass, keys: Float[Tensor, "s b d"]
    ) -> Float[Tensor, "s p"]:
        """Cross-entropy of telling true pairs from generated ones that share the same factors."""
        assert other.shared is not None
        with torch.no_grad():
            generated = other.model.decode_mean(share_latents(other.noise, other.shared))
        images, shared = torch.cat([other.x, generated], 1), other.shared.repeat(1, 2)
        true, false = critic(images, shared).chunk(2, 1)
        return softplus(-true) + softplus(false)


class PairCritic(nn.Module):
    """High for two true images that share the k-th factor.

    Each image goes through the hidden layers of the encoder, widened; two more dense layers see
    both. The output is u h + v_k h (projection, Miyato & Koyama 2018), here as one layer of 1 + K
    numbers of which two are added.
    """

    def __init__(
        self,
        model: ModelConfig,
        shape: tuple[int, ...],
        factors: int,
        width: int,
        generators: Generators,
    ) -> None:
        super().__init__()
        net, features = model.network, FEATURES * width
        if isinstance(net, OwnNetwork):  # beside it, a network of ours that fits the images
            net = fitting_network(shape)
        self.flat = isinstance(net, MLP)
        if isinstance(net, MLP):
            hidden = [width * each for each in net.encoder]
            widths = (torch.Size(shape).numel(), *hidden, features)
            self.body: nn.Module = Dense(widths, "leaky_relu", generators)
        else:
            layers = tuple(
                (width * c, kernel, stride, pad) for c, kernel, stride, pad in net.encoder
            )
            wide = replace(
                net, encoder=layers, encoder_dense=(), encoder_norm=0, activation="leaky_relu"
            )
            self.body = ConvEncoder(wide, (shape[0], shape[1], shape[2]), features, generators)
        widths = (2 * features, features, features, 1 + factors)
        self.head = Dense(widths, "leaky_relu", generators)

    def forward(
        self, images: Float[Tensor, "s b ..."], shared: Int[Tensor, "s p"]
    ) -> Float[Tensor, "s p"]:
        """High for true pairs."""
        with parametrize.cached():  # one power iteration, however often a weight is asked for
            features = self.body(images.flatten(2) if self.flat else images)
            both = leaky_relu(features, 0.2).unflatten(1, (-1, 2)).flatten(2)
            scores = self.head(both)
        return scores[..., 0] + scores[..., 1:].gather(2, shared[..., None])[..., 0]


def share_latents(
    noise: Float[Tensor, "s b d"], shared: Int[Tensor, "s p"]
) -> Float[Tensor, "s b d"]:
    """Copy the shared latent of the first of each pair to the second."""
    first, second = noise.unflatten(1, (-1, 2)).unbind(2)
    same = shared[..., None] == torch.arange(noise.shape[2], device=noise.device)
    return torch.stack([first, torch.where(same, first, second)], 2).flatten(1, 2)
