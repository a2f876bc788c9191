"""Finished runs as the rule sees them."""

from collections.abc import Sequence

from unpick.data import Dataset, split
from unpick.estimator.members import Member, measure_members, with_orthogonality
from unpick.objectives import BetaVAE
from unpick.runs import Run

SAMPLES = 1000  # test observations


def measure_runs(runs: Sequence[Run], dataset: Dataset) -> list[Member]:
    """Measure beta-VAEs of one data set on the same test observations."""
    x = dataset.observe(split(dataset).test[:SAMPLES])
    members = []
    for run in runs:
        objective = run.config.objective
        if type(objective) is not BetaVAE:
            raise ValueError(f"runs must be beta-VAEs, got {run.config.label()} ({run.path})")
        model = run.model()
        found = measure_members(model, x, [objective.beta], [run.config.seed])
        members += with_orthogonality(model, found)
    return members
