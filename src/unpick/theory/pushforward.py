"""The density that a decoder makes of the prior: on its image, and along curves in it."""

from collections.abc import Callable
from dataclasses import dataclass
from math import log, pi

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.arrays import Array, to_tensor
from unpick.geometry.jacobian import decoder_jacobians


@dataclass(frozen=True, eq=False)
class PushForward:
    """Log-densities of the decoded prior N(0, I) at points of the decoder's image.

    Attributes:
        log_density: Density by area of the image (volume in d dimensions); inf where the decoder
            is flat.
        along_singular: Densities by length along the singular directions, largest singular value
            first. They always multiply to the density.
        along_latents: Densities by length along the curve of each latent, the others held. They
            multiply to the density if and only if the Jacobian's columns are orthogonal.
            Otherwise they fall short of it by the IMA contrast.
    """

    log_density: Float[Tensor, "n"]
    along_singular: Float[Tensor, "n d"]
    along_latents: Float[Tensor, "n d"]


def push_forward(decode: Callable[[Tensor], Tensor] | Array, z: Array) -> PushForward:
    r"""Change of variables from N(0, I) to the image of a decoder (Allen 2024, eq. 10 and 12).

    .. math:: \log p(f(z)) = \log p(z) - \sum_i \log s_i
              = \sum_i \log N(v_i^\top z) - \log s_i, \qquad
              \log p^{(i)}(f(z)) = \log N(z_i) - \log \|J_i\|

    J = U S V^T is the Jacobian at z and J_i its columns.

    Args:
        decode: An injective decoder (n, d) -> (n, ...), or its Jacobians at z.
        z: Codes at which the density is taken.

    Example:
        >>> found = push_forward(lambda z: z * torch.tensor([2.0, 0.5]), torch.zeros(1, 2))
        >>> round(found.log_density.exp().item() * 2 * torch.pi, 4)  # of the prior's 1 / (2 pi)
        1.0
        >>> (found.along_latents.exp() * (2 * torch.pi) ** 0.5)[0]
        tensor([0.5000, 2.0000], dtype=torch.float64)
    """
    z = checked_codes(z)
    jacobians = finite_jacobians(decode, z)
    n, d = z.shape
    if jacobians.ndim != 3 or (len(jacobians), jacobians.shape[2]) != (n, d):
        raise ValueError(
            f"decode must give Jacobians of shape ({n}, outputs, {d}), as z has, "
            f"got {tuple(jacobians.shape)}"
        )
    if jacobians.shape[1] < d:
        raise ValueError(
            f"decode must have at least as many outputs as the {d} latents, "
            f"got {jacobians.shape[1]}: the image has no density"
        )
    z = z.double()
    _, values, vt = torch.linalg.svd(jacobians, full_matrices=False)
    turned = torch.einsum("nij,nj->ni", vt, z)
    along_singular = log_normal(turned) - values.log()
    return PushForward(
        log_density=along_singular.sum(1),
        along_singular=along_singular,
        along_latents=log_normal(z) - jacobians.norm(dim=1).log(),
    )


def checked_codes(z: Array) -> Float[Tensor, "n d"]:
    """Codes as a tensor; raises unless they are finite and of shape (codes, latents)."""
    return to_tensor("z", z, "codes, latents")


def finite_jacobians(
    decode: Callable[[Tensor], Tensor] | Array, z: Float[Tensor, "n d"]
) -> Float[Tensor, "..."]:
    """The Jacobians of a decoder, or given ones, in double precision; raises if not finite."""
    if callable(decode):
        jacobians = decoder_jacobians(decode, z)
    else:
        jacobians = to_tensor("decode", decode, "codes, outputs, latents").to(z.device)
    if not jacobians.isfinite().all():
        got = jacobians[~jacobians.isfinite()][0].item()
        raise ValueError(f"decode must have finite Jacobians, got an entry {got}")
    return jacobians.double()


def log_normal(z: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
    """Log-density of the standard normal, coordinate by coordinate."""
    return -0.5 * (z.square() + log(2 * pi))
