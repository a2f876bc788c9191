"""Jacobians of decoders, in forward mode: there are few latents and many pixels."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor


def decoder_jacobians(
    decode: Callable[[Tensor], Tensor], z: Float[Tensor, "n d"], chunk: int = 64
) -> Float[Tensor, "n p d"]:
    """The Jacobian of a decoder at each latent point.

    Args:
        decode: Maps latents (n, d) to observations (n, ...), each on its own.
            Pass the mean decoder, after the output's nonlinearity, unless logits are meant.
        z: Where.
        chunk: Points at a time; a convolutional decoder of 64 pixels takes 3 MB for each.

    Example:
        >>> mixing = torch.tensor([[1.0, 2.0], [0.0, 3.0], [1.0, 0.0]])
        >>> decoder_jacobians(lambda z: z @ mixing.T, torch.zeros(1, 2))[0]
        tensor([[1., 2.],
                [0., 3.],
                [1., 0.]])
    """

    def along_axes(z: Float[Tensor, "m d"]) -> Float[Tensor, "m p d"]:
        def push(axis: Float[Tensor, "d"]) -> Float[Tensor, "m p"]:
            return torch.func.jvp(decode, (z,), (axis.expand_as(z),))[1].flatten(1)

        axes = torch.eye(z.shape[1], dtype=z.dtype, device=z.device)
        return torch.func.vmap(push, out_dims=2)(axes)

    with torch.no_grad():
        return torch.cat([along_axes(part) for part in z.split(chunk)])
