"""A plain autoencoder whose latent axes are those along which noise would cost least."""

from dataclasses import dataclass
from typing import ClassVar

from unpick.models.posterior import Family
from unpick.objectives.dip import covariance
from unpick.objectives.jacobian import check_jacobians, contrast, likelihood_gram
from unpick.objectives.terms import Pass, Term, Terms


@dataclass(frozen=True)
class BudgetAE:
    r"""An autoencoder that spends a budget of precision well (Zietlow 2022, 3.2.4 and 3.2.5).

    Give each latent noise \sigma_j, on a budget of precision \sum_j \log(s_j^2 / \sigma_j^2) = C,
    where s_j^2 is the variance of the codes. The least that noise can cost is then proportional to
    \prod_j (\|J_j\| s_j)^{2/d} (eq. 3.21 with codes of any scale). No change of the latent axes
    can bring the product below the volume that the data cover. The loss is

    .. math:: -\log p(x|\mu) + \gamma \left( \sum_j \log(\|J_j\| s_j) - \tfrac12 \log\det J^\top J
              - \tfrac12 \log\det Cov(\mu) \right)

    without any noise or prior. The bracket is the IMA contrast of the decoder plus the total
    correlation that normal codes of this covariance would have: 0 if and only if columns are
    orthogonal and codes uncorrelated, which for a linear decoder is PCA. Lengths are measured by
    the likelihood's curvature A, J^T A J, for that is what noise costs.
    """

    name: ClassVar[str] = "budget-ae"
    posteriors: ClassVar[tuple[Family, ...]] = ("delta",)
    decodes: ClassVar[bool] = True
    gamma: float = 1.0  # of the wasted precision, in nats
    jacobians: int = 32  # observations of a batch at which the decoder is linearised

    def __post_init__(self) -> None:
        check_jacobians(self.jacobians)

    def __call__(self, p: Pass) -> Terms:
        """Distortion, and what is wasted by oblique columns and by correlated codes."""
        columns = contrast(likelihood_gram(p.model, p.z[:, : self.jacobians]))
        return {
            "distortion": Term(p.distortion()),
            "columns": Term(columns, self.gamma),
            "codes": Term(contrast(covariance(p.z))[:, None], self.gamma),
        }
