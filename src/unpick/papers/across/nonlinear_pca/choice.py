"""What the rule chooses, by plain runs and by the estimator's own search, beside hindsight."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from unpick.data import Dataset
from unpick.estimator.finished_runs import measure_runs
from unpick.estimator.fitting import dense, latents_for, search_grid
from unpick.estimator.members import Member
from unpick.estimator.rounds import Plan, search
from unpick.estimator.rows import HeldOut, hold_out
from unpick.estimator.selection import score_betas, select_beta, select_restart
from unpick.geometry import polarized_regime
from unpick.metrics import disentanglement_score, udr
from unpick.papers.across.nonlinear_pca.cells import cells
from unpick.probe import Probe
from unpick.study.study import Outcome, Results, Scale

FIXED = (1.0, 4.0)  # betas that people take without a rule
STEPS = {"quick": 40, "standard": 4000}  # of a fit; the search takes a quarter
RESTARTS = 3


def active_ds(
    codes: Float[np.ndarray, "n d"],
    active: Bool[np.ndarray, "d"],
    factors: Float[np.ndarray, "n k"],
) -> float:
    """DS of the latents in use; the others count as constant, since nobody is given them."""
    if not active.any() or codes.shape[1] < 2:
        return 0.0
    return disentanglement_score(np.where(active, codes, 0.0), factors).score


def disentanglement_in_use(probe: Probe) -> dict[str, float]:
    """`DS` of a run's active latents."""
    if probe.variance is None or probe.factors is None:
        return {}
    active = ~polarized_regime(probe.mean, probe.variance).pruned.numpy()
    codes = probe.mean.cpu().double().numpy()
    return {"DS": active_ds(codes, active, probe.factors.astype(float))}


def add_choices(results: Results) -> Results:
    """Mark in each row what the rule chooses.

    Adds `UDR` and `evidence` to every run, and `chosen`: 1 for runs at the chosen beta, 2 for the
    one that is kept, else 0.
    """
    changed = dict[int, Outcome]()
    for outcomes in results.rows().values():
        own_cells = list(outcomes.values())
        runs = [run for outcome in own_cells for run in outcome.runs]
        members = measure_runs(runs, _load(own_cells[0].cell.config.data))
        by_beta = {m.beta: [o for o in members if o.beta == m.beta] for m in members}
        best = select_beta(score_betas(members))
        kept = by_beta[best.beta][select_restart(by_beta[best.beta])]
        for outcome, own in zip(own_cells, by_beta.values(), strict=True):
            added = {
                "evidence": np.array([m.evidence.mean() for m in own]),
                "UDR": udr_of(own),
                "chosen": np.array([float(2 if m is kept else m.beta == best.beta) for m in own]),
            }
            changed[id(outcome)] = replace(outcome, values={**outcome.values, **added})
    return replace(results, outcomes=tuple(changed[id(o)] for o in results.outcomes))


def udr_of(members: list[Member]) -> Float[np.ndarray, "s"]:
    """UDR of members at one beta; nan for a single one."""
    if len(members) < 2:
        return np.full(len(members), np.nan)
    kl = [-np.log(np.minimum(m.variance, 1.0)) / 2 for m in members]
    return udr([m.codes for m in members], kl).per_model


def compute_choice(scale: Scale) -> dict[str, Any]:
    """For every data set: DS over beta in the estimator's own search, and what it chooses."""
    data = {cell.row: cell.config.data for cell in cells(scale)}
    names = [*data][: 1 if scale == "quick" else None]
    return {name: search_and_score(_load(data[name]), scale) for name in names}


def search_and_score(dataset: Dataset, scale: Scale) -> dict[str, Any]:
    """Search as the estimator does, with the fixed betas beside the grid; score with labels."""
    rows = torch.arange(len(dataset))
    x = dataset.observe(rows).double().numpy()
    parts = hold_out(x, seed=0)
    factors = dataset.factor_values(rows).double().numpy()[held_rows(parts, x)]
    grid = search_grid(parts.variances)
    plan = Plan(dense((64, 64)), STEPS[scale], 0.01, "cpu", False)
    members = search(parts, plan, latents_for(parts.variances), [*grid, *FIXED], RESTARTS, 0)
    seen = [m for m in members if m.beta in grid]
    best = select_beta(score_betas(seen))
    group = [m for m in seen if m.beta == best.beta]
    kept = group[select_restart(group)]
    table = {
        f"{beta:.2g}": [active_ds(m.codes, m.active, factors) for m in members if m.beta == beta]
        for beta in [*grid, *FIXED]
    }
    return {
        "DS": table,
        "chosen": f"{best.beta:.2g}",
        "kept": active_ds(kept.codes, kept.active, factors),
        "found again": best.found_again,
    }


def held_rows(parts: HeldOut, x: Float[np.ndarray, "n p"]) -> Int[np.ndarray, "h"]:
    """Which rows of the table were held out."""
    places = {row.tobytes(): k for k, row in enumerate(parts.scale.apply(x).astype(np.float32))}
    return np.array([places[row.tobytes()] for row in parts.held.numpy()])


@cache
def _load(data: Any) -> Any:  # noqa: ANN401
    return data.load()
