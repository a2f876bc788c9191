"""How far the latent axes are from the singular directions of a decoder's Jacobian."""

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from unpick.arrays import Array
from unpick.geometry.singular import checked_gram, singular_directions

NEAR = 0.05  # singular values closer than this leave their directions open


@dataclass(frozen=True, eq=False)
class DistanceToOrthogonality:
    """Distance of the right singular vectors to the nearest signed permutation.

    Attributes:
        mean: Over samples; 0 if the latent axes are the singular directions.
        per_sample: One value a Jacobian.
        chance: The expectation for a random rotation of the latent space.
        relative: mean / chance.
        degenerate: Share of samples with two neighbouring singular values within 5 % of each
            other, where V, and the distance with it, is arbitrary.
    """

    mean: float
    per_sample: Float[Tensor, "n"]
    chance: float
    relative: float
    degenerate: float


def distance_to_orthogonality(
    jacobians: Array, *, active: Array | None = None
) -> DistanceToOrthogonality:
    r"""DtO (Zietlow 2022, eq. 3.25; Rolinek et al. 2019, eq. 29).

    .. math:: \frac1N \sum_i \| V_i - P(V_i) \|_F, \qquad J_i = U_i \Sigma_i V_i^\top

    P(V) is the signed permutation nearest to V in the L1 sense. The papers find it by an integer
    program (`geometry.integer_program`); it is an assignment that collects the largest absolute
    entries.

    Args:
        jacobians: One a sample.
        active: Compare these latents only. All of them by default, as published; but a passive
            latent has a column of zeros, and two of those turn freely.

    Example:
        >>> tilted = torch.tensor([[[1.0, 0.0], [0.0, 2.0]], [[1.0, 1.0], [2.0, -2.0]]])
        >>> distance_to_orthogonality(tilted).per_sample
        tensor([0.0000, 1.0824], dtype=torch.float64)
    """
    return distance_of_directions(*singular_directions(checked_gram(jacobians, active)))


def distance_of_directions(
    values: Float[Tensor, "n d"], v: Float[Tensor, "n d d"]
) -> DistanceToOrthogonality:
    """DtO from singular values and right singular vectors."""
    distances = signed_permutation_distance(v)
    mean, chance = float(distances.mean()), haar_distance(v.shape[-1])
    close = (values[:, :-1] - values[:, 1:]) <= NEAR * values[:, :-1]
    degenerate = float(close.any(1).double().mean())
    return DistanceToOrthogonality(mean, distances, chance, mean / chance, degenerate)


def nearest_signed_permutation(v: Float[Tensor, "n d d"]) -> Float[Tensor, "n d d"]:
    """The signed permutation nearest to each matrix in the L1 sense.

    For entries within [-1, 1] putting a sign at (i, j) changes the distance by 1 - 2 |v_ij|, so
    the nearest is the assignment with the largest sum of absolute entries.

    Example:
        >>> nearest_signed_permutation(torch.tensor([[[0.6, -0.8], [0.8, 0.6]]]))
        tensor([[[ 0., -1.],
                 [ 1.,  0.]]])
    """
    columns = _assignment(v.abs())[..., None]
    signs = torch.where(v.gather(2, columns) < 0, -1.0, 1.0).to(v)
    return torch.zeros_like(v).scatter(2, columns, signs)


def signed_permutation_distance(v: Float[Tensor, "n d d"]) -> Float[Tensor, "n"]:
    """Frobenius distance of orthogonal matrices to their nearest signed permutation."""
    size = v.abs().double()
    collected = size.gather(2, _assignment(size)[..., None]).sum((1, 2))
    # |V - P|^2 = |V|^2 + |P|^2 - 2 <V, P>, and both norms are d.
    return (2 * v.shape[-1] - 2 * collected).clamp(min=0).sqrt()


def _assignment(size: Float[Tensor, "n d d"]) -> Tensor:
    """The column given to each row, each column once, with the largest sum."""
    best = size.argmax(2)
    # If the rows' largest entries lie in different columns nothing can be larger.
    contested = (best.sort(1).values.diff(dim=1) == 0).any(1)
    if contested.any():
        matrices = size[contested].cpu().numpy()
        found = np.stack([linear_sum_assignment(m, maximize=True)[1] for m in matrices])
        best[contested] = torch.from_numpy(found).to(best)
    return best


@cache
def haar_distance(d: int) -> float:
    """The mean distance of a random rotation of d dimensions, by simulation with a fixed seed.

    Its standard error is below 0.3 %. In two dimensions it is known: an angle uniform within 45
    degrees of an axis, at distance sqrt(8) sin(angle / 2).

    Example:
        >>> round(haar_distance(2), 3)
        0.548
    """
    if d < 2:
        raise ValueError(f"d must be at least 2, got {d}")
    if d == 2:
        return 16 * math.sqrt(2) / math.pi * (1 - math.cos(math.pi / 8))
    generator = torch.Generator().manual_seed(0)
    draws = min(20_000, 4_000_000 // d**2)  # the larger the space, the less the distance varies
    gaussian = torch.randn(draws, d, d, generator=generator, dtype=torch.float64)
    q, _ = torch.linalg.qr(gaussian)  # uniform up to signs, which do not change the distance
    return float(signed_permutation_distance(q).mean())
