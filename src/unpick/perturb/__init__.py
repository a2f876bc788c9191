"""Perturbed twins: data sets that look the same, but whose local variance misleads VAEs."""

from unpick.perturb.config import PerturbConfig
from unpick.perturb.make_twin import perturb

__all__ = ["PerturbConfig", "perturb"]
