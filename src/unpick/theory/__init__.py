"""Closed-form optima of the problems that VAEs are said to solve."""

from unpick.theory.best_encoder import BestEncoder, best_encoder
from unpick.theory.budget import PrecisionBudget, precision_budget
from unpick.theory.descent import Descent, givens_descent, riemannian_descent
from unpick.theory.dispersion import LikelihoodTwins, train_twins
from unpick.theory.gain import factor_gains, gain_per_nat
from unpick.theory.mechanisms import MechanismGap, mechanism_gap
from unpick.theory.orthogonal import nearest_orthogonal
from unpick.theory.plateaus import Slopes, optimal_slopes
from unpick.theory.pushforward import PushForward, push_forward
from unpick.theory.rotation import OptimalRotation, optimal_rotation

__all__ = [
    "BestEncoder",
    "Descent",
    "LikelihoodTwins",
    "MechanismGap",
    "OptimalRotation",
    "PrecisionBudget",
    "PushForward",
    "Slopes",
    "best_encoder",
    "factor_gains",
    "gain_per_nat",
    "givens_descent",
    "mechanism_gap",
    "nearest_orthogonal",
    "optimal_rotation",
    "optimal_slopes",
    "precision_budget",
    "push_forward",
    "riemannian_descent",
    "train_twins",
]
