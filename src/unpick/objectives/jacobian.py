"""Jacobian terms of objectives.

In forward mode: weights have a member axis, so that reverse mode would mix members.

A Jacobian term is taken of the first observations of a batch. The batch is drawn at random, so
that their mean is an unbiased estimate of the mean over the data, at a fraction of the cost.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.models import likelihood as likelihoods
from unpick.models.model import Model

Columns = Float[Tensor, "s b p d"]
Grams = Float[Tensor, "s b d d"]

FLOOR = 1e-5  # under the eigenvalues of cosines, for columns that fall together


def check_jacobians(jacobians: int) -> None:
    """Raise unless there is an observation to take the Jacobian of."""
    if jacobians < 1:
        raise ValueError(f"jacobians must be at least 1, got {jacobians}")


def columns(decode: Callable[[Tensor], Tensor], z: Float[Tensor, "s b d"]) -> Columns:
    """The Jacobian of a decoder at each latent point, one column a latent.

    All columns come from one pass over d copies of the points, each copy pushed along its axis.
    Autograd goes through it. Use networks without batch normalisation: it ties observations to
    each other, and torch's gradient of this derivative is wrong there in training.
    """
    members, points, d = z.shape
    axes = torch.eye(d).to(z).repeat_interleave(points, 0).expand(members, -1, -1)
    pushed = torch.func.jvp(decode, (z.repeat(1, d, 1),), (axes,))[1]
    return pushed.flatten(2).unflatten(1, (d, points)).permute(0, 2, 3, 1)


def gram(jacobians: Columns) -> Grams:
    """J^T J."""
    return jacobians.mT @ jacobians


def likelihood_gram(model: Model, z: Float[Tensor, "s b d"]) -> Grams:
    r"""J^T A J, the Gauss-Newton Hessian of the distortion.

    J is the Jacobian of the decoder's output, A the second derivative of the distortion by it: 2
    for `gaussian`, p (1 - p) for `bernoulli`.
    """
    bend = likelihoods.curvature(model.config.likelihood, model.decode(z)).flatten(2)
    # Of saturated pixels p (1 - p) is 0 to rounding, where a root has no slope.
    root = bend.clamp(min=torch.finfo(bend.dtype).tiny).sqrt()
    return gram(columns(model.decode, z) * root[..., None])


def distortion_hessian(
    model: Model, x: Float[Tensor, "s b ..."], z: Float[Tensor, "s b d"]
) -> Grams:
    """The exact Hessian of the distortion of x by z, forward over reverse."""
    d = z.shape[2]

    def distortion(z: Float[Tensor, "s n d"]) -> Float[Tensor, ""]:
        copies = x.repeat(1, d, *[1] * (x.ndim - 2))
        return likelihoods.distortion(model.config.likelihood, copies, model.decode(z)).sum()

    hessian = columns(torch.func.grad(distortion), z)
    return (hessian + hessian.mT) / 2


def contrast(grams: Float[Tensor, "*n d d"]) -> Float[Tensor, "*n"]:
    r"""What a volume loses to oblique columns: 1/2 (sum_j log G_jj - log det G) >= 0, in nats.

    It is 0 if and only if G is diagonal, and the same if columns are scaled (Hadamard). For
    G = J^T J it is the IMA contrast. Where columns fall together it would be infinite; a floor
    bounds it by 5.8 nats a latent. A column of zeros is orthogonal to all others.
    """
    found = cosines(grams)
    floor = FLOOR * torch.eye(found.shape[-1]).to(found)
    return -0.5 * torch.linalg.slogdet((found + floor) / (1 + FLOOR)).logabsdet


def cosines(grams: Float[Tensor, "*n d d"]) -> Float[Tensor, "*n d d"]:
    """Cosines between columns, from Gram matrices; 1 on the diagonal."""
    # Where a column is zero the root would have no gradient.
    scale = grams.diagonal(dim1=-2, dim2=-1).clamp(min=1e-20).rsqrt()
    found = grams * scale[..., None] * scale[..., None, :]
    return found.diagonal_scatter(torch.ones_like(scale), dim1=-2, dim2=-1)
