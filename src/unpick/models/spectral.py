"""Spectral normalisation: layers that stretch no direction by more than one."""

from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import normalize
from torch.nn.utils import parametrize

from unpick.models.networks import Affine, Convolution, Generators, uniform

Network = TypeVar("Network", bound=nn.Module)


class Spectral(nn.Module):
    r"""W / \sigma(W), the largest singular value by power iteration (Miyato et al. 2018, eq. 8).

    Every evaluation in training takes the iteration one step further, from where it was: weights
    change little from one to the next. A convolution is taken for the matrix from its window to
    its channels. The left singular vector is a buffer, and so part of what is saved.
    """

    def __init__(self, weight: Float[Tensor, "s r ..."], generators: Generators) -> None:
        super().__init__()
        self.register_buffer("left", uniform((1, weight.shape[1]), 1.0, generators))

    def forward(self, weight: Float[Tensor, "s r ..."]) -> Float[Tensor, "s r ..."]:
        """The weight of a layer of norm one, for each member."""
        matrix, left = weight.flatten(2), self.get_buffer("left")
        with torch.no_grad():
            right = normalize(left @ matrix, dim=2)
        stretched = right @ matrix.mT
        sigma = stretched.norm(dim=2, keepdim=True)
        if self.training:
            left.copy_(stretched.detach() / sigma.detach())
        return weight * (1 / sigma).reshape(-1, *[1] * (weight.ndim - 1))


def spectrally_normalised(network: Network, generators: Generators) -> Network:
    """The network with the weights of all its layers normalised."""
    layers = [layer for layer in network.modules() if isinstance(layer, Affine | Convolution)]
    for layer in layers:
        parametrize.register_parametrization(layer, "weight", Spectral(layer.weight, generators))
    return network
