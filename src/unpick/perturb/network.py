"""The network m(w) that draws the change: factors to one number, one number to an image."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import batch_norm, one_hot

from unpick.data import Dataset
from unpick.devices import send
from unpick.models import Autoencoder, ModelConfig, build
from unpick.models.networks import Dense
from unpick.perturb.config import PerturbConfig
from unpick.training.streams import generator

MOMENTUM = 0.02  # of the neuron's running mean and variance

Features = Callable[[Int[Tensor, "n"]], Float[Tensor, "n f"]]


class Change(nn.Module):
    r"""m(w) with a one-neuron bottleneck (Zietlow 2022, section 4.3.1), an ensemble of one.

    Dense layers lead from w to the neuron s, and the decoder of the models it is trained against,
    with one latent in, from s to \epsilon \tanh(\cdot), which no pixel can exceed. Unless the
    recipe is `literal`, the neuron is batch-normalised: left alone, it may drift in the first
    steps to where the change is the same for all observations, and stay there.
    """

    def __init__(self, config: PerturbConfig, inputs: int, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.epsilon, self.shape, self.literal = config.epsilon, shape, config.literal
        start = [generator(config.seed, "change")]
        self.into = Dense((inputs, *config.compress, 1), "relu", start)
        model = ModelConfig(1, "delta", "gaussian", config.base.model.network)
        built = build(model, shape, [config.seed])
        assert isinstance(built, Autoencoder)
        self.out_of = built.decoder
        self.register_buffer("mean", torch.zeros(1))
        self.register_buffer("variance", torch.ones(1))

    @torch.no_grad()
    def begin(self, w: Float[Tensor, "n f"]) -> None:
        """Take the first mean and variance of the neuron from these observations."""
        s = self.into(w[None])
        self.get_buffer("mean").fill_(s.mean())
        self.get_buffer("variance").fill_(s.var())

    def neuron(self, w: Float[Tensor, "n f"]) -> Float[Tensor, "n"]:
        """The one number that all of w becomes: of mean 0 and variance 1, unless `literal`."""
        s, learning = self.into(w[None])[0], self.training
        if self.literal:
            return s[:, 0]
        mean, variance = self.get_buffer("mean"), self.get_buffer("variance")
        return batch_norm(s, mean, variance, training=learning, momentum=MOMENTUM, eps=1e-12)[:, 0]

    def draw(self, s: Float[Tensor, "n"]) -> Float[Tensor, "n ..."]:
        """The change at these values of the neuron."""
        return self.epsilon * torch.tanh(self.out_of(s[None, :, None]).view(-1, *self.shape))

    def forward(self, w: Float[Tensor, "n f"]) -> Float[Tensor, "n ..."]:
        """m(w)."""
        return self.draw(self.neuron(w))


def features(
    dataset: Dataset, encode: Callable[[Tensor], Tensor], device: torch.device
) -> Features:
    """What the change of an observation may depend on, on this device.

    On a grid of factors: the value of each factor, scaled to [-1, 1], or one-hot if the factor is
    categorical. On other data: the code that `encode` gives.
    """
    if not dataset.is_grid:
        return lambda indices: encode(send(dataset.observe(indices), device))

    def places(indices: Int[Tensor, "n"]) -> Float[Tensor, "n f"]:
        columns = zip(dataset.factors, dataset.positions(indices).unbind(1), strict=True)
        parts = [
            one_hot(place, factor.size).float()
            if factor.categorical
            else 2 * place[:, None] / max(1, factor.size - 1) - 1
            for factor, place in columns
        ]
        return send(torch.cat(parts, dim=1), device)

    return places
