"""What is minimised: one file a paper."""

from typing import get_args

from unpick.objectives.dip import DIPVAE
from unpick.objectives.factor import FactorVAE
from unpick.objectives.slow import SlowVAE
from unpick.objectives.tcvae import BetaTCVAE
from unpick.objectives.terms import Adversarial, Paired, Pass, Term, Terms, stack, total
from unpick.objectives.vae import AE, AnnealedVAE, BetaVAE

__all__ = [
    "AE",
    "DIPVAE",
    "OBJECTIVES",
    "Adversarial",
    "AnnealedVAE",
    "BetaTCVAE",
    "BetaVAE",
    "FactorVAE",
    "ObjectiveConfig",
    "Paired",
    "Pass",
    "SlowVAE",
    "Term",
    "Terms",
    "stack",
    "total",
]

# An objective is a frozen dataclass, its own configuration, that maps a Pass to Terms.
ObjectiveConfig = AE | BetaVAE | BetaTCVAE | FactorVAE | DIPVAE | AnnealedVAE | SlowVAE

OBJECTIVES = {objective.name: objective for objective in get_args(ObjectiveConfig)}
