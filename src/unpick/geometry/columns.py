"""Angles between the columns of a decoder's Jacobian."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.arrays import Array
from unpick.geometry.singular import checked, checked_gram, gram


@dataclass(frozen=True, eq=False)
class ColumnCosines:
    """Cosines of the angles between columns.

    Attributes:
        mean: Of the absolute cosine over pairs and samples; 0 if columns are orthogonal.
        matrix: Of each pair, the absolute cosine averaged over samples; its diagonal is 1.
        per_sample: Averaged over pairs.
    """

    mean: float
    matrix: Float[Tensor, "d d"]
    per_sample: Float[Tensor, "n"]


@dataclass(frozen=True, eq=False)
class IMAContrast:
    """How much volume the columns lose by not being orthogonal.

    Attributes:
        mean: Over samples; 0 if and only if the columns are orthogonal everywhere.
        per_sample: The local contrast.
        of_mean_jacobian: The contrast of the averaged Jacobian, which Reizinger et al.'s released
            code logs. It can vanish where the mean does not.
    """

    mean: float
    per_sample: Float[Tensor, "n"]
    of_mean_jacobian: float


def column_cosines(jacobians: Array, *, active: Array | None = None) -> ColumnCosines:
    """Absolute cosines between the columns; a column of zeros is orthogonal to all others.

    Example:
        >>> column_cosines(torch.tensor([[[1.0, 3.0], [0.0, 4.0]]])).mean
        0.6000000000000001
    """
    return cosines_of_gram(checked_gram(jacobians, active))


def cosines_of_gram(matrices: Float[Tensor, "n d d"]) -> ColumnCosines:
    """The same from Gram matrices J^T J."""
    cosines = normalised_gram(matrices).abs()
    d = cosines.shape[-1]
    per_sample = (cosines.sum((1, 2)) - d) / (d * (d - 1))
    return ColumnCosines(float(per_sample.mean()), cosines.mean(0), per_sample)


def ima_contrast(jacobians: Array, *, active: Array | None = None) -> IMAContrast:
    r"""Contrast of independent mechanism analysis (Gresele et al. 2021; Reizinger et al. 2022).

    .. math:: c(J) = \sum_k \log \|J_k\| - \tfrac12 \log\det J^\top J

    in nats: the logarithm of what the column norms' product exceeds the volume by (Hadamard's
    inequality). Infinite if columns are linearly dependent; a column of zeros is left out.

    Example:
        >>> round(ima_contrast(torch.tensor([[[1.0, 3.0], [0.0, 4.0]]])).mean, 3)  # -log(sin)
        0.223
    """
    columns, mask = checked(jacobians, active)
    per_sample = contrast_of_gram(gram(columns, mask))
    averaged = contrast_of_gram(gram(columns.mean(0, keepdim=True, dtype=torch.float64), mask))
    return IMAContrast(float(per_sample.mean()), per_sample, float(averaged))


def contrast_of_gram(matrices: Float[Tensor, "n d d"]) -> Float[Tensor, "n"]:
    """The local contrast of each Gram matrix J^T J."""
    # Of unit columns: the determinant then neither over- nor underflows.
    return (-0.5 * torch.linalg.slogdet(normalised_gram(matrices)).logabsdet).clamp(min=0)


def normalised_gram(matrices: Float[Tensor, "n d d"]) -> Float[Tensor, "n d d"]:
    """Cosines between the columns, from Gram matrices; 1 on the diagonal."""
    norms = matrices.diagonal(dim1=1, dim2=2).sqrt()
    unit = torch.where(norms > 0, 1 / norms, 0)
    cosines = (matrices * unit[:, :, None] * unit[:, None, :]).clamp(-1, 1)
    return cosines.diagonal_scatter(torch.ones_like(norms), dim1=1, dim2=2)
