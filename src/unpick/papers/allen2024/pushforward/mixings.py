"""What decoders make of independent latents, counted and estimated (Allen 2024, section 3.2).

Densities are counted: how many of many draws fall close to a point. Dependence is estimated from
neighbours, beside what the same estimate makes of independent numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import pi, radians

import numpy as np
import torch
from jaxtyping import Float
from scipy.stats import norm, rankdata
from sklearn.feature_selection import mutual_info_regression
from torch import Tensor

from unpick.geometry import decoder_jacobians, ima_contrast
from unpick.theory.columns import plane_turn
from unpick.theory.pushforward import push_forward
from unpick.theory.surfaces import (
    Map,
    arc_lengths,
    box_muller,
    conformal_helicoid,
    helicoid,
    ripple,
    sphere,
    strip,
)

Array = np.ndarray
STRETCH = np.diag([1.6, 0.6])  # singular values of the linear decoders
LEFT, RIGHT = (plane_turn(2, 0, 1, radians(angle)) for angle in (25.0, 35.0))
ALIGNED, OBLIQUE = LEFT @ STRETCH, LEFT @ STRETCH @ RIGHT.T
SHEAR = np.array([[1.0, 0.6], [0.0, 1.0]])
# Where densities are counted.
POINTS = torch.tensor([[0.3, -0.2], [-0.8, 0.5], [1.0, 0.4], [0.2, 1.1]]).double()
DRAWS, STEPS, RADIUS = 1_000_000, 20_000, 0.1
SAMPLES, NEIGHBOURS = 4000, 30  # of the estimate of information; few neighbours scatter more
NULLS = 100
ROUNDING = 0.01  # nats: by how much a density may change within the radius


@dataclass(frozen=True)
class Mixing:
    """A decoder of two latents.

    Attributes:
        decode: From latents to observations.
        orthogonal: Whether the columns of its Jacobian are, everywhere.
        separate: Whether each column's length depends on its own latent alone.
    """

    decode: Map
    orthogonal: bool
    separate: bool


def linear(weights: Float[Array, "p d"]) -> Map:
    """Multiplies by a matrix."""
    matrix = torch.from_numpy(weights)
    return lambda z: z @ matrix.T


MIXINGS: Mapping[str, Mixing] = {
    "linear U S": Mixing(linear(ALIGNED), True, True),
    "strip": Mixing(strip, True, True),
    "helicoid": Mixing(helicoid, True, False),
    "conformal helicoid": Mixing(conformal_helicoid, True, False),
    "polar plane": Mixing(box_muller, True, False),
    "sphere": Mixing(sphere, True, False),
    "linear U S V'": Mixing(linear(OBLIQUE), False, True),
    "ripple": Mixing(ripple, False, True),
    "sheared helicoid": Mixing(lambda z: helicoid(z @ torch.from_numpy(SHEAR).T), False, False),
}


@dataclass(frozen=True, eq=False)
class Measured:
    """What was found of one mixing, in nats.

    Attributes:
        gap: What the product of densities along the curves of the latents lacks of the density,
            on average over the prior, by the formulas.
        contrast: The IMA contrast, on average over the prior.
        counted: Log of counted density over the formula's, at `POINTS`.
        products: Log of counted density over the product of densities counted along the curves.
        error: Of counting, one standard deviation, of both.
        local_gap: What the formulas say for `products`.
        lengths: Along the curve of each latent, from where it is 0, of draws from the prior.
        information: Mutual information of those lengths.
    """

    gap: float
    contrast: float
    counted: Float[Array, "k"]
    products: Float[Array, "k"]
    error: Float[Array, "k"]
    local_gap: Float[Array, "k"]
    lengths: Float[Array, "n 2"]
    information: float


@cache
def measured(name: str) -> Measured:
    """One of `MIXINGS`, by name."""
    decode = MIXINGS[name].decode
    z = draws(SAMPLES, seed=1 + list(MIXINGS).index(name))
    whole, there = push_forward(decode, z), push_forward(decode, POINTS)
    count = by_area(decode)
    log_area = np.log(count / (DRAWS * pi * RADIUS**2))
    log_along = np.log(by_length(decode) / (STEPS * 2 * RADIUS)).sum(1)
    lengths = arc_lengths(decode, z).numpy()
    return Measured(
        gap=float((whole.log_density - whole.along_latents.sum(1)).mean()),
        contrast=ima_contrast(decoder_jacobians(decode, z)).mean,
        counted=log_area - there.log_density.numpy(),
        products=log_area - log_along,
        error=1 / np.sqrt(count),
        local_gap=(there.log_density - there.along_latents.sum(1)).numpy(),
        lengths=lengths,
        information=information(*lengths.T),
    )


def draws(count: int, seed: int) -> Float[Tensor, "n 2"]:
    """From the prior."""
    return torch.randn(count, 2, generator=torch.Generator().manual_seed(seed)).double()


def by_area(decode: Map) -> Float[Array, "k"]:
    """How many of `DRAWS` decoded draws fall within `RADIUS` of each of `POINTS`, decoded."""
    image = decode(draws(DRAWS, seed=0))
    near = [(image - centre).square().sum(1) < RADIUS**2 for centre in decode(POINTS)]
    return torch.stack(near).sum(1).double().numpy()


def by_length(decode: Map) -> Float[Array, "k 2"]:
    """The same along the curve of either latent, of `STEPS` equally likely values of it."""
    even = torch.from_numpy(norm.ppf((np.arange(STEPS) + 0.5) / STEPS))[:, None]
    near = []
    for point in POINTS:
        for axis in torch.eye(2).double():
            curve = decode(even * axis + point * (1 - axis))
            near.append((curve - decode(point[None])).square().sum(1) < RADIUS**2)
    return torch.stack(near).sum(1).double().numpy().reshape(-1, 2)


def information(a: Float[Array, "n"], b: Float[Array, "n"]) -> float:
    """Mutual information in nats, by nearest neighbours (Kraskov et al. 2004), at least 0.

    Of the normal scores of both: monotone changes of either do not change the information, and
    independent numbers then give the same distribution of estimates whatever theirs is.

    Example:
        >>> a = np.random.default_rng(0).normal(size=500)
        >>> information(a, a**3) == information(a, a) > 2
        True
    """
    left, right = (norm.ppf((rankdata(v) - 0.5) / len(v)) for v in (a, b))
    found = mutual_info_regression(left[:, None], right, n_neighbors=NEIGHBOURS, random_state=0)
    return float(found[0])


@cache
def chance() -> float:
    """The largest of a hundred estimates for independent numbers."""
    draw = np.random.default_rng(0)
    nulls = [information(*draw.normal(size=(2, SAMPLES))) for _ in range(NULLS)]
    return max(nulls)
