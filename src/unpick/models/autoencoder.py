"""An ensemble of autoencoders: networks, a posterior family and a likelihood; `build` makes it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unpick.models import likelihood as likelihoods
from unpick.models.likelihood import Likelihood
from unpick.models.model import Model
from unpick.models.networks import MLP, Conv, ConvDecoder, ConvEncoder, Dense
from unpick.models.own import LiftedAutoencoder, NetworkFactory, OwnNetwork
from unpick.models.posterior import Family, Posterior, family_of
from unpick.names import check_choices


@dataclass(frozen=True)
class ModelConfig:
    """What is trained, but not what is minimised."""

    latents: int = 10  # dimensions of the latent space
    posterior: Family = "diagonal"  # a point, a diagonal or a full-covariance Gaussian
    likelihood: Likelihood = "gaussian"  # squared error, or cross-entropy of pixels
    network: MLP | Conv | OwnNetwork = field(default_factory=MLP)

    def __post_init__(self) -> None:
        check_choices(self)
        if self.latents < 1:
            raise ValueError(f"latents must be at least 1, got {self.latents}")


def build(
    config: ModelConfig,
    shape: tuple[int, ...],
    seeds: Sequence[int],
    decodes: bool = True,
    network: NetworkFactory | None = None,
) -> Model:
    """S untrained models of one configuration, one for each seed.

    Everybody who needs a model asks here, so that another kind of model has one place to enter.

    Args:
        config: Latents, posterior, likelihood and networks.
        shape: Of one observation.
        seeds: One a member; a member's first weights depend on its own seed only.
        decodes: Whether there is a decoder; some objectives train an encoder alone.
        network: Makes the networks if `config.network` is an `OwnNetwork`; it must be the one
            that is named there.

    Example:
        >>> model = build(ModelConfig(3), (1, 8, 8), seeds=[0, 1])
        >>> model.decode(torch.zeros(2, 5, 3)).shape  # members, batch, one observation
        torch.Size([2, 5, 1, 8, 8])
    """
    if isinstance(config.network, OwnNetwork):
        factory = config.network.check(network)
        return LiftedAutoencoder(config, shape, seeds, decodes, factory)
    return Autoencoder(config, shape, seeds, decodes)


class Autoencoder(nn.Module):
    """S autoencoders side by side, one for each seed; one model is an ensemble of one.

    A `Model`; for the arguments see `build`.
    """

    def __init__(
        self,
        config: ModelConfig,
        shape: tuple[int, ...],
        seeds: Sequence[int],
        decodes: bool = True,
    ) -> None:
        super().__init__()
        self.config, self.shape, self.decodes = config, tuple(shape), decodes
        # Apart from the small seeds that data sets are drawn with.
        generators = [torch.Generator().manual_seed(10**6 + seed) for seed in seeds]
        outputs = family_of(config.posterior).n_parameters(config.latents)
        match config.network:
            case MLP() as net:
                size = torch.Size(shape).numel()
                into, out_of = (size, *net.encoder, outputs), (config.latents, *net.decoder, size)
                drawn = generators, net.weights
                self.encoder: nn.Module = Dense(into, net.encoder_activation, *drawn)
                if decodes:
                    self.decoder: nn.Module = Dense(out_of, net.decoder_activation, *drawn)
            case Conv() as net:
                if len(shape) != 3 or shape[1] != shape[2]:
                    raise ValueError(f"network: Conv needs square images, got shape {shape}")
                image = (shape[0], shape[1], shape[2])
                self.encoder = ConvEncoder(net, image, outputs, generators)
                if decodes:
                    self.decoder = ConvDecoder(net, image, config.latents, generators)
            case other:
                raise ValueError(f"network must be an MLP or a Conv, got {other}")

    @property
    def members(self) -> int:
        """S, the number of models."""
        return next(self.parameters()).shape[0]

    def member(self, s: int) -> Model:
        """One of them, as an ensemble of one that shares its weights."""
        if not 0 <= s < self.members:
            raise IndexError(f"member must lie in 0..{self.members - 1}, got {s}")
        alone = build(self.config, self.shape, [0], self.decodes)
        assert isinstance(alone, Autoencoder)
        weights = {name: tensor[s : s + 1] for name, tensor in self.state_dict().items()}
        alone.load_state_dict(weights, assign=True)
        return alone.train(self.training)

    def encode(self, x: Float[Tensor, "s b ..."]) -> Posterior:
        """q(z|x) for each member's own batch."""
        if isinstance(self.config.network, MLP):
            x = x.flatten(2)
        family = family_of(self.config.posterior)
        return family.from_parameters(self.encoder(x), self.config.latents)

    def decode(self, z: Float[Tensor, "s b d"]) -> Float[Tensor, "s b ..."]:
        """The decoder's output: the mean observation, or for `bernoulli` its logits."""
        if not self.decodes:
            raise ValueError("this model has no decoder: its objective trains an encoder alone")
        return self.decoder(z).reshape(*z.shape[:2], *self.shape)

    def decode_mean(self, z: Float[Tensor, "s b d"]) -> Float[Tensor, "s b ..."]:
        """The expected observation."""
        return likelihoods.mean(self.config.likelihood, self.decode(z))
