"""The rotation of a latent space that makes noise cost least, in closed form."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unpick.arrays import Array, to_tensor

EQUAL = 1e-9  # relative difference of singular values that count as equal
BYTES = 2**24  # of Jacobians that are factorised at a time


@dataclass(frozen=True, eq=False)
class OptimalRotation:
    r"""The best latent axes, and what the given ones lose.

    All global minima are V B P: B turns each group of equal singular values within itself, P is a
    signed permutation. `another` draws one.

    Attributes:
        rotation: V, of determinant 1. The columns of M V are orthogonal, the longest first.
        lengths: Lengths of those columns, the singular values s.
        group: Which group of equal singular values each belongs to.
        log_product: \sum_j \log s_j, the least that the objective can be.
        excess: \sum_j \log c_j - \sum_j \log s_j, c the lengths of M's own columns: the IMA
            contrast. The noise costs e^{2 excess / d} times what it has to.
    """

    rotation: Float[Tensor, "*n d d"]
    lengths: Float[Tensor, "*n d"]
    group: Int[Tensor, "*n d"]
    log_product: Float[Tensor, "*n"]
    excess: Float[Tensor, "*n"]

    def another(self, generator: torch.Generator) -> Float[Tensor, "*n d d"]:
        """A global minimum drawn at random."""
        same = self.group[..., :, None] == self.group[..., None, :]
        noise = torch.randn(same.shape, generator=generator, dtype=torch.float64)
        within = torch.linalg.qr(noise * same).Q  # of a block matrix: orthogonal in each block
        order = torch.rand(self.group.shape, generator=generator).argsort(-1)
        signs = torch.randint(2, self.group.shape, generator=generator) * 2 - 1
        columns = self.rotation @ within * signs[..., None, :]
        return columns.gather(-1, order[..., None, :].expand(same.shape))


def optimal_rotation(jacobian: Array, *, tolerance: float = EQUAL) -> OptimalRotation:
    r"""Turn latent axes so that the columns are orthogonal (Zietlow 2022, eq. 3.23, prop. 6).

    .. math:: \min_V \prod_j \|M V e_j\| = \prod_j s_j \quad at \quad M = U S V^\top

    by Hadamard's inequality. If the rank is below d, the product can be made 0 without making all
    columns orthogonal; V makes them so all the same, and `excess` is infinite unless the missing
    columns are zero already: zero columns are left out of it.

    Args:
        jacobian: M, one matrix or a batch.
        tolerance: Relative difference up to which neighbouring singular values count as equal.

    Example:
        >>> found = optimal_rotation(torch.tensor([[4.0, 1.0], [-3.0, 1.0], [5.0, -1.0]]))
        >>> [round(float(x), 3) for x in (found.log_product.exp(), 150**0.5, found.excess.exp())]
        [11.576, 12.247, 1.058]
    """
    jacobian = to_tensor("jacobian", jacobian, "..., outputs, latents")
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance must lie in [0, 1), got {tolerance}")
    small = triangular_factors(jacobian)
    norms = torch.linalg.vector_norm(small, dim=-2)
    _, values, vh = torch.linalg.svd(small)
    lengths = _padded(values, jacobian.shape[-1])
    rotation = vh.mT.clone()
    rotation[..., -1] *= torch.linalg.det(rotation).sign()[..., None]
    rounding = max(jacobian.shape[-2:]) * torch.finfo(torch.float64).eps
    room = tolerance * lengths[..., :-1] + rounding * lengths[..., :1]
    falls = lengths[..., :-1] - lengths[..., 1:] > room
    group = torch.nn.functional.pad(falls.cumsum(-1), (1, 0))
    excess = _excess(small, norms, rounding)
    return OptimalRotation(rotation, lengths, group, norms.log().sum(-1) - excess, excess)


def triangular_factors(jacobian: Float[Tensor, "*n p d"]) -> Float[Tensor, "*n k d"]:
    """R of J = Q R, which is small however many outputs J has."""
    flat = jacobian.reshape(-1, *jacobian.shape[-2:])
    rows = max(1, BYTES // (8 * flat[0].numel()))
    parts = [torch.linalg.qr(part.double(), mode="r").R for part in flat.split(rows)]
    whole = torch.cat(parts)
    return whole.reshape(*jacobian.shape[:-2], *whole.shape[1:])


def _excess(
    small: Float[Tensor, "*n k d"], norms: Float[Tensor, "*n d"], rounding: float
) -> Float[Tensor, "*n"]:
    r"""\sum_j \log c_j - \sum_j \log s_j from the sines of columns with the span of those before.

    The product of singular values would lose the digits of the small ones. Zero columns come last.
    """
    order = (norms == 0).int().argsort(dim=-1, stable=True)
    sorted_columns = small.gather(-1, order[..., None, :].expand_as(small))
    distances = torch.linalg.qr(sorted_columns, mode="r").R.diagonal(dim1=-2, dim2=-1).abs()
    norms = norms.gather(-1, order)
    sines = torch.where(norms > 0, _padded(distances, norms.shape[-1]) / norms, 1)
    return (1 / sines.masked_fill(sines <= rounding, 0).clamp(max=1)).log().sum(-1)


def _padded(values: Float[Tensor, "*n k"], d: int) -> Float[Tensor, "*n d"]:
    """Pad with zeros where there are fewer outputs than latents."""
    return torch.nn.functional.pad(values, (0, d - values.shape[-1]))
