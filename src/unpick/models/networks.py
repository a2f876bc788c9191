"""Networks with a leading member axis: S of them, same shape, own weights, evaluated at once.

A dense layer is one batched matrix product. Convolutions gain nothing from batching members
on a CPU, so they run member by member, channels last; on a GPU they are one grouped convolution.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from math import ceil, log2
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from unpick.devices import convolves_together
from unpick.names import LATER, check_choices

Activation = Literal["relu", "tanh", "leaky_relu"]
Weights = Literal["uniform", "gaussian"]
ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "tanh": torch.tanh,
    "leaky_relu": lambda x: functional.leaky_relu(x, 0.2),
}
# For training, where nothing else needs the layer's output that is overwritten. Not in evaluation:
# forward-mode derivatives would copy it.
IN_PLACE: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu_,
    "tanh": torch.tanh_,
    "leaky_relu": lambda x: functional.leaky_relu_(x, 0.2),
}

Generators = Sequence[torch.Generator]  # one for each member
ConvLayer = tuple[int, int, int, int]  # channels, kernel, stride, padding


@dataclass(frozen=True)
class MLP:
    """Fully connected encoder and decoder; widths of the hidden layers. Empty widths: linear."""

    encoder: tuple[int, ...] = (400, 400)  # widths of its hidden layers
    encoder_activation: Activation = "relu"
    decoder: tuple[int, ...] = (400, 400)  # widths of its hidden layers
    decoder_activation: Activation = "relu"
    weights: Weights = field(default="uniform", metadata=LATER)  # law of the first weights

    def __post_init__(self) -> None:
        check_choices(self)
        check_widths(encoder=self.encoder, decoder=self.decoder)


@dataclass(frozen=True)
class Conv:
    """Convolutions, then dense layers, to the latents; and back through transposed convolutions.

    The decoder has one more layer than is listed, to the image's own channels: kernel 4, stride 2,
    padding 1. The side of the map that it starts from follows from the image's size. The
    defaults are the network of Locatello et al. (2019) with the kernels of Higgins et al. (2017).
    """

    encoder: tuple[ConvLayer, ...] = ((32, 4, 2, 1), (32, 4, 2, 1), (64, 4, 2, 1), (64, 4, 2, 1))
    encoder_dense: tuple[int, ...] = (256,)
    decoder_dense: tuple[int, ...] = (256,)
    start_channels: int = 64
    decoder: tuple[ConvLayer, ...] = ((64, 4, 2, 1), (32, 4, 2, 1), (32, 4, 2, 1))
    activation: Activation = "relu"
    encoder_norm: int = 0  # how many of the last encoder convolutions are batch-normalised
    decoder_norm: int = 0  # how many of the decoder's hidden convolutions, counted from its end

    def __post_init__(self) -> None:
        check_choices(self)
        check_widths(
            encoder_dense=self.encoder_dense,
            decoder_dense=self.decoder_dense,
            start_channels=(self.start_channels,),
        )
        for name in ("encoder", "decoder"):
            layers, norm = getattr(self, name), getattr(self, f"{name}_norm")
            if any(min(layer[:3]) < 1 or layer[3] < 0 for layer in layers):
                raise ValueError(f"{name}: channels, kernel and stride must be positive: {layers}")
            if not 0 <= norm <= len(layers):
                raise ValueError(f"{name}_norm must lie in 0..{len(layers)}, got {norm}")


def check_widths(**widths: tuple[int, ...]) -> None:
    """Raise unless all are positive."""
    for name, values in widths.items():
        if any(value < 1 for value in values):
            raise ValueError(f"{name}: widths must be positive, got {values}")


def fitting_network(shape: tuple[int, ...]) -> MLP | Conv:
    """Convolutions down to 4 x 4 for square images of 16, 32, 64, ... pixels; else dense layers.

    At 64 pixels it is the network of Locatello et al. (2019).

    Example:
        >>> fitting_network((3, 64, 64)) == Conv()
        True
        >>> len(fitting_network((1, 16, 16)).encoder), fitting_network((1, 8, 8)) == MLP()
        (2, True)
    """
    if len(shape) != 3 or shape[1] != shape[2]:
        return MLP()
    layers = log2(shape[1]) - 2
    if layers < 2 or layers != int(layers):
        return MLP()
    narrow, wide = ceil(layers / 2), int(layers) // 2
    down: tuple[ConvLayer, ...] = (*[(32, 4, 2, 1)] * narrow, *[(64, 4, 2, 1)] * wide)
    return Conv(encoder=down, decoder=down[-2::-1])


class Affine(nn.Module):
    """x W + b for every member; drawn like PyTorch's Linear, uniform within 1/sqrt(inputs).

    Gaussian weights of the same variance have a law that no turn of inputs or outputs changes.
    """

    def __init__(
        self, inputs: int, outputs: int, generators: Generators, weights: Weights = "uniform"
    ) -> None:
        super().__init__()
        bound, draw = inputs**-0.5, gaussian if weights == "gaussian" else uniform
        self.weight = nn.Parameter(draw((inputs, outputs), bound, generators))  # (S, I, O)
        self.bias = nn.Parameter(draw((1, outputs), bound, generators))  # (S, 1, O)

    def forward(self, x: Float[Tensor, "s b i"]) -> Float[Tensor, "s b o"]:
        """One batched product for all members (baddbmm is slower: it first copies the bias)."""
        return torch.bmm(x, self.weight) + self.bias


class Dense(nn.Module):
    """Affine layers with a nonlinearity between them, none after the last."""

    def __init__(
        self,
        widths: Sequence[int],
        activation: Activation,
        generators: Generators,
        weights: Weights = "uniform",
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Affine(i, o, generators, weights) for i, o in pairwise(widths))
        self.activation: Activation = activation

    @property
    def weights_and_biases(self) -> list[tuple[Tensor, Tensor]]:
        """Of each layer as they are now; `load_state_dict` may put others in their place."""
        return [(layer.weight, layer.bias) for layer in self.layers]  # type: ignore[misc]

    def forward(self, x: Float[Tensor, "s b i"]) -> Float[Tensor, "s b o"]:
        """Layer after layer."""
        activate = (IN_PLACE if self.training else ACTIVATIONS)[self.activation]
        for layer in self.layers[:-1]:
            x = activate(layer(x))
        return self.layers[-1](x)


class Convolution(nn.Module):
    """One convolution, perhaps transposed, perhaps batch-normalised.

    Weights lie with their input channels last, which is the layout the fast kernels want.
    """

    def __init__(
        self,
        inputs: int,
        layer: ConvLayer,
        generators: Generators,
        *,
        transposed: bool = False,
        norm: bool = False,
    ) -> None:
        super().__init__()
        outputs, kernel, self.stride, self.padding = layer
        self.transposed = transposed
        first, last = (inputs, outputs) if transposed else (outputs, inputs)
        bound = (last * kernel**2) ** -0.5
        self.weight = nn.Parameter(uniform((first, kernel, kernel, last), bound, generators))
        # Batch normalisation takes the mean away, and a bias with it.
        self.bias = None if norm else nn.Parameter(uniform((outputs,), bound, generators))
        self.scale = nn.Parameter(torch.ones(len(generators), outputs)) if norm else None
        self.shift = nn.Parameter(torch.zeros(len(generators), outputs)) if norm else None
        if norm:
            self.register_buffer("running_mean", torch.zeros(len(generators), outputs))
            self.register_buffer("running_var", torch.ones(len(generators), outputs))

    def forward(self, x: Float[Tensor, "b c h w"], s: int | None) -> Float[Tensor, "b o p q"]:
        """The layer of member s; for None of all members, whose channels stand side by side."""

        def own(tensor: Tensor) -> Tensor:
            return tensor.flatten(0, 1) if s is None else tensor[s]

        convolve = partial(
            functional.conv_transpose2d if self.transposed else functional.conv2d,
            stride=self.stride,
            padding=self.padding,
            groups=len(self.weight) if s is None else 1,
        )
        weight = own(self.weight).permute(0, 3, 1, 2)
        if self.bias is not None and not self.training:
            return convolve(x, weight, own(self.bias))
        x = convolve(x, weight)
        if self.bias is not None:
            # Not as the convolution's own: its backward pass takes up to half as long again.
            x = x.add_(own(self.bias)[:, None, None])
        if self.scale is None or self.shift is None:
            return x
        mean, var = own(self.get_buffer("running_mean")), own(self.get_buffer("running_var"))
        return functional.batch_norm(x, mean, var, own(self.scale), own(self.shift), self.training)


def side_by_side(x: Float[Tensor, "s b c h w"]) -> Float[Tensor, "b sc h w"]:
    """The members' channels next to each other, for a grouped convolution."""
    return x.transpose(0, 1).flatten(1, 2)


def apart(x: Float[Tensor, "b sc h w"], members: int) -> Float[Tensor, "s b c h w"]:
    """The inverse of `side_by_side`."""
    return x.unflatten(1, (members, -1)).transpose(0, 1)


class ConvEncoder(nn.Module):
    """Images to `outputs` numbers."""

    def __init__(
        self, config: Conv, shape: tuple[int, int, int], outputs: int, generators: Generators
    ) -> None:
        super().__init__()
        channels, side, _ = shape
        self.convolutions = nn.ModuleList()
        for k, layer in enumerate(config.encoder):
            norm = k >= len(config.encoder) - config.encoder_norm
            self.convolutions.append(Convolution(channels, layer, generators, norm=norm))
            channels, kernel, stride, padding = layer
            side = (side + 2 * padding - kernel) // stride + 1
            if side < 1:
                raise ValueError(f"encoder: layer {k} leaves no pixels of an image of {shape}")
        widths = (channels * side**2, *config.encoder_dense, outputs)
        self.dense = Dense(widths, config.activation, generators)
        self.activation = config.activation

    def forward(self, x: Float[Tensor, "s b c h w"]) -> Float[Tensor, "s b o"]:
        """Through the convolutions, and together through the dense layers."""
        activate = (IN_PLACE if self.training else ACTIVATIONS)[self.activation]
        if convolves_together(x.device):
            h = side_by_side(x)
            for layer in self.convolutions:
                h = activate(layer(h, None))
            return self.dense(apart(h, len(x)).flatten(2))
        features = []
        for s, h in enumerate(x):
            h = channels_last(h)
            for layer in self.convolutions:
                h = activate(layer(h, s))
            features.append(h.flatten(1))
        return self.dense(torch.stack(features))


class ConvDecoder(nn.Module):
    """Latents to images."""

    def __init__(
        self, config: Conv, shape: tuple[int, int, int], latents: int, generators: Generators
    ) -> None:
        super().__init__()
        layers = (*config.decoder, (shape[0], 4, 2, 1))
        side = start_side(layers, shape[1])
        self.start = (config.start_channels, side, side)
        widths = (latents, *config.decoder_dense, config.start_channels * side**2)
        self.dense = Dense(widths, config.activation, generators)
        self.convolutions = nn.ModuleList()
        channels = config.start_channels
        for k, layer in enumerate(layers):
            norm = len(config.decoder) - config.decoder_norm <= k < len(config.decoder)
            self.convolutions.append(
                Convolution(channels, layer, generators, transposed=True, norm=norm)
            )
            channels = layer[0]
        self.activation = config.activation

    def forward(self, z: Float[Tensor, "s b d"]) -> Float[Tensor, "s b c h w"]:
        """Together through the dense layers, and through the convolutions."""
        activate = (IN_PLACE if self.training else ACTIVATIONS)[self.activation]
        maps = activate(self.dense(z)).unflatten(2, self.start)
        if convolves_together(z.device):
            h = side_by_side(maps)
            for layer in self.convolutions[:-1]:
                h = activate(layer(h, None))
            return apart(self.convolutions[-1](h, None), len(z))
        images = []
        for s, h in enumerate(maps):
            h = channels_last(h)
            for layer in self.convolutions[:-1]:
                h = activate(layer(h, s))
            images.append(self.convolutions[-1](h, s))
        return torch.stack(images)


def channels_last(x: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c h w"]:
    """The same images in the layout of the fast kernels, in a way that vmap can follow."""
    return x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)


def start_side(layers: Sequence[ConvLayer], side: int) -> int:
    """The side of the map from which transposed convolutions arrive at an image of `side` pixels.

    Example:
        >>> start_side([(32, 4, 2, 1), (1, 4, 2, 1)], 64)
        16
    """
    target = side
    for _, kernel, stride, padding in reversed(layers):
        side, rest = divmod(side + 2 * padding - kernel, stride)
        side += 1
        if rest or side < 1:
            raise ValueError(f"decoder: no map leads to {target} pixels through layers {layers}")
    return side


def uniform(
    shape: tuple[int, ...], bound: float, generators: Generators
) -> Float[Tensor, "s ..."]:
    """Uniform numbers in [-bound, bound], each member from its own generator."""
    draws = [torch.rand(shape, generator=generator) for generator in generators]
    return torch.stack(draws).mul_(2 * bound).sub_(bound)


def gaussian(
    shape: tuple[int, ...], bound: float, generators: Generators
) -> Float[Tensor, "s ..."]:
    """Gaussian numbers with the variance of uniform ones in [-bound, bound]."""
    draws = [torch.randn(shape, generator=generator) for generator in generators]
    return torch.stack(draws).mul_(bound / 3**0.5)
