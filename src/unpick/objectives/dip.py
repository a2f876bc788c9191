"""DIP-VAE: the covariance of the aggregate posterior is pulled towards the identity."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.models.posterior import Diagonal, Family
from unpick.names import check_choices
from unpick.objectives.terms import Pass, Term, Terms


@dataclass(frozen=True)
class DIPVAE:
    r"""Kumar, Sattigeri & Balakrishnan (2018), eq. 6 and 7.

    .. math:: -\log p(x|z) + KL + \lambda_{od} \sum_{i \ne j} C_{ij}^2
              + \lambda_d \sum_i (C_{ii} - 1)^2

    Kind I takes C = Cov(mu), kind II C = Cov(mu) + E[diag(sigma^2)], the covariance of q(z). The
    usual weights are lambda_d = 10 lambda_od for kind I and lambda_d = lambda_od for kind II.
    """

    name: ClassVar[str] = "dip-vae"
    posteriors: ClassVar[tuple[Family, ...]] = ("diagonal",)
    decodes: ClassVar[bool] = True
    kind: Literal["I", "II"] = "I"  # covariance of the means, or of q(z)
    lambda_od: float = 10.0  # weight of the off-diagonal
    lambda_d: float = 100.0  # weight of the diagonal

    def __post_init__(self) -> None:
        check_choices(self)

    def __call__(self, p: Pass) -> Terms:
        """Distortion, KL and the two penalties, which belong to the batch as a whole."""
        distortion = p.distortion()
        assert isinstance(p.q, Diagonal)
        cov = covariance(p.q.mean)
        if self.kind == "II":
            cov = cov + torch.diag_embed(p.q.variance.mean(1))
        diagonal = cov.diagonal(dim1=1, dim2=2)
        off = cov - torch.diag_embed(diagonal)
        return {
            "distortion": Term(distortion),
            "kl": Term(p.q.kl()),
            "off_diagonal": Term(off.square().sum((1, 2))[:, None], self.lambda_od),
            "diagonal": Term((diagonal - 1).square().sum(1)[:, None], self.lambda_d),
        }


def covariance(means: Float[Tensor, "s b d"]) -> Float[Tensor, "s d d"]:
    """Covariance over the batch, divided by B."""
    centred = means - means.mean(1, keepdim=True)
    return centred.mT @ centred / means.shape[1]
