"""Approximate posteriors q(z|x): a point, a diagonal Gaussian, a Gaussian with full covariance.

All three answer `sample(noise)`; the Gaussians also answer `kl`, `log_prob` and `variance`.
Leading axes (members, batch) are arbitrary.
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

Family = Literal["delta", "diagonal", "full"]

LOG_2PI = math.log(2 * math.pi)


@dataclass(frozen=True, eq=False)
class Delta:
    """All mass at one point: a plain autoencoder."""

    mean: Float[Tensor, "*n d"]

    def sample(self, noise: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        """The point itself; the noise is ignored."""
        return self.mean


@dataclass(frozen=True, eq=False)
class Diagonal:
    """N(mean, diag(exp(log_var))), the posterior of every common VAE."""

    mean: Float[Tensor, "*n d"]
    log_var: Float[Tensor, "*n d"]

    @property
    def variance(self) -> Float[Tensor, "*n d"]:
        """The variance of each latent."""
        return self.log_var.exp()

    def sample(self, noise: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        """Mean plus scaled noise (the reparameterisation trick)."""
        return torch.addcmul(self.mean, torch.exp(0.5 * self.log_var), noise)

    def kl_per_latent(self) -> Float[Tensor, "*n d"]:
        r"""\tfrac12 (\mu_j^2 + \sigma_j^2 - \log \sigma_j^2 - 1), in nats."""
        return 0.5 * (self.mean.square() + self.log_var.expm1() - self.log_var)

    def kl(self) -> Float[Tensor, "*n"]:
        """KL divergence to the standard normal, in nats."""
        return self.kl_per_latent().sum(-1)

    def log_prob(self, z: Float[Tensor, "*n d"]) -> Float[Tensor, "*n"]:
        """Log-density at z."""
        squares = (z - self.mean).square() / self.log_var.exp()
        return -0.5 * (squares + self.log_var + LOG_2PI).sum(-1)


@dataclass(frozen=True, eq=False)
class Full:
    r"""N(mean, L L^T) with a lower triangular factor L (Zietlow 2022, section 3.2.7)."""

    mean: Float[Tensor, "*n d"]
    factor: Float[Tensor, "*n d d"]

    @property
    def variance(self) -> Float[Tensor, "*n d"]:
        """The variance of each latent: the diagonal of the covariance."""
        return self.factor.square().sum(-1)

    def sample(self, noise: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        """Mean plus L noise (eq. 3.31)."""
        return self.mean + (self.factor @ noise[..., None])[..., 0]

    def kl(self) -> Float[Tensor, "*n"]:
        r"""KL to N(0, I): \tfrac12(|\mu|^2 + tr \Sigma - \log\det\Sigma - k) (eq. 3.30)."""
        trace = self.factor.square().sum((-2, -1))
        return 0.5 * (self.mean.square().sum(-1) + trace - self._log_det() - self.mean.shape[-1])

    def log_prob(self, z: Float[Tensor, "*n d"]) -> Float[Tensor, "*n"]:
        """Log-density at z."""
        white = torch.linalg.solve_triangular(
            self.factor, (z - self.mean)[..., None], upper=False
        )[..., 0]
        d = self.mean.shape[-1]
        return -0.5 * (white.square().sum(-1) + self._log_det() + d * LOG_2PI)

    def _log_det(self) -> Float[Tensor, "*n"]:
        return 2 * self.factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


Posterior = Delta | Diagonal | Full


def n_parameters(family: Family, latents: int) -> int:
    """How many numbers the encoder must put out."""
    triangle = latents * (latents - 1) // 2
    return {"delta": latents, "diagonal": 2 * latents, "full": 2 * latents + triangle}[family]


def build(family: Family, parameters: Float[Tensor, "*n p"], latents: int) -> Posterior:
    """The posterior that the encoder's output describes: mean, log-variance, off-diagonal of L."""
    if family == "delta":
        return Delta(parameters)
    # Contiguous halves: the exponential of a strided tensor takes thirty times as long.
    halves = parameters[..., : 2 * latents].unflatten(-1, (2, latents))
    mean, log_var = halves.movedim(-2, 0).contiguous().unbind()
    if family == "diagonal":
        return Diagonal(mean, log_var)
    below = parameters[..., 2 * latents :] @ _below_diagonal(latents).to(parameters)
    below = below.reshape(*below.shape[:-1], latents, latents)
    return Full(mean, torch.diag_embed(torch.exp(0.5 * log_var)) + below)


def _below_diagonal(d: int) -> Float[Tensor, "m dd"]:
    """One row for each entry below the diagonal, to lay a vector out as a triangle."""
    rows, columns = torch.tril_indices(d, d, offset=-1)
    return torch.eye(d * d)[rows * d + columns]
