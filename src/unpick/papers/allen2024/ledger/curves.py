"""Curves along right singular vectors (Allen 2024, section 3.2.3)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from math import pi

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from unpick.papers.allen2024.surfaces import Map, helicoid, ripple
from unpick.study.ledger.entry import Correction, Entry, Evidence, Mutation

Array = np.ndarray
Points = Float[Array, "n 2"]
Directions = Callable[[Float[Array, "n p 2"]], Float[Array, "n 2 2"]]  # the columns


@dataclass(frozen=True)
class SingularCurves:
    """A claim about curves through the latent space.

    Attributes:
        directions: Which way two curves go, from the Jacobian at a point.
        continuous: Whether directions can be continued around a disc, from the smallest
            difference of singular values in it.
        multiply: Whether densities along the curves multiply to the density of the prior, by the
            name of a decoder.
    """

    directions: Directions
    continuous: Callable[[float], bool]
    multiply: Callable[[str], bool]


def swirl(z: Float[Tensor, "n 2"]) -> Float[Tensor, "n 2"]:
    """The identity and a contraction, so it is injective; singular values are equal at 0."""
    t, u = z.T
    return torch.stack([t + (u.cos() - t.cos()) / 2, u - t.sin() * u.sin() / 2], 1)


DECODERS: dict[str, Map] = {
    "linear": lambda z: z @ torch.tensor([[1.2, -0.5], [0.4, 0.9], [-0.7, 0.6]]).to(z).T,
    "orthogonal columns": partial(helicoid, b=1.3),
    "ripple": ripple,
    "swirl": swirl,
}
STARTS = np.array([[0.7, 0.4], [-0.5, 0.9], [0.9, -0.6]])
STEP, LENGTH = 0.1, 8.0  # of a curve
CENTRES, RADIUS = ((0.0, 0.0), (0.8, 0.5)), 0.3  # of discs


def _jacobians(decode: Map, z: Points, step: float = 1e-5) -> Float[Array, "n p 2"]:
    moved = [
        decode(torch.from_numpy(z + a)) - decode(torch.from_numpy(z - a)) for a in step * np.eye(2)
    ]
    return np.stack([each.numpy() for each in moved], 2) / (2 * step)


def _crossing_violation(decode: Map, directions: Directions) -> float:
    """How far images of small steps are from orthogonal, and their lengths from the area."""
    jacobians, size = _jacobians(decode, STARTS), 1e-4
    steps = size * directions(jacobians)
    worst = 0.0
    for at, pair, jacobian in zip(STARTS, steps, jacobians, strict=True):
        ends = [decode(torch.from_numpy(at + sign * pair.T)).numpy() for sign in (1, -1)]
        one, two = (ends[0] - ends[1]) / (2 * size)
        lengths = np.linalg.norm(one) * np.linalg.norm(two)
        area = np.sqrt(np.linalg.det(jacobian.T @ jacobian))
        worst = max(worst, abs(one @ two) / lengths, abs(lengths / area - 1))
    return float(worst)


def _follow(
    decode: Map, directions: Directions, z: Points, heading: Points, count: int
) -> Float[Array, "steps n 2"]:
    """Go from points along the direction that is nearest to the last heading (midpoint rule)."""

    def turn(z: Points, heading: Points) -> Points:
        found = directions(_jacobians(decode, z))
        along = np.einsum("nk,nkj->nj", heading, found)
        best = np.abs(along).argmax(1)
        rows = np.arange(len(z))
        return found[rows, :, best] * np.sign(along[rows, best])[:, None]

    path = [z]
    for _ in range(count):
        half = path[-1] + STEP / 2 * turn(path[-1], heading)
        heading = turn(half, heading)
        path.append(path[-1] + STEP * heading)
    return np.array(path)


@cache
def _product_violation(decode: Map, directions: Directions) -> float:
    """How far densities along both curves are from multiplying to the prior's density.

    The density along a curve is the prior's, divided by its integral over the curve's length.
    """
    heading = directions(_jacobians(decode, STARTS)).transpose(2, 0, 1)  # curve, point
    ways = np.stack([heading, -heading]).reshape(-1, 2)
    starts = np.tile(STARTS, (4, 1))
    path = _follow(decode, directions, starts, ways, round(LENGTH / STEP))
    prior = np.exp(-np.square(path).sum(2) / 2)
    mass = STEP * (prior.sum(0) - prior[0] / 2).reshape(2, 2, -1).sum(0)  # both ways together
    log_density = -np.square(STARTS).sum(1) / 2
    log_product = (log_density - np.log(mass)).sum(0)
    return float(np.abs(log_product - (log_density - np.log(2 * pi))).max())


@cache
def _around(decode: Map, centre: tuple[float, float]) -> tuple[float, bool]:
    """The least difference of singular values in a disc, and whether v_1 comes back as it was."""
    angles = np.linspace(0, 2 * pi, 201)
    rim = np.stack([np.cos(angles), np.sin(angles)], 1)
    shares = np.linspace(0, 1, 11)[:, None, None]
    disc = np.array(centre) + RADIUS * (shares * rim).reshape(-1, 2)
    values = np.linalg.svd(_jacobians(decode, disc), compute_uv=False)
    gap = float((values[:, 0] - values[:, 1]).min())
    v = np.linalg.svd(_jacobians(decode, disc[-201:]))[2][:, 0]
    signs = np.sign(np.einsum("nk,nk->n", v[1:], v[:-1]))
    return gap, bool(signs.prod() * (v[0] @ v[-1]) > 0)


def _curves_check(claim: SingularCurves) -> Evidence:
    """Small steps, discs that are gone around, and densities along curves."""
    said = []
    crossing = max(_crossing_violation(each, claim.directions) for each in DECODERS.values())
    said.append(f"images of small steps off right angles or the area by {crossing:.0e}")
    discs = [(name, at, *_around(each, at)) for name, each in DECODERS.items() for at in CENTRES]
    claimed = [disc for disc in discs if claim.continuous(disc[2])]
    broken = [f"{name} about {at}" for name, at, _, back in claimed if not back]
    said.append(
        f"$v_1$ comes back reversed around {len(broken)} of {len(claimed)} discs"
        + (f" ({'; '.join(broken)})" if broken else "")
    )
    off = {name: _product_violation(each, claim.directions) for name, each in DECODERS.items()}
    said.append(
        "log of the product of densities along both curves off by "
        + ", ".join(f"{size:.1g} ({name})" for name, size in off.items())
    )
    holds = crossing < 1e-6 and bool(claimed) and not broken
    holds = holds and all((size < 1e-6) == claim.multiply(name) for name, size in off.items())
    return Evidence(holds, f"{len(DECODERS)} decoders: {'; '.join(said)}")


def _right_vectors(jacobians: Float[Array, "n p 2"]) -> Float[Array, "n 2 2"]:
    return np.linalg.svd(jacobians, full_matrices=False)[2].swapaxes(1, 2)


def _constant(name: str) -> bool:
    """Whether right singular vectors are the same at every point."""
    return name in ("linear", "orthogonal columns")


CURVES: Entry[SingularCurves] = Entry(
    id="A-S3.2.3",
    source="Allen (2024), section 3.2.3",
    title="Curves along right singular vectors",
    statement="Right singular vectors of the Jacobian trace continuous curves in latent space. "
    "Their images cross at right angles, and lengths along them multiply to areas. Where the "
    "vectors turn, densities along these curves need not multiply to the prior's density; if "
    "they are constant (linear decoders, orthogonal columns) they do.",
    formula=r"J v_i = s_i u_i, \quad p(f(z)) = p(z) \prod_i s_i^{-1}",
    assumptions="$z \\sim N(0, I)$; $f$ injective and differentiable (A#1, A#2).",
    printed=SingularCurves(_right_vectors, lambda gap: True, _constant),
    check=_curves_check,
    mutation=Mutation(
        "curves of the latents themselves",
        SingularCurves(
            lambda jacobians: np.broadcast_to(np.eye(2), (len(jacobians), 2, 2)),
            lambda gap: gap > 1e-3,
            _constant,
        ),
    ),
    correction=Correction(
        "All of it holds where singular values are distinct. An SVD is not continuous where two "
        "of them are equal, and around such a point $v_1$ can come back reversed.",
        r"s_1(z) \neq s_2(z)",
        SingularCurves(_right_vectors, lambda gap: gap > 1e-3, _constant),
        changes="claim",
        charitable="Distinct singular values are assumed in corollary 1.1; with the same "
        "assumption it holds.",
    ),
    remark="The decoder $(z_1 + \\frac{1}{2} (\\cos z_2 - \\cos z_1),\\ z_2 - \\frac{1}{2} "
    "\\sin z_1 \\sin z_2)$ is injective and smooth, with equal singular values at 0. Going around "
    "0 turns its singular vectors by half a turn, so no choice of them is continuous. That $p(x)$ "
    "factorises over the image curves is read as the formula: the factors $s_i^{-1}$ are those of "
    "the curves, $p(z)$ need not split. What the section concludes of independent curves rests on "
    "corollary 2.1 (A-C2.1).",
)
ENTRIES = (CURVES,)
