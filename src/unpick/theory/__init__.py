"""Closed-form optima, and the ledger: every numbered claim of the papers with its check."""

from unpick.theory.best_encoder import BestEncoder, best_encoder
from unpick.theory.budget import PrecisionBudget, precision_budget
from unpick.theory.descent import Descent, givens_descent, riemannian_descent
from unpick.theory.dispersion import Twins, train_twins
from unpick.theory.entry import Correction, Entry, Evidence, Judgement, Mutation, Word, judge
from unpick.theory.judging import LEDGER, PAPERS, ledger
from unpick.theory.mechanisms import MechanismGap, mechanism_gap
from unpick.theory.orthogonal import nearest_orthogonal
from unpick.theory.plateaus import Slopes, optimal_slopes
from unpick.theory.pushforward import PushForward, push_forward
from unpick.theory.rotation import OptimalRotation, optimal_rotation

__all__ = [
    "LEDGER",
    "PAPERS",
    "BestEncoder",
    "Correction",
    "Descent",
    "Entry",
    "Evidence",
    "Judgement",
    "MechanismGap",
    "Mutation",
    "OptimalRotation",
    "PrecisionBudget",
    "PushForward",
    "Slopes",
    "Twins",
    "Word",
    "best_encoder",
    "givens_descent",
    "judge",
    "ledger",
    "mechanism_gap",
    "nearest_orthogonal",
    "optimal_rotation",
    "optimal_slopes",
    "precision_budget",
    "push_forward",
    "riemannian_descent",
    "train_twins",
]
