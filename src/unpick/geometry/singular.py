"""Singular directions of many tall matrices at once, from Gram matrices in double precision.

A Gram matrix squares the condition number: in single precision V is off by 1e-2 where that is 1e3,
and lost at 1e4; in double precision it is right to 2e-9 there (benchmarks/geometry.py).
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from unpick.arrays import Array, to_mask, to_tensor

BYTES = 2**24  # of doubles at a time


def checked(
    jacobians: Array, active: Array | None, name: str = "jacobians"
) -> tuple[Float[Tensor, "n p d"], Bool[Tensor, "d"] | None]:
    """The Jacobians and the mask as tensors; raise unless there are two columns to compare."""
    found = to_tensor(name, jacobians, "samples, outputs, latents")
    if found.shape[2] < 2:
        raise ValueError(f"{name} must have at least 2 columns, got shape {tuple(found.shape)}")
    if active is None:
        return found, None
    mask = to_mask("active", active, found.shape[2], found.device)
    if mask.sum() < 2:
        raise ValueError(f"at least 2 latents must be active, got {int(mask.sum())}")
    return found, mask


def checked_gram(jacobians: Array, active: Array | None) -> Float[Tensor, "n e e"]:
    """The Gram matrices; raise unless there are at least two columns to compare."""
    return gram(*checked(jacobians, active))


def gram(
    jacobians: Float[Tensor, "n p d"], active: Bool[Tensor, "d"] | None = None
) -> Float[Tensor, "n e e"]:
    """J^T J of each sample in double precision, perhaps of the active columns only."""
    if not jacobians.isfinite().all():
        raise ValueError("jacobians must be finite")
    rows = max(1, BYTES // (8 * jacobians[0].numel()))
    parts = []
    for part in jacobians.split(rows):
        columns = part.mT.double()  # (n, d, p): a column's entries side by side
        parts.append(columns @ columns.mT)
    whole = torch.cat(parts)
    return whole if active is None else whole[:, active][:, :, active]


def singular_directions(
    matrices: Float[Tensor, "n d d"],
) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n d d"]]:
    """Singular values, largest first, and right singular vectors V (columns), from Gram matrices.

    Example:
        >>> tall = torch.tensor([[[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]]])
        >>> values, v = singular_directions(gram(tall))
        >>> values.tolist(), v.abs().tolist()
        ([[2.0, 1.0]], [[[0.0, 1.0], [1.0, 0.0]]])
    """
    squares, v = torch.linalg.eigh(matrices)
    return squares.clamp(min=0).sqrt().flip(-1), v.flip(-1)
