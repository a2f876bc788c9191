"""The autoencoder, the (beta-)VAE and its capacity-annealed form."""

from dataclasses import dataclass
from typing import ClassVar

from unpick.models.posterior import Family
from unpick.objectives.terms import Pass, Term, Terms


@dataclass(frozen=True)
class AE:
    """Reconstruction alone; the posterior is a point."""

    name: ClassVar[str] = "ae"
    posteriors: ClassVar[tuple[Family, ...]] = ("delta",)
    decodes: ClassVar[bool] = True

    def __call__(self, p: Pass) -> Terms:
        """Distortion only."""
        return {"distortion": Term(p.distortion())}


@dataclass(frozen=True)
class BetaVAE:
    r"""Higgins et al. (2017), eq. 4; beta = 1 is the VAE of Kingma & Welling (2014).

    .. math:: -\log p(x|z) + \beta\, KL(q(z|x) \,\|\, N(0, I))

    With a full-covariance posterior it is the beta-VAE_Sigma of Rolinek et al. (2019).
    """

    name: ClassVar[str] = "beta-vae"
    posteriors: ClassVar[tuple[Family, ...]] = ("diagonal", "full")
    decodes: ClassVar[bool] = True
    beta: float = 1.0  # weight of the KL

    def __call__(self, p: Pass) -> Terms:
        """Distortion and KL."""
        return {"distortion": Term(p.distortion()), "kl": Term(p.q.kl_parts(), self.beta)}


@dataclass(frozen=True)
class AnnealedVAE:
    r"""Burgess et al. (2018), eq. 8: the KL is led along a capacity that grows with time.

    .. math:: -\log p(x|z) + \gamma\, | KL - C(t) |, \qquad C(t) = C_{max} \min(1, t / T)

    The KL is the mean over the batch, as in the paper's expectation, not per observation.
    """

    name: ClassVar[str] = "annealed-vae"
    posteriors: ClassVar[tuple[Family, ...]] = ("diagonal", "full")
    decodes: ClassVar[bool] = True
    gamma: float = 1000.0  # weight of the distance from the capacity
    capacity: float = 25.0  # C_max in nats
    anneal_steps: int = 100_000  # T

    def __post_init__(self) -> None:
        if self.anneal_steps < 1:
            raise ValueError(f"anneal_steps must be at least 1, got {self.anneal_steps}")

    def __call__(self, p: Pass) -> Terms:
        """Distortion and the distance of the KL from the present capacity."""
        distortion = p.distortion()
        capacity = self.capacity * min(1.0, p.step / self.anneal_steps)
        kl = p.q.kl().mean(1)
        return {
            "distortion": Term(distortion),
            "capacity_gap": Term((kl - capacity).abs()[:, None], self.gamma),
            "kl": Term(kl.detach()[:, None], 0.0),
        }
