"""Outcomes of a sweep over beta: cells of one row that differ in beta."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from unpick.objectives import BetaVAE
from unpick.study.study import Outcome, Results
from unpick.training import RunConfig

COLLAPSED = 0.95  # a latent with at least this mean posterior variance counts as lost


def beta_of(config: RunConfig) -> float:
    """Beta of a beta-VAE."""
    assert isinstance(config.objective, BetaVAE)
    return config.objective.beta


def sweep(results: Results, row: str) -> dict[float, Outcome]:
    """The outcomes of a row by beta, ascending."""
    found = {}
    for outcome in results.rows().get(row, {}).values():
        found[beta_of(outcome.cell.config)] = outcome
    return dict(sorted(found.items()))


def complete_sweep(results: Results, row: str) -> dict[float, Outcome]:
    """The same; empty unless every beta of the study is there."""
    outcomes = sweep(results, row)
    wanted = sum(cell.row == row for cell in results.study.cells(results.scale))
    return outcomes if len(outcomes) == wanted else {}


def sweep_table(outcomes: Mapping[float, Outcome], measure: str) -> Float[np.ndarray, "b s"]:
    """One row a beta, one column a seed; nan where a seed is missing."""
    rows = [outcome.values[measure] for outcome in outcomes.values()]
    width = max(map(len, rows))
    return np.array([np.pad(row, (0, width - len(row)), constant_values=np.nan) for row in rows])
