"""Decoders with orthogonal columns to try claims on: surfaces over two latents."""

from collections.abc import Callable
from functools import cache
from math import pi

import numpy as np
import torch
from jaxtyping import Float
from scipy.stats import norm
from torch import Tensor

Map = Callable[[Tensor], Tensor]


def plane(z: Float[Tensor, "n 2"]) -> Float[Tensor, "n 2"]:
    """The latents themselves."""
    return z


def strip(z: Float[Tensor, "n 2"]) -> Float[Tensor, "n 3"]:
    """A bent strip: speeds sqrt(1 + z_1^2) and 2, each of its own latent."""
    a, b = z.T
    return torch.stack([a, a**2 / 2, 2 * b], 1)


def helicoid(z: Float[Tensor, "n 2"]) -> Float[Tensor, "n 3"]:
    """A winding stair: injective, orthogonal columns of lengths 1 and sqrt(1 + z_1^2)."""
    a, b = z.T
    return torch.stack([a * b.cos(), a * b.sin(), b], 1)


def conformal_helicoid(z: Float[Tensor, "n 2"]) -> Float[Tensor, "n 3"]:
    """The same surface with columns of equal length cosh z_1."""
    a, b = z.T
    return torch.stack([a.sinh() * b.cos(), a.sinh() * b.sin(), b], 1)


def box_muller(z: Float[Tensor, "n 2"]) -> Float[Tensor, "n 2"]:
    """Radius from one latent, angle from the other: pushes N(0, I) to N(0, I)."""
    radius = (-2 * torch.special.log_ndtr(-z[:, 0])).sqrt()
    angle = 2 * pi * torch.special.ndtr(z[:, 1])
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1)


def polar(x: Float[Tensor, "n 2"]) -> Float[Tensor, "n 2"]:
    """The inverse of `box_muller`."""
    angle = torch.atan2(x[:, 1], x[:, 0]) % (2 * pi)
    uniform = torch.stack([-torch.expm1(-x.square().sum(1) / 2), angle / (2 * pi)], 1)
    return torch.special.ndtri(uniform)


def turned(degrees: float) -> Map:
    """A rotation of the latents."""
    a = torch.tensor(degrees).deg2rad()
    turn = torch.tensor([[a.cos(), a.sin()], [-a.sin(), a.cos()]]).double()
    return lambda z: z @ turn


SURFACES: dict[str, Map] = {
    "plane": plane,
    "strip": strip,
    "helicoid": helicoid,
    "conformal helicoid": conformal_helicoid,
    "polar plane": box_muller,
}


def arc_lengths(decode: Map, z: Float[Tensor, "n 2"]) -> Float[Tensor, "n 2"]:
    """Signed lengths of the curves of each latent, from where it is 0, as polygons."""
    lengths = []
    for axis in torch.eye(2).double():
        shares = torch.linspace(0, 1, 65).double()[:, None, None]
        path = z * (1 - axis) + shares * z * axis
        chords = decode(path.flatten(0, 1)).reshape(65, len(z), -1).diff(dim=0)
        lengths.append(chords.norm(dim=2).sum(0) * (z @ axis).sign())
    return torch.stack(lengths, 1)


@cache
def dependence(decode: Map) -> float:
    """Largest correlation between arc lengths, or their sizes, of the two latents.

    Latents lie on a grid of quantiles, so that what is independent has correlation 0 exactly.
    """
    quantiles = torch.from_numpy(norm.ppf((np.arange(32) + 0.5) / 32))
    a, b = arc_lengths(decode, torch.cartesian_prod(quantiles, quantiles)).T
    return float(torch.corrcoef(torch.stack([a, a.abs(), b, b.abs()]))[:2, 2:].abs().max())
