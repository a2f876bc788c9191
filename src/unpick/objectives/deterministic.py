"""The ELBO without noise: what noise would cost is computed from the decoder's Jacobian."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.models.posterior import Family
from unpick.names import check_choices
from unpick.objectives.jacobian import check_jacobians, distortion_hessian, likelihood_gram
from unpick.objectives.terms import Pass, Term, Terms


@dataclass(frozen=True)
class DeterministicVAE:
    r"""Minus the deterministic ELBO (Allen 2024, eq. 5; Kumar & Poole 2020) at its best variances.

    .. math:: -\log p(x|\mu) + \tfrac\beta2 \|\mu\|^2 + \tfrac\beta2 \sum_j \log P_{jj}, \qquad
              P = I - H / \beta

    The encoder gives \mu alone. H is the Hessian of log p(x|z) at \mu. Of all diagonal covariances
    diag(P)^{-1} is the best (eq. 7), and putting it into eq. 5 leaves the last term (eq. 19). Of
    all covariances P^{-1} is the best, and leaves log det P, which is the same in every rotation
    of the latent space: with `full` nothing aligns the axes.

    `gauss-newton` has H = -J^T A J (eq. 6 without its last term), so that P >= I. The exact H can
    bend upwards, where the expansion promises a gain from ever more noise. No posterior is wider
    than the prior here: below 1, log P becomes P - 1, the value at variance 1. Even so the exact
    form is unbounded below; it can be led astray where residuals are large.
    """

    name: ClassVar[str] = "deterministic-vae"
    posteriors: ClassVar[tuple[Family, ...]] = ("delta",)
    decodes: ClassVar[bool] = True
    beta: float = 1.0  # weight of the KL
    covariance: Literal["diagonal", "full"] = "diagonal"  # of the posterior that is eliminated
    hessian: Literal["gauss-newton", "exact"] = "gauss-newton"
    jacobians: int = 32  # observations of a batch at which the decoder is linearised

    def __post_init__(self) -> None:
        check_choices(self)
        check_jacobians(self.jacobians)
        if self.beta == 0:
            raise ValueError("beta must be positive, got 0: noise would be infinite")

    def __call__(self, p: Pass) -> Terms:
        """Distortion at the mean, and the two parts of the KL and noise, in nats."""
        z = p.z[:, : self.jacobians]
        if self.hessian == "exact":
            bend = distortion_hessian(p.model, p.x[:, : self.jacobians], z)
        else:
            bend = likelihood_gram(p.model, z)
        beta = torch.as_tensor(self.beta).to(z).reshape(-1, 1, 1, 1)
        precision = torch.eye(z.shape[2]).to(z) + bend / beta
        if self.covariance == "full":
            precisions = torch.linalg.eigvalsh(precision)
        else:
            precisions = precision.diagonal(dim1=2, dim2=3)
        return {
            "distortion": Term(p.distortion()),
            "prior": Term(0.5 * p.z.square(), self.beta),
            "noise": Term(half_log(precisions), self.beta),
        }


def half_log(precision: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    r"""The least of 1/2 (p v - log v - 1) over variances v <= 1, at v = 1 / max(p, 1)."""
    return 0.5 * torch.where(precision > 1, precision.clamp(min=1).log(), precision - 1)
