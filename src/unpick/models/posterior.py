r"""Approximate posteriors q(z|x): a point, a diagonal Gaussian, a Gaussian with full covariance.

All that a family must answer stands here, so that nobody else has to know which families there
are. A consumer may rely on this of every posterior:

- `mean`: (..., d).
- `variance`: of each latent, (..., d); None for a point.
- `factor`: the Cholesky factor L of the covariance L L^T, (..., d, d), if latents are correlated
  given x; None for a point and a diagonal Gaussian.
- `spread`: what the encoder says of the width beside the mean, as `unpick.diagnose` reads it: the
  log-variance or L; None for a point.
- `sample(noise)`, `kl()`, `kl_parts()` and `log_prob(z)`. The last three raise for a point.
- of the class: `n_parameters(latents)`, `from_parameters(parameters, latents)`, `suffix`,
  `has_variance` and `correlated` (whether there is a `factor`).

Leading axes (members, batch) are arbitrary. A new family is a class here with these answers, its
name in `Family` and its entry in `FAMILIES`; the objectives that can use it list its name.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unpick.names import unknown_choice

Family = Literal["delta", "diagonal", "full"]

LOG_2PI = math.log(2 * math.pi)


@dataclass(frozen=True, eq=False)
class Delta:
    """All mass at one point: a plain autoencoder."""

    suffix: ClassVar[str] = ""  # of a run's label
    has_variance: ClassVar[bool] = False
    correlated: ClassVar[bool] = False  # latents, given x
    variance: ClassVar[None] = None
    factor: ClassVar[None] = None
    spread: ClassVar[None] = None
    mean: Float[Tensor, "*n d"]

    @staticmethod
    def n_parameters(latents: int) -> int:
        """How many numbers the encoder must put out."""
        return latents

    @staticmethod
    def from_parameters(parameters: Float[Tensor, "*n p"], latents: int) -> "Delta":
        """The encoder's output is the point."""
        return Delta(parameters)

    def sample(self, noise: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        """The point itself; the noise is ignored."""
        return self.mean

    def kl(self) -> Float[Tensor, "*n"]:
        """Raises: the KL of a point to the prior is infinite."""
        raise ValueError("posterior must have a density for a KL, got delta")

    def kl_parts(self) -> Float[Tensor, "*n"]:
        """Raises, like `kl`."""
        return self.kl()

    def log_prob(self, z: Float[Tensor, "*n d"]) -> Float[Tensor, "*n"]:
        """Raises: a point has no density."""
        raise ValueError("posterior must have a density for log_prob, got delta")


@dataclass(frozen=True, eq=False)
class Diagonal:
    """N(mean, diag(exp(log_var))), the posterior of every common VAE."""

    suffix: ClassVar[str] = ""
    has_variance: ClassVar[bool] = True
    correlated: ClassVar[bool] = False
    factor: ClassVar[None] = None
    mean: Float[Tensor, "*n d"]
    log_var: Float[Tensor, "*n d"]

    @staticmethod
    def n_parameters(latents: int) -> int:
        """Means and log-variances."""
        return 2 * latents

    @staticmethod
    def from_parameters(parameters: Float[Tensor, "*n p"], latents: int) -> "Diagonal":
        """The encoder's output is the mean, then the log-variance."""
        return Diagonal(*_halves(parameters, latents))

    @property
    def variance(self) -> Float[Tensor, "*n d"]:
        """The variance of each latent."""
        return self.log_var.exp()

    @property
    def spread(self) -> Float[Tensor, "*n d"]:
        """The log-variance."""
        return self.log_var

    def sample(self, noise: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        """Mean plus scaled noise (the reparameterisation trick)."""
        return torch.addcmul(self.mean, torch.exp(0.5 * self.log_var), noise)

    def kl_per_latent(self) -> Float[Tensor, "*n d"]:
        r"""\tfrac12 (\mu_j^2 + \sigma_j^2 - \log \sigma_j^2 - 1), in nats."""
        return 0.5 * (self.mean.square() + self.log_var.expm1() - self.log_var)

    def kl_parts(self) -> Float[Tensor, "*n d"]:
        """The KL before it is summed: latent by latent."""
        return self.kl_per_latent()

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

    suffix: ClassVar[str] = "-full"
    has_variance: ClassVar[bool] = True
    correlated: ClassVar[bool] = True
    mean: Float[Tensor, "*n d"]
    factor: Float[Tensor, "*n d d"]

    @staticmethod
    def n_parameters(latents: int) -> int:
        """Means, log-variances and the entries of L below its diagonal."""
        return 2 * latents + latents * (latents - 1) // 2

    @staticmethod
    def from_parameters(parameters: Float[Tensor, "*n p"], latents: int) -> "Full":
        """The encoder's output: mean, twice the log-diagonal of L, and L below its diagonal."""
        mean, log_var = _halves(parameters, latents)
        # Each entry of L, by its place in the output; what has none there is a zero at its end.
        padded = torch.nn.functional.pad(parameters[..., 2 * latents :], (0, 1))
        places = _places_below_diagonal(latents, parameters.device)
        below = padded.index_select(-1, places).unflatten(-1, (latents, latents))
        return Full(mean, torch.diag_embed(torch.exp(0.5 * log_var)) + below)

    @property
    def variance(self) -> Float[Tensor, "*n d"]:
        """The variance of each latent: the diagonal of the covariance."""
        return self.factor.square().sum(-1)

    @property
    def spread(self) -> Float[Tensor, "*n d d"]:
        """The Cholesky factor."""
        return self.factor

    def sample(self, noise: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        """Mean plus L noise (eq. 3.31)."""
        return self.mean + (self.factor @ noise[..., None])[..., 0]

    def kl(self) -> Float[Tensor, "*n"]:
        r"""KL to N(0, I): \tfrac12(|\mu|^2 + tr \Sigma - \log\det\Sigma - k) (eq. 3.30)."""
        trace = self.factor.square().sum((-2, -1))
        return 0.5 * (self.mean.square().sum(-1) + trace - self._log_det() - self.mean.shape[-1])

    def kl_parts(self) -> Float[Tensor, "*n"]:
        """The KL itself: with correlated latents it is no sum over them."""
        return self.kl()

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

FAMILIES: dict[Family, type[Delta] | type[Diagonal] | type[Full]] = {
    "delta": Delta,
    "diagonal": Diagonal,
    "full": Full,
}


def family_of(name: Family) -> type[Delta] | type[Diagonal] | type[Full]:
    """The class of a family; an unknown name raises."""
    if name not in FAMILIES:
        raise unknown_choice("posterior", name, Family)
    return FAMILIES[name]


def _halves(
    parameters: Float[Tensor, "*n p"], latents: int
) -> tuple[Float[Tensor, "*n d"], Float[Tensor, "*n d"]]:
    """The first and the second `latents` numbers."""
    # Contiguous halves: the exponential of a strided tensor takes thirty times as long.
    halves = parameters[..., : 2 * latents].unflatten(-1, (2, latents))
    first, second = halves.movedim(-2, 0).contiguous().unbind()
    return first, second


def _places_below_diagonal(d: int, device: torch.device) -> Int[Tensor, "dd"]:
    """For each entry of a d x d matrix, row by row: its number among those below the diagonal.

    It is d (d - 1) / 2, one more than the last, for all others.
    """
    rows, columns = torch.tril_indices(d, d, offset=-1, device=device)
    places = torch.full((d * d,), len(rows), device=device)
    places[rows * d + columns] = torch.arange(len(rows), device=device)
    return places
