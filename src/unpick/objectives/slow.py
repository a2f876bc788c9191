"""SlowVAE: a sparse prior on how latents change from one observation to the next."""

from dataclasses import dataclass, field
from math import e, log, pi, sqrt
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.data.transitions import LaplacePairs, PairConfig
from unpick.models.posterior import Diagonal, Family
from unpick.objectives.terms import Pass, Term, Terms


@dataclass(frozen=True)
class SlowVAE:
    r"""Klindt et al. (2021): the ELBO of a pair whose second latents are Laplace about the first.

    .. math:: \tfrac12 \sum_{t=0,1} -\log p(x_t|z_t) + \tfrac\beta2 KL(q_t \| N(0, I))
              + \tfrac\gamma2 KL(q_t \| Laplace(z_{1-t}, 1/\lambda))

    a loss per image, as for all objectives: half of the pair's, averaged over which of the two
    comes first. The last term is in closed form, also in the mean over z_{1-t}.

    `released` is the authors' code, halved like ours: it counts the cross-entropy twice and the
    entropy once, and takes the other's mean for its z.

    A batch holds pairs: the even observations are the first of each, the odd ones the second.
    """

    name: ClassVar[str] = "slow-vae"
    posteriors: ClassVar[tuple[Family, ...]] = ("diagonal",)
    decodes: ClassVar[bool] = True
    beta: float = 1.0  # weight of the KL to the prior
    gamma: float = 10.0  # weight of the KL to the transition
    sparsity: float = 6.0  # lambda, rate of the Laplace prior
    released: bool = False  # the authors' code instead of the ELBO
    pairs: PairConfig = field(default_factory=LaplacePairs)

    def __call__(self, p: Pass) -> Terms:
        """Distortion, KL to the prior and to the transition."""
        distortion = p.distortion()
        assert isinstance(p.q, Diagonal)
        other = p.q.mean.unflatten(1, (-1, 2)).flip(2).flatten(1, 2)
        variance = p.q.variance
        if not self.released:
            variance = variance + variance.unflatten(1, (-1, 2)).flip(2).flatten(1, 2)
        rate = torch.as_tensor(self.sparsity).to(variance).reshape(-1, 1, 1)
        spent = laplace_cross_entropy(p.q.mean - other, variance, rate)
        entropy = 0.5 * (p.q.log_var + log(2 * pi * e))
        return {
            "distortion": Term(distortion),
            "kl": Term(p.q.kl_per_latent(), self.beta / 2),
            "transition": Term((2 if self.released else 1) * spent - entropy, self.gamma / 2),
        }


def laplace_cross_entropy(
    mean: Float[Tensor, "*n d"], variance: Float[Tensor, "*n d"], rate: Float[Tensor, "..."]
) -> Float[Tensor, "*n d"]:
    r"""E[-\log Laplace(x; 0, 1/\lambda)] for x ~ N(m, s^2), in nats.

    .. math:: -\log\tfrac\lambda2 + \lambda \left( s \sqrt{2/\pi}\, e^{-m^2 / 2 s^2}
              + m\, erf\tfrac{m}{s \sqrt 2} \right)
    """
    deviation = variance.sqrt()
    ratio = mean / deviation
    bend = sqrt(2 / pi) * deviation * torch.exp(-0.5 * ratio.square())
    return rate * (bend + mean * torch.erf(ratio / sqrt(2))) - torch.log(rate / 2)
