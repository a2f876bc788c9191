"""Nine known decoders of two independent latents, measured (Allen 2024, section 3.2).

Densities are counted: how many of many draws fall close to a point. Dependence is estimated from
nearest neighbours, and compared with the same estimate for independent numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import pi, radians
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Float
from scipy.stats import multivariate_normal, norm, rankdata
from sklearn.feature_selection import mutual_info_regression
from torch import Tensor

from unpick.geometry import decoder_jacobians, ima_contrast
from unpick.papers.allen2024.surfaces import (
    Map,
    arc_lengths,
    box_muller,
    conformal_helicoid,
    helicoid,
    ripple,
    sphere,
    strip,
)
from unpick.study.study import Scale
from unpick.theory.columns import plane_turn
from unpick.theory.pushforward import push_forward

Array = np.ndarray
Points: TypeAlias = Float[Array, "k"]  # a value at each of `POINTS`
STRETCH = np.diag([1.6, 0.6])  # singular values of the linear decoders
LEFT, RIGHT = (plane_turn(2, 0, 1, radians(angle)) for angle in (25.0, 35.0))
ALIGNED, OBLIQUE = LEFT @ STRETCH, LEFT @ STRETCH @ RIGHT.T
SHEAR = np.array([[1.0, 0.6], [0.0, 1.0]])
# Where densities are counted.
POINTS = torch.tensor([[0.3, -0.2], [-0.8, 0.5], [1.0, 0.4], [0.2, 1.1]]).double()
DRAWS, STEPS, RADIUS = 1_000_000, 20_000, 0.1
SAMPLES, NEIGHBOURS = 4000, 30  # of the estimate of information; fewer neighbours scatter more
NULLS = 100  # estimates for independent numbers
ROUNDING = 0.01  # nats: by how much a density may change within the radius


@dataclass(frozen=True)
class KnownDecoder:
    """A decoder of two latents whose columns are known.

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


DECODERS: Mapping[str, KnownDecoder] = {
    "linear U S": KnownDecoder(linear(ALIGNED), True, True),
    "strip": KnownDecoder(strip, True, True),
    "helicoid": KnownDecoder(helicoid, True, False),
    "conformal helicoid": KnownDecoder(conformal_helicoid, True, False),
    "polar plane": KnownDecoder(box_muller, True, False),
    "sphere": KnownDecoder(sphere, True, False),
    "linear U S V'": KnownDecoder(linear(OBLIQUE), False, True),
    "ripple": KnownDecoder(ripple, False, True),
    "sheared helicoid": KnownDecoder(
        lambda z: helicoid(z @ torch.from_numpy(SHEAR).T), False, False
    ),
}


@dataclass(frozen=True, eq=False)
class Measured:
    """What was found for one decoder, in nats.

    Attributes:
        gap: What the product of densities along the curves of the latents lacks of the density,
            on average over the prior, by the formulas.
        contrast: The IMA contrast, on average over the prior.
        counted: Log of counted density over the formula's, at `POINTS`.
        products: Log of counted density over the product of densities counted along the curves.
        error: Of counting, one standard deviation, of both.
        local_gap: What the formulas say for `products`.
        information: Mutual information of lengths along the curves of the two latents.
    """

    gap: float
    contrast: float
    counted: Points
    products: Points
    error: Points
    local_gap: Points
    information: float

    def to_json(self) -> dict[str, Any]:
        """By field, arrays as lists."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {k: v.tolist() if isinstance(v, Array) else v for k, v in values.items()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Measured":
        """The inverse of `to_json`."""
        arrays = {k: np.array(v) for k, v in values.items() if isinstance(v, list)}
        return cls(**{**values, **arrays})


def measure_decoders(scale: Scale) -> dict[str, Any]:
    """All of `DECODERS`, as JSON; the same at every scale."""
    return {name: measure(name).to_json() for name in DECODERS}


def measure(name: str) -> Measured:
    """One of `DECODERS`."""
    decode = DECODERS[name].decode
    z = latents_of(name)
    whole, there = push_forward(decode, z), push_forward(decode, POINTS)
    count = count_by_area(decode)
    log_area = np.log(count / (DRAWS * pi * RADIUS**2))
    log_along = np.log(count_by_length(decode) / (STEPS * 2 * RADIUS)).sum(1)
    return Measured(
        gap=float((whole.log_density - whole.along_latents.sum(1)).mean()),
        contrast=ima_contrast(decoder_jacobians(decode, z)).mean,
        counted=log_area - there.log_density.numpy(),
        products=log_area - log_along,
        error=1 / np.sqrt(count),
        local_gap=(there.log_density - there.along_latents.sum(1)).numpy(),
        information=information(*lengths_of(name).T),
    )


def latents_of(name: str) -> Float[Tensor, "n 2"]:
    """The draws from the prior that a decoder is measured at."""
    return draw_latents(SAMPLES, seed=1 + list(DECODERS).index(name))


def lengths_of(name: str) -> Float[Array, "n 2"]:
    """Lengths along the curve of each latent, from where it is 0, at `latents_of` a decoder."""
    return arc_lengths(DECODERS[name].decode, latents_of(name)).numpy()


def measure_linear(scale: Scale) -> dict[str, float]:
    """The oblique linear decoder: information between components of W z, and its density.

    `singular`: components along left singular vectors; `turned`: along axes turned from them.
    `off normal` and `off product` are the largest differences in nats between the formula's
    density and scipy's, and between it and the product of normal densities along the former.
    """
    x = draw_latents(SAMPLES, seed=0).numpy() @ OBLIQUE.T
    z = draw_latents(100, seed=0)
    said = push_forward(linear(OBLIQUE), z).log_density.numpy()
    exact = multivariate_normal(cov=OBLIQUE @ OBLIQUE.T).logpdf(z.numpy() @ OBLIQUE.T)
    other = draw_latents(100, seed=1)
    spread = torch.from_numpy(np.linalg.svd(OBLIQUE)[1])
    v = other @ torch.from_numpy(RIGHT)
    product = torch.distributions.Normal(0, spread).log_prob(v * spread).sum(1)
    density = push_forward(linear(OBLIQUE), other).log_density
    return {
        "singular": information(*(x @ LEFT).T),
        "turned": information(*(x @ LEFT @ plane_turn(2, 0, 1, np.pi / 8)).T),
        "off normal": float(np.abs(said - exact).max()),
        "off product": float((density - product).abs().max()),
    }


def measure_independent(scale: Scale) -> dict[str, float]:
    """Estimated information of what is independent: the `latents`, and `chance`.

    The latter is the largest of a hundred estimates for independent numbers.
    """
    return {
        "latents": information(*draw_latents(SAMPLES, seed=0).numpy().T),
        "chance": largest_by_chance(),
    }


COMPUTED = {
    "decoders": measure_decoders,
    "linear": measure_linear,
    "independent": measure_independent,
}


def draw_latents(count: int, seed: int) -> Float[Tensor, "n 2"]:
    """Draw latents from the prior."""
    return torch.randn(count, 2, generator=torch.Generator().manual_seed(seed)).double()


def count_by_area(decode: Map) -> Float[Array, "k"]:
    """How many of `DRAWS` decoded draws fall within `RADIUS` of each decoded point."""
    image = decode(draw_latents(DRAWS, seed=0))
    near = [(image - centre).square().sum(1) < RADIUS**2 for centre in decode(POINTS)]
    return torch.stack(near).sum(1).double().numpy()


def count_by_length(decode: Map) -> Float[Array, "k 2"]:
    """The same along the curve of either latent, for `STEPS` equally likely values of it."""
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


def largest_by_chance() -> float:
    """The largest of `NULLS` estimates for independent numbers."""
    draw = np.random.default_rng(0)
    nulls = [information(*draw.normal(size=(2, SAMPLES))) for _ in range(NULLS)]
    return max(nulls)
