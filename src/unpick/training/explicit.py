"""The gradient of the autoencoder and the (beta-)VAE with dense networks, written out in NumPy.

In a small network automatic differentiation and even the calls of PyTorch's operations cost more
than the arithmetic. NumPy's calls cost a third, its tanh an eighth. Everything else goes through
autograd; a test compares the two. On the CPU only: arrays share the memory of the model's weights.

Arrays have features before observations, (S, features, batch): halves of the encoder's output are
contiguous, and a bias is added along the longest axis.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import islice
from typing import TypeGuard

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from unpick.devices import threads
from unpick.models import MLP, Autoencoder, Model
from unpick.models.likelihood import Likelihood
from unpick.models.networks import Activation, Dense
from unpick.models.posterior import Family
from unpick.objectives import AE, BetaVAE, ObjectiveConfig
from unpick.training.config import RunConfig
from unpick.training.parameters import lay_out

# The objectives whose gradient is written out, each with its posteriors. By exact type: a subclass
# may minimise something else.
WRITTEN_OUT: dict[type, tuple[Family, ...]] = {AE: ("delta",), BetaVAE: ("diagonal", "full")}

# Multiplications of one matrix product from which several threads are faster than one.
LARGE = 5_000_000

Array = np.ndarray


def applies(model: Model, config: RunConfig) -> TypeGuard[Autoencoder]:
    """Whether the gradient is written out for what this run minimises; if not, use autograd."""
    network = model.config.network
    return (
        type(model) is Autoencoder
        and type(network) is MLP
        and model.config.posterior in WRITTEN_OUT.get(type(config.objective), ())
        and config.orthogonality == 0
        and {network.encoder_activation, network.decoder_activation} <= ACTIVATE.keys()
        and model.config.likelihood in DISTORTIONS
        and all(p.device.type == "cpu" and p.dtype == torch.float32 for p in model.parameters())
    )


class WrittenOut:
    """The loss of an ensemble and its gradients, in memory that every step uses again.

    Args:
        model: A dense ensemble on the CPU; its weights may change, but not where they lie.
        objective: One of `WRITTEN_OUT`.
        batch: Observations a step.

    Attributes:
        gradients: In the order of `model.parameters()`, as of the last call of `step`.
        held: The tensors that hold them; see `parameters.lay_out`.
    """

    def __init__(self, model: Autoencoder, objective: ObjectiveConfig, batch: int) -> None:
        if type(objective) not in WRITTEN_OUT:
            known = " or ".join(kind.__name__ for kind in WRITTEN_OUT)
            raise ValueError(f"objective must be exactly {known}, got {objective}")
        network = model.config.network
        assert isinstance(network, MLP)
        assert isinstance(model.encoder, Dense)
        assert isinstance(model.decoder, Dense)
        self.gradients, self.held = lay_out([p.detach() for p in model.parameters()])
        views = iter(gradient.numpy() for gradient in self.gradients)
        self.encoder = Layers(model.encoder, network.encoder_activation, batch, views)
        self.decoder = Layers(model.decoder, network.decoder_activation, batch, views)
        self.distortion = DISTORTIONS[model.config.likelihood]
        self.latents = model.config.latents
        products = [batch * w[0].size for w in self.encoder.weights + self.decoder.weights]
        self.small = max(products) < LARGE
        self.beta: Array | None = None
        if isinstance(objective, BetaVAE):
            # A tensor of S values in an ensemble whose members differ, one number otherwise.
            self.beta = np.asarray(objective.beta, dtype=np.float32).reshape(-1)
            self.weight = self.beta[:, None, None] / np.float32(batch)
        # The rows of the encoder's output that hold row i of L, below its diagonal.
        d, self.below = self.latents, list[tuple[int, slice]]()
        if model.config.posterior == "full":
            starts = [2 * d + i * (i - 1) // 2 for i in range(d + 1)]
            self.below = [(i, slice(starts[i], starts[i + 1])) for i in range(1, d)]

    @contextmanager
    def ready(self) -> Iterator[None]:
        """Inside the block steps may be taken: infinite numbers are no warning to anybody."""
        with np.errstate(all="ignore"), threads(1) if self.small else nullcontext():
            yield

    def step(
        self, x: Float[Array, "s p b"], noise: Float[Array, "s d b"]
    ) -> dict[str, Float[Array, "s"]]:
        """The loss and its terms; fills `gradients`."""
        q, b, d = self.encoder.forward(x), x.shape[2], self.latents
        if self.beta is None:
            output = self.decoder.forward(q)
            distortion = self.distortion(x, output)
            self.encoder.backward(self.decoder.backward(output), whole=False)
            return {"loss": distortion, "distortion": distortion}
        mean, log_var = q[:, :d], q[:, d : 2 * d]
        scale = np.exp(0.5 * log_var)
        shift = scale * noise
        z = mean + shift
        for i, row in self.below:
            z[:, i] += np.add.reduce(q[:, row] * noise[:, :i], 1)
        output = self.decoder.forward(z)
        distortion = self.distortion(x, output)
        pull = self.decoder.backward(output)
        excess = scale * scale - 1
        kl = np.add.reduce((mean * mean + excess - log_var).reshape(len(x), -1), 1)
        # The slopes take the place of what they belong to.
        np.multiply(0.5, self.weight * excess + pull * shift, out=log_var)
        np.add(pull, self.weight * mean, out=mean)
        for i, row in self.below:
            kl += np.add.reduce((q[:, row] * q[:, row]).reshape(len(x), -1), 1)
            q[:, row] = pull[:, i : i + 1] * noise[:, :i] + self.weight * q[:, row]
        kl *= 0.5 / b
        self.encoder.backward(q, whole=False)
        return {"loss": distortion + self.beta * kl, "distortion": distortion, "kl": kl}


class Layers:
    """The layers of a dense network, with room for what enters and leaves them.

    Args:
        network: The network.
        activation: Between its layers.
        batch: Observations a step.
        gradients: Where to write them, in the order of the network's parameters.
    """

    def __init__(
        self, network: Dense, activation: Activation, batch: int, gradients: Iterator[Array]
    ) -> None:
        pairs = [(w.detach(), b.detach()) for w, b in network.weights_and_biases]
        views = list(islice(gradients, 2 * len(pairs)))
        self.weights = [w.numpy() for w, _ in pairs]  # (S, I, O)
        self.weight_slopes, self.bias_slopes = views[::2], [v[:, 0] for v in views[1::2]]
        members = len(self.weights[0])
        self.outputs = [np.empty((members, w.shape[2], batch), np.float32) for w in self.weights]
        across = [w.swapaxes(1, 2) for w in self.weights]  # (S, O, I)
        biases = [b.numpy().swapaxes(1, 2) for _, b in pairs]  # (S, O, 1)
        *self.hidden, self.last = zip(across, biases, self.outputs, strict=True)
        # At what enters each layer.
        self.slopes = [np.empty((members, w.shape[1], batch), np.float32) for w in self.weights]
        self.ones = np.ones(batch, np.float32)
        self.activate, self.slope = ACTIVATE[activation], SLOPE[activation]
        self.x = self.outputs[0]

    def forward(self, x: Float[Array, "s i b"]) -> Float[Array, "s o b"]:
        """What leaves the last layer; it is overwritten by the next call."""
        self.x = x
        for weight, bias, output in self.hidden:
            x = np.matmul(weight, x, out=output)
            self.activate(np.add(x, bias, out=x))
        weight, bias, output = self.last
        x = np.matmul(weight, x, out=output)
        return np.add(x, bias, out=x)

    def backward(self, slope: Float[Array, "s o b"], whole: bool = True) -> Array:
        """Fill the gradients from the slope at the output; return the slope at the input.

        Unless `whole`, the last product is left out: nobody needs a slope at the data.
        """
        for k in reversed(range(len(self.weights))):
            x = self.outputs[k - 1] if k else self.x
            np.matmul(x, slope.swapaxes(1, 2), out=self.weight_slopes[k])
            np.matmul(slope, self.ones, out=self.bias_slopes[k])
            if not (k or whole):
                break
            slope = np.matmul(self.weights[k], slope, out=self.slopes[k])
            if k:
                self.slope(slope, x)
        return slope


def squared_error(x: Float[Array, "s p b"], output: Float[Array, "s p b"]) -> Float[Array, "s"]:
    """The squared error, averaged over the batch; its slope takes the place of the output."""
    b = x.shape[2]
    error = np.subtract(output, x, out=output).reshape(len(x), -1)
    value = np.vecdot(error, error) / b
    output *= 2 / b
    return value


def cross_entropy(x: Float[Array, "s p b"], output: Float[Array, "s p b"]) -> Float[Array, "s"]:
    """The cross-entropy of logits, averaged over the batch; like `squared_error`."""
    b = x.shape[2]
    small = np.exp(-np.abs(output))
    rest = 1 + small
    # softplus(o) - x o, and softplus(o) = max(o, 0) + log(1 + exp(-|o|))
    value = np.maximum(output, 0)
    value += np.log(rest)
    value -= x * output
    probability = np.where(output > 0, 1, small)
    probability /= rest
    np.multiply(probability - x, 1 / b, out=output)
    return value.reshape(len(x), -1).sum(1) / b


DISTORTIONS: dict[Likelihood, Callable[[Array, Array], Array]] = {
    "gaussian": squared_error,
    "bernoulli": cross_entropy,
}


def leaky_relu(x: Array) -> None:
    """In place, slope 0.2 below zero."""
    np.maximum(x, np.float32(0.2) * x, out=x)


# In place.
ACTIVATE: dict[Activation, Callable[[Array], object]] = {
    "tanh": lambda x: np.tanh(x, out=x),
    "relu": lambda x: np.maximum(x, 0, out=x),
    "leaky_relu": leaky_relu,
}


def tanh_slope(slope: Array, y: Array) -> None:
    """1 - y^2."""
    np.multiply(y, y, out=y)
    np.subtract(1, y, out=y)
    np.multiply(slope, y, out=slope)


# From the slope after an activation to that before it, in place. `y` is the activation's output,
# which nobody needs any more.
SLOPE: dict[Activation, Callable[[Array, Array], object]] = {
    "tanh": tanh_slope,
    "relu": lambda slope, y: np.multiply(slope, y > 0, out=slope),
    "leaky_relu": lambda slope, y: np.multiply(
        slope, np.where(y > 0, np.float32(1), np.float32(0.2)), out=slope
    ),
}


def features_first(x: Float[Tensor, "*n b p"]) -> Float[Array, "*n p b"]:
    """A copy with the last two axes exchanged, as an array."""
    return x.mT.contiguous().numpy()
