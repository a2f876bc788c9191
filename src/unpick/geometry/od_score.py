"""The orthogonality deviation score (OD-Score) of matrices, local decoders or Jacobians."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.arrays import Array
from unpick.geometry.orthogonality import nearest_signed_permutation
from unpick.geometry.singular import checked, gram, singular_directions
from unpick.names import unknown_choice

Variant = Literal["matched", "paper", "released"]
CHUNK = 2**20  # entries that are worked on at once


@dataclass(frozen=True, eq=False)
class ODScore:
    """How far the SVD of a matrix is from that of a matrix with orthogonal columns.

    Attributes:
        mean: Over samples; 0 if all columns are orthogonal (not so for `released`).
        per_sample: The mean of a sample's three parts.
        parts: The distances of U, Sigma and V to their targets.
    """

    mean: float
    per_sample: Float[Tensor, "n"]
    parts: Float[Tensor, "n 3"]


def od_score(
    matrices: Array,
    *,
    variant: Variant = "matched",
    active: Array | None = None,
) -> ODScore:
    r"""OD-Score before it is normalised (Bhowal et al. 2024, section 4.4 and A.8.3).

    .. math:: \tfrac13 \left( \|U - \hat U\|_F^2 + \|\Sigma - \hat\Sigma\|_F^2
              + \|V - \hat V\|_F^2 \right), \qquad M = U \Sigma V^\top

    The targets are the polar factor M (M^T M)^(-1/2), the norms of M's columns, and the identity
    (lemma 4; proposition 7 prints the exponent as +1/2). With the thin SVD the polar factor is
    U V^T, so the parts of U and V are one number, and the Gram matrix of M is all one needs.

    An SVD leaves the order and the signs of its vectors open, and the lemma's V = I holds for
    one choice only. `matched` takes that choice: the signed permutation that brings V nearest
    to I. `paper` keeps the order of falling singular values, with signs that make V's diagonal
    positive. `released` is the paper's code: norms are not squared; M R stands for the polar
    factor, with R the element-wise square root of (M^T M)^-1, negative entries set to 0; the
    singular values of M R are the target of Sigma; and U is the full one, with LAPACK's order,
    signs and null space. Orthogonal columns do not score 0 there.

    The part of Sigma has the unit of M squared: compare models by `normalised_od_score`. Where
    singular values coincide V is arbitrary, and so is the score.

    Args:
        matrices: Local decoders or Jacobians, one a sample.
        variant: See above.
        active: Compare these latents only. All of them by default, as published; but passive
            latents have columns of nearly nothing, and those turn freely.

    Example:
        >>> columns = torch.tensor([[0.0, 3.0], [1.0, 0.0], [0.0, 4.0]])
        >>> od_score(columns[None]).mean  # orthogonal columns, the longer one second
        0.0
        >>> od_score(columns[None], variant="paper").parts
        tensor([[ 4., 32.,  4.]], dtype=torch.float64)
    """
    matrices, mask = checked(matrices, active, "matrices")
    if mask is not None:
        matrices = matrices[:, :, mask]
    _, p, d = matrices.shape
    if p < d:
        raise ValueError(
            "matrices must be (samples, outputs, latents) with at least "
            f"as many outputs as latents, got {tuple(matrices.shape)}"
        )
    measures = {"matched": _matched, "paper": _paper, "released": _released}
    if variant not in measures:
        raise unknown_choice("variant", variant, Variant)
    chunks = matrices.split(max(1, CHUNK // (p * d)))
    parts = torch.cat([measures[variant](chunk) for chunk in chunks])
    per_sample = parts.mean(1)
    return ODScore(float(per_sample.mean()), per_sample, parts)


def normalised_od_score(scores: Mapping[str, ODScore]) -> dict[str, ODScore]:
    """OD-Score as published: every part of a sample divided by its largest among the models.

    The i-th matrix of each model must belong to the same observation. A score tells how a model
    compares with the others, 1 at most; another set of models gives other numbers. A part that is
    0 for all models stays 0.

    Example:
        >>> straight = torch.tensor([[[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]]])
        >>> tilted = torch.tensor([[[3.0, 1.0], [0.0, 4.0], [0.0, 0.0]]])
        >>> scores = {"vae": od_score(straight), "ae": od_score(tilted)}
        >>> {name: score.mean for name, score in normalised_od_score(scores).items()}
        {'vae': 0.0, 'ae': 1.0}
    """
    sizes = {name: len(score.parts) for name, score in scores.items()}
    if len(set(sizes.values())) != 1:
        raise ValueError(f"scores must have one number of samples for all models, got {sizes}")
    largest = torch.stack([score.parts for score in scores.values()]).amax(0)
    divisor = torch.where(largest > 0, largest, 1.0)
    shares = {name: score.parts / divisor for name, score in scores.items()}
    return {
        name: ODScore(float(parts.mean()), parts.mean(1), parts) for name, parts in shares.items()
    }


def _spectrum(
    matrices: Float[Tensor, "n p d"],
) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n d d"], Float[Tensor, "n d"]]:
    """Singular values, largest first, right singular vectors, and the norms of the columns."""
    products = gram(matrices)
    norms = products.diagonal(dim1=1, dim2=2).sqrt()
    # Where norms are equal, a cosine that is nothing but rounding would turn V by any angle.
    rounding = 10 * torch.finfo(matrices.dtype).eps * norms[:, :, None] * norms[:, None, :]
    values, v = singular_directions(torch.where(products.abs() > rounding, products, 0.0))
    return values, v, norms


def _matched(matrices: Float[Tensor, "n p d"]) -> Float[Tensor, "n 3"]:
    values, v, norms = _spectrum(matrices)
    nearest = nearest_signed_permutation(v)  # column j, a signed axis, belongs to v's column j
    matched_values = (nearest.abs() @ values[:, :, None])[:, :, 0]
    return _thin_parts(matched_values, v @ nearest.mT, norms)


def _paper(matrices: Float[Tensor, "n p d"]) -> Float[Tensor, "n 3"]:
    values, v, norms = _spectrum(matrices)
    signs = torch.where(v.diagonal(dim1=1, dim2=2) < 0, -1.0, 1.0)
    return _thin_parts(values, v * signs[:, None, :], norms)


def _thin_parts(
    values: Float[Tensor, "n d"], v: Float[Tensor, "n d d"], norms: Float[Tensor, "n d"]
) -> Float[Tensor, "n 3"]:
    """Squared distances; |U - U V^T| is |I - V^T|, since the columns of U are orthonormal."""
    identity = torch.eye(v.shape[-1], dtype=v.dtype, device=v.device)
    of_v = (v - identity).square().sum((1, 2))
    return torch.stack([of_v, (values - norms).square().sum(1), of_v], dim=1)


def _released(matrices: Float[Tensor, "n p d"]) -> Float[Tensor, "n 3"]:
    m, products = matrices.double(), gram(matrices)
    if (torch.linalg.matrix_rank(products, hermitian=True) < products.shape[-1]).any():
        raise ValueError(
            "matrices must have linearly independent columns for variant 'released', which "
            "inverts M^T M; leave passive latents out"
        )
    near = m @ torch.linalg.inv(products).clamp(min=0).sqrt()
    d = m.shape[2]
    (thin, values, vh, y, t), (thin_hat, values_hat, _, y_hat, t_hat) = (
        _full_svd(m),
        _full_svd(near),
    )
    # The other p - d columns of U are those of I - Y T Y^T: their difference has rank 2 d at most,
    # and its norm follows from two small Gram matrices. No p x p matrix is formed.
    left = torch.cat([y @ t, -y_hat @ t_hat], dim=2)
    right = torch.cat([y, y_hat], dim=2)[:, d:]
    null = ((left.mT @ left) * (right.mT @ right)).sum((1, 2)).clamp(min=0)
    of_u = ((thin - thin_hat).square().sum((1, 2)) + null).sqrt()
    identity = torch.eye(d, dtype=m.dtype, device=m.device)
    of_v = (vh - identity).square().sum((1, 2)).sqrt()
    return torch.stack([of_u, (values - values_hat).norm(dim=1), of_v], dim=1)


def _full_svd(
    m: Float[Tensor, "n p d"],
) -> tuple[
    Float[Tensor, "n p d"],
    Float[Tensor, "n d"],
    Float[Tensor, "n d d"],
    Float[Tensor, "n p d"],
    Float[Tensor, "n d d"],
]:
    """LAPACK's full SVD of tall matrices (p >= 2 d) in factors: first columns of U, values, V^T.

    LAPACK reduces such a matrix to triangular form by reflections, Q = I - Y T Y^T, and takes the
    SVD of R. The columns of U beyond d are Q's own; Y and T stand for them.
    """
    d = m.shape[2]
    packed, scales = torch.geqrf(m)
    y = torch.tril(packed, -1)
    y.diagonal(dim1=1, dim2=2).fill_(1)
    inner = y.mT @ y
    t = torch.diag_embed(scales)
    for j in range(1, d):
        t[:, :j, j : j + 1] = -scales[:, j, None, None] * (t[:, :j, :j] @ inner[:, :j, j : j + 1])
    u, values, vh = torch.linalg.svd(torch.triu(packed[:, :d]))
    first = torch.eye(m.shape[1], d, dtype=m.dtype, device=m.device) - y @ (t @ y[:, :d].mT)
    return first @ u, values, vh, y, t
