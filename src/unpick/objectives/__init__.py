"""What is minimised: one file a paper."""

from typing import get_args

from unpick.objectives.budget import BudgetAE
from unpick.objectives.contrastive import PCL
from unpick.objectives.deterministic import DeterministicVAE
from unpick.objectives.dip import DIPVAE
from unpick.objectives.factor import FactorVAE
from unpick.objectives.ima import ImaAE
from unpick.objectives.orthogonality import squared_cosines
from unpick.objectives.slow import SlowVAE
from unpick.objectives.tcvae import BetaTCVAE
from unpick.objectives.terms import (
    Adversarial,
    HasCritic,
    Paired,
    Pass,
    Term,
    Terms,
    stack,
    total,
)
from unpick.objectives.vae import AE, AnnealedVAE, BetaVAE
from unpick.objectives.weak_gan import WeakGAN

__all__ = [
    "AE",
    "DIPVAE",
    "OBJECTIVES",
    "PCL",
    "Adversarial",
    "Aligning",
    "AnnealedVAE",
    "BetaTCVAE",
    "BetaVAE",
    "BudgetAE",
    "DeterministicVAE",
    "FactorVAE",
    "HasCritic",
    "ImaAE",
    "ObjectiveConfig",
    "Paired",
    "Pass",
    "SlowVAE",
    "Term",
    "Terms",
    "WeakGAN",
    "squared_cosines",
    "stack",
    "total",
]

# An objective is a frozen dataclass, its own configuration, that maps a Pass to Terms.
Variational = BetaVAE | BetaTCVAE | FactorVAE | DIPVAE | AnnealedVAE | SlowVAE
# They align the latent axes by a term of their own, not by noise.
Aligning = DeterministicVAE | BudgetAE | ImaAE
ObjectiveConfig = AE | Variational | Aligning | PCL | WeakGAN

OBJECTIVES = {objective.name: objective for objective in get_args(ObjectiveConfig)}
