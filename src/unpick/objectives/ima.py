"""A plain autoencoder with the contrast of independent mechanisms as a penalty."""

from dataclasses import dataclass
from typing import ClassVar

from unpick.models.posterior import Family
from unpick.objectives.jacobian import check_jacobians, columns, contrast, gram
from unpick.objectives.terms import Pass, Term, Terms


@dataclass(frozen=True)
class ImaAE:
    r"""An autoencoder with the IMA contrast (Gresele et al. 2021; Zietlow 2022, section 7.6).

    .. math:: -\log p(x|\mu) + \gamma \left( \sum_j \log \|J_j\|
              - \tfrac12 \log\det J^\top J \right)

    J is the Jacobian of the mean decoder. As noise vanishes the ELBO is the log-likelihood less
    the contrast (Reizinger et al. 2022). Here there is no likelihood of the codes, so they have no
    prior: a linear decoder with orthogonal columns of any rotation costs nothing.
    """

    name: ClassVar[str] = "ima-ae"
    posteriors: ClassVar[tuple[Family, ...]] = ("delta",)
    decodes: ClassVar[bool] = True
    gamma: float = 1.0  # of the contrast, in nats
    jacobians: int = 32  # observations of a batch at which the decoder is linearised

    def __post_init__(self) -> None:
        check_jacobians(self.jacobians)

    def __call__(self, p: Pass) -> Terms:
        """Distortion and contrast."""
        jacobians = columns(p.model.decode_mean, p.z[:, : self.jacobians])
        return {
            "distortion": Term(p.distortion()),
            "contrast": Term(contrast(gram(jacobians)), self.gamma),
        }
