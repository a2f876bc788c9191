"""The gradient of the autoencoder and the (beta-)VAE with dense networks, written out.

With small networks automatic differentiation spends most of a step on bookkeeping. This does the
same arithmetic in half the time. Everything else goes through autograd; a test compares the two.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeGuard

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import softplus

from unpick.models import MLP, Autoencoder, Model
from unpick.models.likelihood import Likelihood
from unpick.models.networks import IN_PLACE, Activation, Dense
from unpick.models.posterior import Family
from unpick.objectives import AE, BetaVAE, ObjectiveConfig

# The objectives whose gradient is written out, each with its posterior. By exact type: a subclass
# may minimise something else.
WRITTEN_OUT: dict[type, Family] = {AE: "delta", BetaVAE: "diagonal"}


def applies(model: Model, objective: ObjectiveConfig) -> TypeGuard[Autoencoder]:
    """Whether the gradient is written out for this model and objective; if not, use autograd."""
    config, network = model.config, model.config.network
    return (
        type(model) is Autoencoder
        and type(network) is MLP
        and WRITTEN_OUT.get(type(objective)) == config.posterior
        and {network.encoder_activation, network.decoder_activation} <= SLOPES.keys()
        and config.likelihood in DISTORTIONS
    )


@torch.no_grad()
def loss_and_gradients(
    model: Autoencoder,
    objective: ObjectiveConfig,
    x: Float[Tensor, "s b ..."],
    noise: Float[Tensor, "s b d"],
) -> tuple[dict[str, Float[Tensor, "s"]], list[Tensor]]:
    """The loss and its terms, and the gradients in the order of `model.parameters()`."""
    if type(objective) not in WRITTEN_OUT:
        known = " or ".join(kind.__name__ for kind in WRITTEN_OUT)
        raise ValueError(f"objective must be exactly {known}, got {objective}")
    config, x = model.config, x.flatten(2)
    assert isinstance(config.network, MLP)
    assert isinstance(model.encoder, Dense)
    assert isinstance(model.decoder, Dense)
    first, second = model.encoder.weights_and_biases, model.decoder.weights_and_biases
    into, q = forward(first, config.network.encoder_activation, x)
    if isinstance(objective, BetaVAE):
        # Contiguous halves: the exponential of a strided tensor takes thirty times as long.
        mean, log_var = q.unflatten(2, (2, -1)).movedim(2, 0).contiguous()
        scale = torch.exp(0.5 * log_var)
        z = torch.addcmul(mean, scale, noise)
    else:
        z = q
    out_of, output = forward(second, config.network.decoder_activation, z)
    distortion, slope = DISTORTIONS[config.likelihood](x, output)
    decoder = backward(second, config.network.decoder_activation, out_of, slope)
    pull = torch.bmm(decoder.slope, second[0][0].mT)  # at the latents
    terms = {"loss": distortion, "distortion": distortion}
    if isinstance(objective, BetaVAE):
        variance, b = scale.square(), x.shape[1]
        # A tensor of S values in an ensemble, one number otherwise.
        beta = torch.as_tensor(objective.beta)
        terms["kl"] = (mean.square() + variance - log_var - 1).sum((1, 2)) * (0.5 / b)
        terms["loss"] = distortion + beta * terms["kl"]
        weight = beta.reshape(-1, 1, 1) / b
        slope_mean = torch.addcmul(pull, weight, mean)
        slope_log_var = torch.addcmul(weight * (variance - 1), pull, scale * noise).mul_(0.5)
        pull = torch.cat([slope_mean, slope_log_var], dim=2)
    encoder = backward(first, config.network.encoder_activation, into, pull)
    return terms, encoder.gradients + decoder.gradients


Layers = list[tuple[Tensor, Tensor]]  # weights and biases


def forward(
    layers: Layers, activation: Activation, x: Float[Tensor, "s b i"]
) -> tuple[list[Tensor], Float[Tensor, "s b o"]]:
    """What enters each layer, and what leaves the last."""
    inputs, activate = [x], IN_PLACE[activation]
    for weight, bias in layers[:-1]:
        inputs.append(activate(torch.bmm(inputs[-1], weight).add_(bias)))
    weight, bias = layers[-1]
    return inputs, torch.bmm(inputs[-1], weight).add_(bias)


class Backward(NamedTuple):
    """Gradients of weights and biases, layer by layer, and the slope behind the first layer."""

    gradients: list[Tensor]
    slope: Float[Tensor, "s b h"]


def backward(
    layers: Layers, activation: Activation, inputs: list[Tensor], slope: Float[Tensor, "s b o"]
) -> Backward:
    """From the slope at the network's output down to its first layer, but not to its input."""
    gradients: list[Tensor] = []
    for k in reversed(range(len(inputs))):
        x, (weight, _) = inputs[k], layers[k]
        gradients = [torch.bmm(x.mT, slope), slope.sum(1, keepdim=True), *gradients]
        if k == 0:
            break
        slope = torch.bmm(slope, weight.mT)
        slope = SLOPES[activation](slope, x)
    return Backward(gradients, slope)


def squared_error(
    x: Float[Tensor, "s b p"], output: Float[Tensor, "s b p"]
) -> tuple[Float[Tensor, "s"], Float[Tensor, "s b p"]]:
    """The squared error and its derivative by the output, averaged over the batch."""
    b, error = x.shape[1], output - x
    return error.square().sum((1, 2)) / b, error.mul_(2 / b)


def cross_entropy(
    x: Float[Tensor, "s b p"], output: Float[Tensor, "s b p"]
) -> tuple[Float[Tensor, "s"], Float[Tensor, "s b p"]]:
    """The cross-entropy of logits and its derivative by them, averaged over the batch."""
    b, value = x.shape[1], torch.addcmul(softplus(output), x, output, value=-1)
    return value.sum((1, 2)) / b, (torch.sigmoid(output) - x).mul_(1 / b)


DISTORTIONS: dict[Likelihood, Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]] = {
    "gaussian": squared_error,
    "bernoulli": cross_entropy,
}

# The slope before an activation, from the slope after it and the activation's output.
SLOPES: dict[Activation, Callable[[Tensor, Tensor], Tensor]] = {
    "tanh": lambda slope, y: torch.addcmul(slope, slope, y.square(), value=-1),
    "relu": lambda slope, y: torch.where(y > 0, slope, 0.0 * slope),
    "leaky_relu": lambda slope, y: torch.where(y > 0, slope, 0.2 * slope),
}
