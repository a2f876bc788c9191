"""Decoders of two latents with two size parameters, on which the paper's claims are tried.

All in `SURFACES` have orthogonal columns; those of `ripple` are oblique.
"""

from collections.abc import Callable
from math import pi, radians

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.theory.columns import plane_turn

Map = Callable[[Tensor], Tensor]
Latents = Float[Tensor, "n 2"]


def plane(z: Latents, a: float = 1.0, b: float = 1.0) -> Float[Tensor, "n 2"]:
    """The latents themselves, stretched."""
    return z * torch.tensor([a, b]).to(z)


def strip(z: Latents, a: float = 1.0, b: float = 1.0) -> Float[Tensor, "n 3"]:
    """A bent strip: speeds sqrt(1 + (a z_1)^2) and 2 b, each of its own latent."""
    t, u = z.T
    return torch.stack([t, a * t**2 / 2, 2 * b * u], 1)


def helicoid(z: Latents, a: float = 1.0, b: float = 1.0) -> Float[Tensor, "n 3"]:
    """A winding stair: columns of lengths a and sqrt((a z_1)^2 + b^2)."""
    t, u = z.T
    return torch.stack([a * t * u.cos(), a * t * u.sin(), b * u], 1)


def conformal_helicoid(z: Latents, a: float = 1.0, b: float = 1.0) -> Float[Tensor, "n 3"]:
    """The same surface with columns of equal length a b cosh(a z_1)."""
    t, u = a * z.T
    return b * torch.stack([t.sinh() * u.cos(), t.sinh() * u.sin(), u], 1)


def sphere(z: Latents, a: float = 1.0, b: float = 1.0) -> Float[Tensor, "n 3"]:
    """A sphere without its pole (stereographic): columns of equal length 2 a b / (1 + |a z|^2)."""
    t, u = a * z.T
    square = t**2 + u**2
    return b * torch.stack([2 * t, 2 * u, square - 1], 1) / (1 + square)[:, None]


def box_muller(z: Latents, a: float = 1.0, b: float = 1.0) -> Float[Tensor, "n 2"]:
    """Radius from one latent, angle from the other: pushes N(0, I) to N(0, I) if a = b = 1."""
    radius = b * (-2 * torch.special.log_ndtr(-z[:, 0])).sqrt()
    angle = 2 * pi * a * torch.special.ndtr(z[:, 1])
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1)


def ripple(z: Latents, a: float = 1.0, b: float = 1.0) -> Float[Tensor, "n 2"]:
    """A sheared and rippled plane, oblique columns: (1, a cos(z_1) / 2) and (b / 2, 1).

    Injective if |a b| < 4. Each column's length depends on its own latent alone.
    """
    t, u = z.T
    return torch.stack([t + b * u / 2, u + a * t.sin() / 2], 1)


def polar(x: Latents) -> Float[Tensor, "n 2"]:
    """The inverse of `box_muller`."""
    angle = torch.atan2(x[:, 1], x[:, 0]) % (2 * pi)
    uniform = torch.stack([-torch.expm1(-x.square().sum(1) / 2), angle / (2 * pi)], 1)
    return torch.special.ndtri(uniform)


def turn_latents(degrees: float) -> Map:
    """A rotation of the latents."""
    turn = torch.from_numpy(plane_turn(2, 0, 1, radians(degrees)))
    return lambda z: z @ turn


SURFACES: dict[str, Callable[..., Tensor]] = {
    "plane": plane,
    "strip": strip,
    "helicoid": helicoid,
    "conformal helicoid": conformal_helicoid,
    "sphere": sphere,
    "polar plane": box_muller,
}


def arc_lengths(decode: Map, z: Latents) -> Float[Tensor, "n 2"]:
    """Signed length along the curve of each latent, from where it is 0, by 64 chords."""
    lengths = []
    for axis in torch.eye(2).double():
        shares = torch.linspace(0, 1, 65).double()[:, None, None]
        path = z * (1 - axis) + shares * z * axis
        chords = decode(path.flatten(0, 1)).reshape(65, len(z), -1).diff(dim=0)
        lengths.append(chords.norm(dim=2).sum(0) * (z @ axis).sign())
    return torch.stack(lengths, 1)
