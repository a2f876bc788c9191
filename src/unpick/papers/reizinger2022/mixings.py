"""Maps from sources to as many observations whose density is known (Reizinger et al. 2022).

A mixing lies in the orthogonal-column class if the columns of its Jacobian are orthogonal
everywhere; its IMA contrast is then zero. Sources are standard normal, as the prior of a VAE is.

Orthogonal layers do not make a network that lies in the class: activations between two layers
scale rows, after which columns are orthogonal no more. Scaling columns does no harm, so A g(z) is
in the class for every orthogonal A and every g that acts on one source at a time; `OrthogonalMLP`
is of this kind.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import softplus

from unpick.theory.pushforward import log_normal

LEAK = 0.2  # of smooth leaky rectifiers, as in the released code


@dataclass(frozen=True, eq=False)
class Moebius:
    r"""x = A (s - a) / \|s - a\|^2 with s = c z: in the class, since it keeps all angles.

    Attributes:
        rotation: A, orthogonal.
        pole: a, where x is not defined; best put where there are no sources.
        spread: c, the deviation of the sources.
    """

    rotation: Float[Tensor, "d d"]
    pole: Float[Tensor, "d"]
    spread: float = 0.25

    def __call__(self, z: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Observations."""
        offset = self.spread * z - self.pole
        return offset / offset.square().sum(1, keepdim=True) @ self.rotation.T

    def log_volume(self, z: Float[Tensor, "n d"]) -> Float[Tensor, "n"]:
        r"""Log |det J|, the same scale in all directions: d log(c / \|s - a\|^2)."""
        distance = (self.spread * z - self.pole).square().sum(1)
        return z.shape[1] * (self.spread / distance).log()


@dataclass(frozen=True, eq=False)
class OrthogonalMLP:
    """x = A g(z), g a smooth leaky rectifier: in the class.

    Attributes:
        rotation: A, orthogonal.
    """

    rotation: Float[Tensor, "d d"]

    def __call__(self, z: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Observations."""
        return rectifier(z) @ self.rotation.T

    def log_volume(self, z: Float[Tensor, "n d"]) -> Float[Tensor, "n"]:
        """Log |det J| = sum_k log g'(z_k)."""
        return slope(z).log().sum(1)


@dataclass(frozen=True, eq=False)
class TriangularMLP:
    """x = L_m g(... g(L_1 z)), all L lower triangular: outside the class, invertible.

    Observation k depends on the sources up to the k-th, as in a Darmois construction.

    Attributes:
        layers: The L, first one first.
    """

    layers: Float[Tensor, "m d d"]

    def __post_init__(self) -> None:
        if self.layers.triu(1).any():
            raise ValueError(f"layers must be lower triangular, got {self.layers.tolist()}")
        if not self.layers.diagonal(dim1=1, dim2=2).all():
            raise ValueError("layers must have no 0 on their diagonals: they cannot be inverted")

    def __call__(self, z: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Observations."""
        x = z @ self.layers[0].T
        for layer in self.layers[1:]:
            x = rectifier(x) @ layer.T
        return x

    def log_volume(self, z: Float[Tensor, "n d"]) -> Float[Tensor, "n"]:
        """Log |det J|: the sum of log |L_kk| and log g' over layers and coordinates."""
        x = z @ self.layers[0].T
        volume = self.layers.diagonal(dim1=1, dim2=2).abs().log().sum()
        for layer in self.layers[1:]:
            volume = volume + slope(x).log().sum(1)
            x = rectifier(x) @ layer.T
        return volume.expand(len(z))


Mixing = Moebius | OrthogonalMLP | TriangularMLP


def log_density(mixing: Mixing, z: Float[Tensor, "n d"]) -> Float[Tensor, "n"]:
    """Log-density of the observation of z, without noise: log N(z) - log |det J(z)|."""
    return log_normal(z).sum(1) - mixing.log_volume(z)


def moebius(d: int, seed: int = 0) -> Moebius:
    """Drawn at random, its pole six deviations of the sources from their mean."""
    generator = torch.Generator().manual_seed(seed)
    pole = torch.randn(d, generator=generator, dtype=torch.float64)
    return Moebius(_orthogonal(d, generator), 1.5 * pole / pole.norm())


def orthogonal_mlp(d: int, seed: int = 0) -> OrthogonalMLP:
    """Drawn at random."""
    return OrthogonalMLP(_orthogonal(d, torch.Generator().manual_seed(seed)))


def triangular_mlp(d: int, depth: int = 3, seed: int = 0, scale: float = 1.0) -> TriangularMLP:
    """Drawn at random: ones on the diagonals, standard normal below; observations are scaled."""
    generator = torch.Generator().manual_seed(seed)
    draws = torch.randn(depth, d, d, generator=generator, dtype=torch.float64)
    layers = draws.tril(-1) + torch.eye(d).double()
    layers[-1] *= scale
    return TriangularMLP(layers)


def rectifier(x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    """The smooth leaky rectifier: 0.2 x + 0.8 log(1 + e^x)."""
    return LEAK * x + (1 - LEAK) * softplus(x)


def slope(x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    """Its derivative."""
    return LEAK + (1 - LEAK) * torch.sigmoid(x)


def _orthogonal(d: int, generator: torch.Generator) -> Float[Tensor, "d d"]:
    q, r = torch.linalg.qr(torch.randn(d, d, generator=generator, dtype=torch.float64))
    return q * r.diagonal().sign()  # which makes it uniform over rotations and reflections
