"""Perturbed twins: data sets that look the same, on which local variance misleads."""

from unpick.perturb.config import PerturbConfig
from unpick.perturb.make_twin import perturb

__all__ = ["PerturbConfig", "perturb"]
