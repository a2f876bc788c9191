"""The matrix with orthonormal columns that is nearest to a given one."""

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.arrays import Array, to_tensor


def nearest_orthogonal(matrices: Array) -> Float[Tensor, "... p d"]:
    r"""Orthogonal polar factor (Bhowal et al. 2024, proposition 7, with its exponent put right).

    .. math:: \hat M = M (M^\top M)^{-1/2} = U V^\top
              = \operatorname{argmin}_{Q^\top Q = I} \|M - Q\|_F, \qquad M = U \Sigma V^\top

    The printed exponent is +1/2. Where a singular value is 0 its direction can go anywhere: many
    matrices are equally near, and none is returned. Near such a matrix the answer turns fast, by
    up to the change in M over its smallest singular value.

    Args:
        matrices: Local decoders, Jacobians or other matrices with at least as many rows as
            columns. The computation is in double precision.

    Example:
        >>> nearest_orthogonal(torch.tensor([[3.0, 1.0], [0.0, 3.0], [0.0, 0.0]]))
        tensor([[ 0.9864,  0.1644],
                [-0.1644,  0.9864],
                [ 0.0000,  0.0000]])
    """
    matrices = to_tensor("matrices", matrices, "..., rows, columns")
    if matrices.shape[-1] > matrices.shape[-2]:
        raise ValueError(
            "matrices must have shape (..., rows, columns) with at least as many rows as columns, "
            f"got {tuple(matrices.shape)}"
        )
    u, values, vh = torch.linalg.svd(matrices.double(), full_matrices=False)
    rounding = matrices.shape[-2] * torch.finfo(matrices.dtype).eps * values[..., :1]
    zero = (values <= rounding).any(-1)
    if zero.any():
        raise ValueError(
            "matrices must have linearly independent columns, or the nearest orthogonal matrix is "
            f"not unique; {int(zero.sum())} of {zero.numel()} have not. Leave passive latents out"
        )
    return (u @ vh).to(matrices.dtype)
