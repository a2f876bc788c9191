r"""Searches for the rotation of a latent space that makes noise cost least, from any start.

The objective is f(V) = \sum_j \log \|M V e_j\|: what is left to choose once the precision is spent
well (Zietlow 2022, eq. 3.23). For two columns of squared lengths a, b and product g, turning their
plane by t changes f by g (1/a - 1/b) t. So V is stationary if and only if any two columns are
orthogonal or equally long. Where two are equally long and g is not 0, the curvature in their plane
is -4 g^2 / a^2: a maximum there, and a saddle or a maximum of f, never a minimum. All columns are
equally long at the global maximum; for diag(2, 1) that is a turn by 45 degrees.
"""

from dataclasses import dataclass
from itertools import combinations
from math import atan2, isfinite, sqrt

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.arrays import Array, to_tensor
from unpick.theory.columns import plane_turn
from unpick.theory.rotation import optimal_rotation, triangular_factors

ORTHOGONAL = 1e-12  # largest cosine of columns that count as orthogonal
PUSH = 1e-3  # radians of the turn that leaves a saddle
ROUNDING = 1e-14  # the objective may rise by as much in a step


@dataclass(frozen=True, eq=False)
class Descent:
    r"""The end of a search, and its path.

    Attributes:
        rotation: V at the end.
        objective: \sum_j \log \|M V e_j\| at the start and after each step.
        converged: Whether the columns are orthogonal. If not, there were too few steps, or the
            search stopped at a saddle because `push` is 0.
    """

    rotation: Float[Tensor, "d d"]
    objective: Float[Tensor, "_"]
    converged: bool


def givens_descent(
    matrix: Array,
    start: Array | None = None,
    *,
    sweeps: int = 40,
    tolerance: float = ORTHOGONAL,
) -> Descent:
    r"""Turn one plane of two latents after the other until all columns are orthogonal.

    A step makes two columns orthogonal, which takes \log(1 - \cos^2) / 2 off the objective and is
    the best turn of their plane: lemma 5 of Zietlow (2022) taken all the way, and the one-sided
    Jacobi method for singular values. Each turn is found exactly, by at most 45 degrees, so
    stationary points do not hold it up: two equally long columns are turned by 45 degrees.

    Args:
        matrix: M, with linearly independent columns.
        start: An orthogonal matrix; None is the identity.
        sweeps: Through all planes, at most.
        tolerance: Cosine up to which two columns count as orthogonal.

    Example:
        >>> path = givens_descent(torch.tensor([[4.0, 1.0], [-3.0, 1.0], [5.0, -1.0]])).objective
        >>> path.exp().square()
        tensor([150.0000, 134.0000], dtype=torch.float64)
    """
    columns, v = _start(matrix, start, tolerance)
    if sweeps < 1:
        raise ValueError(f"sweeps must be at least 1, got {sweeps}")
    path = [_objective(columns)]
    for _ in range(sweeps):
        turns = 0
        for i, j in combinations(range(len(v)), 2):
            x, y = columns[:, i], columns[:, j]
            a, b, g = float(x @ x), float(y @ y), float(x @ y)
            if abs(g) <= tolerance * sqrt(a * b):
                continue
            angle = atan2(2 * g if a >= b else -2 * g, abs(a - b)) / 2
            turn = torch.from_numpy(plane_turn(len(v), i, j, angle))
            columns, v = columns @ turn, v @ turn
            path.append(_objective(columns))
            turns += 1
        if turns == 0:
            break
    return Descent(v, torch.stack(path), turns == 0)


def riemannian_descent(
    matrix: Array,
    start: Array | None = None,
    *,
    steps: int = 500,
    push: float = PUSH,
    tolerance: float = ORTHOGONAL,
) -> Descent:
    r"""Follow the gradient on the orthogonal group, all planes at once, with a line search.

    The metric measures a turn of two columns' plane by its curvature, ((a - b)^2 + 4 g^2) / (a b):
    each plane then turns by \sin(4 t) / 4, t being the turn of `givens_descent`. In the flat
    metric the number of steps grows with the squared ratio of singular values. A skew matrix
    becomes a rotation by the Cayley transform.

    The gradient vanishes at saddles too. There the two columns with the largest cosine are equally
    long, and a push turns their plane, which lowers the objective by 2 \cos^2 push^2 whichever way
    it goes. Starts beside a saddle need no push, only more steps.

    Args:
        matrix: M, with linearly independent columns.
        start: An orthogonal matrix; None is the identity.
        steps: At most.
        push: In radians; 0 stays at a saddle.
        tolerance: Cosine up to which two columns count as orthogonal.
    """
    columns, v = _start(matrix, start, tolerance)
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got {steps}")
    if not isfinite(push):
        raise ValueError(f"push must be a finite angle, got {push}")
    path = [_objective(columns)]
    for _ in range(steps):
        cosine, angles, slope = _field(columns)
        if cosine.max() <= tolerance:
            break
        i, j = divmod(int(cosine.argmax()), len(v))
        x, y = columns[:, i], columns[:, j]
        level = (x @ x - y @ y).abs() < 2 * (x @ y).abs()  # near the maximum of their plane
        if level and angles.abs().max() <= tolerance:
            if push == 0:
                break
            turn = torch.from_numpy(plane_turn(len(v), i, j, push))
        else:
            length, turn = 1.0, _cayley(angles.T)
            while _objective(columns @ turn) > path[-1] + 1e-4 * length * slope + ROUNDING:
                length /= 2
                turn = _cayley(length * angles.T)
        columns, v = columns @ turn, v @ turn
        path.append(_objective(columns))
    return Descent(v, torch.stack(path), bool(_field(columns)[0].max() <= tolerance))


def _field(
    columns: Float[Tensor, "k d"],
) -> tuple[Float[Tensor, "d d"], Float[Tensor, "d d"], Float[Tensor, ""]]:
    """Absolute cosines of columns, the angles by which planes go downhill, and how steeply."""
    gram = columns.T @ columns
    squares = gram.diagonal()
    products = squares * squares[:, None]
    cosine = (gram / products.sqrt()).abs().fill_diagonal_(0)
    difference = squares[:, None] - squares
    metric = difference.square() + 4 * gram.square()
    angles = torch.where(metric > 0, gram * difference / metric, 0).fill_diagonal_(0)
    slope = -(angles.square() * metric / products).sum() / 2
    return cosine, angles, slope


def _objective(columns: Float[Tensor, "k d"]) -> Float[Tensor, ""]:
    return columns.norm(dim=0).log().sum()


def _cayley(skew: Float[Tensor, "d d"]) -> Float[Tensor, "d d"]:
    """(I - A/2)^-1 (I + A/2), orthogonal to the last digit; torch's exponential is not."""
    identity = torch.eye(len(skew)).to(skew)
    return torch.linalg.solve(identity - skew / 2, identity + skew / 2)


def _start(
    matrix: Array, start: Array | None, tolerance: float
) -> tuple[Float[Tensor, "k d"], Float[Tensor, "d d"]]:
    """R V and V, where M = Q R: lengths and angles are those of M V."""
    matrix = to_tensor("matrix", matrix, "outputs, latents").cpu()
    if not optimal_rotation(matrix).log_product.isfinite():
        raise ValueError(
            f"matrix must have linearly independent columns, got {tuple(matrix.shape)} with "
            "columns that are not"
        )
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance must lie in [0, 1), got {tolerance}")
    identity = torch.eye(matrix.shape[1], dtype=torch.float64)
    v = identity
    if start is not None:
        v = to_tensor("start", start, "latents, latents").cpu().double()
    if v.shape != identity.shape:
        raise ValueError(f"start must have shape {tuple(identity.shape)}, got {tuple(v.shape)}")
    off = float((v.T @ v - identity).abs().max())
    if not off < 1e-6:
        raise ValueError(f"start must be orthogonal, got V^T V that is {off:.2g} off the identity")
    return triangular_factors(matrix) @ v, v
