"""How far a decoder's Jacobian is from having orthogonal columns."""

from dataclasses import dataclass
from functools import cache

import torch
from jaxtyping import Float
from scipy.optimize import linear_sum_assignment
from torch import Tensor


@dataclass(frozen=True, eq=False)
class DistanceToOrthogonality:
    """Distance of the right singular vectors to the nearest signed permutation.

    Attributes:
        mean: Over samples; 0 if the latent axes are the singular directions.
        per_sample: One value a Jacobian.
        chance: The expectation for a random rotation of the latent space.
        relative: mean / chance.
    """

    mean: float
    per_sample: Float[Tensor, "n"]
    chance: float
    relative: float


def distance_to_orthogonality(jacobians: Float[Tensor, "n p d"]) -> DistanceToOrthogonality:
    r"""DtO (Zietlow 2022, eq. 3.25; Rolinek et al. 2019, eq. 29).

    .. math:: \frac1N \sum_i \| V_i - P(V_i) \|_F, \qquad J_i = U_i \Sigma_i V_i^\top

    P(V) is the signed permutation nearest to V in the L1 sense: an assignment that collects
    the largest absolute entries. V comes from the Gram matrix in double precision. Where singular
    values coincide V is arbitrary, and so is the distance.

    Example:
        >>> tilted = torch.tensor([[[1.0, 0.0], [0.0, 2.0]], [[1.0, 1.0], [2.0, -2.0]]])
        >>> distance_to_orthogonality(tilted).per_sample
        tensor([0.0000, 1.0824], dtype=torch.float64)
    """
    n, _, d = jacobians.shape
    if d < 2:
        raise ValueError(f"jacobians must have at least 2 columns, got shape {(n, _, d)}")
    if not jacobians.isfinite().all():
        raise ValueError("jacobians must be finite")
    gram = torch.einsum("npi,npj->nij", jacobians.double(), jacobians.double())
    distances = signed_permutation_distance(torch.linalg.eigh(gram).eigenvectors)
    mean, chance = float(distances.mean()), haar_distance(d)
    return DistanceToOrthogonality(mean, distances, chance, mean / chance)


def signed_permutation_distance(v: Float[Tensor, "n d d"]) -> Float[Tensor, "n"]:
    """Frobenius distance of orthogonal matrices to their nearest signed permutation."""
    size = v.abs().double()
    collected = [m[linear_sum_assignment(m, maximize=True)].sum() for m in size.numpy()]
    # |V - P|^2 = |V|^2 + |P|^2 - 2 <V, P>, and both norms are d.
    squares = 2 * v.shape[-1] - 2 * torch.tensor(collected)
    return squares.clamp(min=0).sqrt()


@cache
def haar_distance(d: int, draws: int = 20_000) -> float:
    """The mean distance of a random rotation of d dimensions, by simulation with a fixed seed.

    Example:
        >>> round(haar_distance(2), 2)  # 2 sqrt(2) (8 / pi) (1 - cos(pi / 8)) = 0.548
        0.55
    """
    generator = torch.Generator().manual_seed(0)
    gaussian = torch.randn(draws, d, d, generator=generator, dtype=torch.float64)
    q, _ = torch.linalg.qr(gaussian)  # uniform up to signs, which do not change the distance
    return float(signed_permutation_distance(q).mean())
