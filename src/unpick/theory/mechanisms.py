"""What a VAE with little noise maximises: the log-likelihood less the IMA contrast."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log, pi

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.arrays import Array
from unpick.geometry.columns import ima_contrast
from unpick.theory.pushforward import checked_codes, finite_jacobians, log_normal
from unpick.theory.quadrature import gaussian_grid

POINTS = 2**18  # most points of a quadrature


@dataclass(frozen=True, eq=False)
class MechanismGap:
    """Log-likelihood and ELBO of observations on the decoder's image, in nats.

    Attributes:
        log_likelihood: log p(x), by quadrature.
        elbo: With the self-consistent posterior, by quadrature.
        contrast: The IMA contrast at the code.
    """

    log_likelihood: Float[Tensor, "n"]
    elbo: Float[Tensor, "n"]
    contrast: Float[Tensor, "n"]

    @property
    def gap(self) -> Float[Tensor, "n"]:
        """Log p(x) less the ELBO; it tends to the contrast."""
        return self.log_likelihood - self.elbo

    @property
    def regularised(self) -> Float[Tensor, "n"]:
        """The IMA-regularised log-likelihood, to which the ELBO tends."""
        return self.log_likelihood - self.contrast


def mechanism_gap(
    decode: Callable[[Tensor], Tensor],
    z: Array,
    precision: float,
    *,
    nodes: int = 24,
) -> MechanismGap:
    r"""The gap of the self-consistent ELBO (Reizinger et al. 2022; Zietlow 2022, figure 7.6).

    .. math:: x = f(z), \qquad p(x|z') = N(f(z'), \gamma^{-2} I), \qquad
              q(z'|x) = \prod_k N(z_k,\, (1 + \gamma^2 \|J_k\|^2)^{-1})

    The encoder inverts the decoder, and its variances are the best ones to second order. As gamma
    grows, log p(x) - ELBO tends to sum_k log \|J_k\| - 1/2 log det J^T J, of order gamma^-2.
    For a linear decoder W, with P = I + \gamma^2 W^\top W, it is exactly

    .. math:: \tfrac12 (\textstyle\sum_k \log P_{kk} - \log\det P + z^\top P^{-1} z).

    Args:
        decode: Injective mean decoder (n, d) -> (n, ...).
        z: Codes of the observations.
        precision: gamma^2 of the likelihood; 2 / beta if the loss is squared error + beta KL.
        nodes: Of Gauss-Hermite quadrature in each of the few latents. The density is integrated
            about the code, on the scale of the posterior, which must therefore be narrow against
            the decoder's bends.

    Example:
        >>> mixing = torch.tensor([[1.0, 0.6], [0.0, 0.8]]).double()
        >>> found = mechanism_gap(lambda z: z @ mixing.T, torch.zeros(1, 2).double(), 1e6)
        >>> round(found.gap.item(), 5), round(found.contrast.item(), 5)  # -log(0.8)
        (0.22314, 0.22314)
    """
    z = checked_codes(z)
    if not 0 < precision < inf:
        raise ValueError(f"precision must be positive and finite, got {precision}")
    if nodes < 1:
        raise ValueError(f"nodes must be at least 1, got {nodes}")
    d = z.shape[1]
    if nodes**d > POINTS:
        raise ValueError(f"z must have few latents: {nodes}^{d} points exceed {POINTS}")
    z = z.double()
    jacobians = finite_jacobians(decode, z)
    shape = precision * jacobians.mT @ jacobians + torch.eye(d).to(z)
    # Columns that whiten the Gauss-Newton posterior, and the diagonal one.
    whitening = torch.linalg.inv(torch.linalg.cholesky(shape)).mT
    diagonal = torch.diag_embed(shape.diagonal(dim1=1, dim2=2).rsqrt())
    steps, weights = (torch.from_numpy(part).to(z) for part in gaussian_grid(d, nodes))
    observed = decode(z).flatten(1).double()

    def log_joint(factor: Float[Tensor, "n d d"]) -> Float[Tensor, "n k"]:
        """Log p(x, z + factor step), less the log-density of the step."""
        moved = z[:, None] + steps @ factor.mT
        decoded = decode(moved.flatten(0, 1)).double().reshape(len(z), len(steps), -1)
        error = (decoded - observed[:, None]).square().sum(2)
        noise = observed.shape[1] * log(2 * pi / precision)
        prior = log_normal(moved.flatten(0, 1)).sum(1).reshape(len(z), -1)
        volume = torch.linalg.slogdet(factor).logabsdet[:, None]
        return -0.5 * (precision * error + noise) + prior - log_normal(steps).sum(1) + volume

    return MechanismGap(
        log_likelihood=torch.logsumexp(log_joint(whitening) + weights.log(), 1),
        elbo=log_joint(diagonal) @ weights,
        contrast=ima_contrast(jacobians).per_sample,
    )
