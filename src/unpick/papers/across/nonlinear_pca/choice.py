"""What the rule chooses, by plain runs and by the estimator's own search, beside hindsight."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int

from unpick.data import Dataset
from unpick.estimator.finished_runs import measure_runs
from unpick.estimator.fitting import dense, latents_for, search_grid
from unpick.estimator.linear import linear_path
from unpick.estimator.rounds import Plan, search
from unpick.estimator.rows import HeldOut, hold_out
from unpick.estimator.selection import score_betas, select_beta, select_restart, udr_of
from unpick.geometry import polarized_regime
from unpick.papers.across.nonlinear_pca.cells import cells
from unpick.papers.across.nonlinear_pca.readings import SEEDS, estimator
from unpick.papers.across.scores import active_ds
from unpick.probe import Probe
from unpick.study.study import Outcome, Results, Scale

FIXED = (1.0, 4.0)  # betas that people take without a rule
STEPS = {"quick": 40, "standard": 4000}  # of a fit; the search takes a quarter
RESTARTS = 3
MOST_ROWS = 5000


def disentanglement_in_use(probe: Probe) -> dict[str, float]:
    """`DS` of a run's active latents."""
    if probe.variance is None or probe.factors is None:
        return {}
    active = ~polarized_regime(probe.mean, probe.variance).pruned.numpy()
    codes = probe.mean.cpu().double().numpy()
    return {"DS": active_ds(codes, active, probe.factors.astype(float), probe.categorical)}


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


def compute_choice(scale: Scale) -> dict[str, Any]:
    """For every data set and seed: DS over beta in the estimator's own search, and its choice."""
    data = {cell.row: cell.config.data for cell in cells(scale)}
    names = [*data][: 1 if scale == "quick" else None]
    found = {}
    for name in names:
        dataset = _load(data[name])
        seeds = 1 if len(dataset.shape) > 1 else SEEDS[scale]  # images take minutes
        found[name] = [search_and_score(dataset, scale, seed) for seed in range(seeds)]
    return found


def search_and_score(dataset: Dataset, scale: Scale, seed: int) -> dict[str, Any]:
    """Search as the estimator does, with the fixed betas beside the grid; score with labels.

    Then fit the estimator itself to the same rows, and score its components as well.
    """
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randperm(len(dataset), generator=generator)[:MOST_ROWS]
    x = dataset.observe(rows).flatten(1).double().numpy()
    parts = hold_out(x, seed)
    held = held_rows(parts, x)
    factors = dataset.factor_values(rows).double().numpy()[held]
    classes = tuple(factor.categorical for factor in dataset.factors)
    grid = search_grid(parts.variances)
    plan = Plan(dense((64, 64)), STEPS[scale], 0.01, "cpu", False)
    members = search(
        parts, plan, latents_for(parts.variances), [*grid, *FIXED], RESTARTS, RESTARTS * seed
    )
    seen = [m for m in members if m.beta in grid]
    path = linear_path(parts)
    best = select_beta(score_betas(seen, path.evidence[:, path.best]))
    names = {b: f"{b:.3g}" for b in grid} | {b: f"fixed {b:.0f}" for b in FIXED}
    groups = {name: [m for m in members if m.beta == b] for b, name in names.items()}
    chosen = names[best.beta]
    kept = groups[chosen][select_restart(groups[chosen])]
    agreed = {names[b]: udr_of(groups[names[b]]).mean() for b in grid}
    codes = estimator(scale, None, seed).set_params(max_steps=STEPS[scale]).fit(x).transform(x)
    in_use = np.ones(codes.shape[1], dtype=bool)
    return {
        "DS": {
            beta: [active_ds(m.codes, m.active, factors, classes) for m in group]
            for beta, group in groups.items()
        },
        "chosen": chosen,
        "kept": active_ds(kept.codes, kept.active, factors, classes),
        "UDR": max(agreed, key=lambda beta: np.nan_to_num(agreed[beta])),
        "fitted": active_ds(codes[held], in_use, factors, classes),
        "components": codes.shape[1],
    }


def held_rows(parts: HeldOut, x: Float[np.ndarray, "n p"]) -> Int[np.ndarray, "h"]:
    """Which rows of the table were held out."""
    places = {row.tobytes(): k for k, row in enumerate(parts.scale.apply(x).astype(np.float32))}
    return np.array([places[row.tobytes()] for row in parts.held.numpy()])


@cache
def _load(data: Any) -> Any:  # noqa: ANN401
    return data.load()
