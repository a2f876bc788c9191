"""How sharply the likelihood bends in latent space."""

from collections.abc import Callable, Iterator
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.arrays import Array, to_tensor
from unpick.geometry.jacobian import decoder_jacobians
from unpick.models import likelihood as likelihoods
from unpick.models.likelihood import Likelihood
from unpick.names import unknown_choice

Form = Literal["exact", "gauss-newton"]

PIXELS = 2**18  # of observations at a time


def likelihood_hessian(
    decode: Callable[[Tensor], Tensor],
    x: Array,
    z: Array,
    *,
    likelihood: Likelihood = "gaussian",
    form: Form = "exact",
    chunk: int | None = None,
) -> Float[Tensor, "n d d"]:
    r"""The Hessian of log p(x|z) = -distortion with respect to z (Allen 2024, eq. 6).

    .. math:: H = -J^\top A J - \sum_k g_k \nabla^2 D_k

    A and g are the second and first derivative of the distortion by the decoder's output D(z):
    A = 2 and g = 2 (D - x) for `gaussian`, which is the squared error itself; A = p(1 - p) and
    g = p - x for `bernoulli`, where D gives logits. `gauss-newton` leaves out the second term. It
    is negative semidefinite, and right where the reconstruction is perfect or the decoder linear.

    A piece-wise linear decoder (ReLU) has no second derivative: the two forms are the same between
    its kinks, and neither knows the kinks.

    Args:
        decode: Mean decoder (n, d) -> (n, ...), for `bernoulli` the decoder of logits.
        x: Observations.
        z: Where.
        likelihood: See above.
        form: `exact` differentiates twice, in the decoder's own precision.
        chunk: Observations at a time; None takes as many as make 2^18 pixels.

    Example:
        >>> mixing = torch.tensor([[1.0, 1.0], [0.0, 3.0]])
        >>> likelihood_hessian(lambda z: z @ mixing.T, torch.ones(1, 2), torch.zeros(1, 2))[0]
        tensor([[ -2.,  -2.],
                [ -2., -20.]], dtype=torch.float64)
    """
    z = to_tensor("z", z, "points, latents")
    x = observations(x, z, likelihood)
    match form:
        case "exact":
            one = _exact
        case "gauss-newton":
            one = _gauss_newton
        case _:
            raise unknown_choice("form", form, Form)
    parts = [one(decode, likelihood, *part) for part in chunks(chunk, x, z)]
    return torch.cat(parts)


def _exact(
    decode: Callable[[Tensor], Tensor],
    likelihood: Likelihood,
    x: Float[Tensor, "n p"],
    z: Float[Tensor, "n d"],
) -> Float[Tensor, "n d d"]:
    # Reverse over reverse, because every decoder can do it. Against it forward over reverse takes
    # 0.7 to 3.3 times as long (1.6 for convolutions), forward over forward 7 to 20 times
    # (64 x 64 pixels, 10 latents).
    with torch.enable_grad():
        z = z.detach().requires_grad_()
        loss = likelihoods.distortion(likelihood, x, outputs(decode, z, x)).sum()
        if not loss.requires_grad:
            raise ValueError("decode must be differentiable, got an output without a gradient")
        (gradient,) = torch.autograd.grad(loss, z, create_graph=True, materialize_grads=True)
        rows = [
            torch.autograd.grad(g.sum(), z, retain_graph=True, materialize_grads=True)[0]
            for g in gradient.unbind(1)
        ]
    hessian = -torch.stack(rows, 1).double()
    return (hessian + hessian.mT) / 2


def _gauss_newton(
    decode: Callable[[Tensor], Tensor],
    likelihood: Likelihood,
    x: Float[Tensor, "n p"],
    z: Float[Tensor, "n d"],
) -> Float[Tensor, "n d d"]:
    jacobians = decoder_jacobians(decode, z).double()
    with torch.no_grad():
        bend = likelihoods.curvature(likelihood, outputs(decode, z, x))
    return -torch.einsum("npi,np,npj->nij", jacobians, bend, jacobians)


def chunks(size: int | None, x: Float[Tensor, "n p"], *others: Tensor) -> Iterator[list[Tensor]]:
    """Observations, and what belongs to them, in parts; small parts stay in the cache."""
    size = size or max(1, PIXELS // x.shape[1])
    yield from map(list, zip(*(t.split(size) for t in (x, *others)), strict=True))


def observations(
    x: Array, z: Float[Tensor, "n d"], likelihood: Likelihood
) -> Float[Tensor, "n p"]:
    """One row of doubles for each latent point; refuse what the likelihood does not know."""
    if likelihood not in get_args(Likelihood):
        raise unknown_choice("likelihood", likelihood, Likelihood)
    x = to_tensor("x", x, "points, pixels, ...").to(z.device)
    if len(x) != len(z):
        raise ValueError(
            f"x must have one row for each of the {len(z)} latent points, got {len(x)}"
        )
    if likelihood == "bernoulli" and not bool(((x >= 0) & (x <= 1)).all()):
        raise ValueError(
            f"x must lie in [0, 1] for bernoulli, got {float(x.min()):g} to {float(x.max()):g}"
        )
    return x.flatten(1).double()


def outputs(
    decode: Callable[[Tensor], Tensor], z: Float[Tensor, "n d"], x: Float[Tensor, "n p"]
) -> Float[Tensor, "n p"]:
    """The decoder's output as rows of doubles, of the observations' size."""
    output = decode(z).flatten(1).double()
    if output.shape != x.shape:
        raise ValueError(
            f"decode must give {x.shape[1]} values for a latent point, as x has, "
            f"got {output.shape[1]}"
        )
    return output
