"""Measures of runs, and of several runs together, for tables 4 to 6 of Bhowal et al. (2024).

The OD-Score divides each part of an observation by its largest value among the models. So the
parts of every observation are cached, and a score needs a run of each model.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from unpick.geometry import (
    distance_to_orthogonality,
    fit_local_decoder,
    normalised_od_score,
    od_score,
    polarized_regime,
)
from unpick.geometry.od_score import ODScore
from unpick.geometry.released_decoder import fit_released_decoder
from unpick.metrics import mig_sup, mutual_information_gap
from unpick.papers.bhowal2024.scores.released_term import scores_by_term
from unpick.papers.bhowal2024.settings import NAMES
from unpick.probe import Measure, Probe, measure_run
from unpick.probe.measures import codes_and_factors
from unpick.runs import Run
from unpick.study.study import Outcome, Results

OBSERVATIONS = 100  # test observations with a local decoder, the same for every model
FEWER = 20  # for the fits with the released code's term
DIGITS = 6  # significant digits of cached parts
SCORES = {
    "OD-Score": "matched",
    "OD-Score, paper": "paper",
    "OD-Score, released": "released",
    "OD-Score, released fit": "released fit",
    "OD-Score, Jacobian": "jacobian",
    "OD-Score, active": "active",
}


def factor_scores(probe: Probe) -> dict[str, float]:
    """`MIG` and `MIG-sup` of means in 20 bins, and `active` latents, on test observations."""
    codes, factors = codes_and_factors(probe)
    return {
        "MIG": mutual_information_gap(codes, factors).score,
        "MIG-sup": mig_sup(codes, factors).score,
        "active": float(active_latents(probe).sum()),
    }


def local_fit(probe: Probe) -> dict[str, Any]:
    """`residual` of the local decoder, and `parts` of the OD-Score for each variant.

    Parts are None where a variant has no score. Runs with two or more active latents also have
    `DtO, active` of the Jacobian, its `DtO / chance`, and `passive share`: the share of the
    distance of the local decoder's V to the axes that vanishes without the passive latents.
    """
    active, near = active_latents(probe), probe.first(OBSERVATIONS)
    around = near.mean, deviation(near)
    fit, jacobians = fit_local_decoder(near.decoder, *around), near.jacobians
    parts: dict[str, Tensor | None] = {
        "matched": od_score(fit.matrices).parts,
        "paper": od_score(fit.matrices, variant="paper").parts,
        "released": _released(fit.matrices),
        "released fit": _released(fit_released_decoder(near.decoder, *around).matrices),
        "jacobian": od_score(jacobians).parts,
        "active": None,
    }
    values: dict[str, Any] = {"residual": fit.residual}
    if active.sum() > 1:
        dto = distance_to_orthogonality(jacobians, active=active)
        values |= {"DtO, active": dto.mean, "DtO / chance": dto.relative}
        parts["active"] = od_score(fit.matrices, active=active).parts
        used, whole = (float(parts[way][:, 2].sum()) for way in ("active", "matched"))  # type: ignore[index]
        values["passive share"] = 1 - used / whole if whole else 0.0
    rounded = {
        name: None if each is None else [[float(f"{v:.{DIGITS}g}") for v in row] for row in each]
        for name, each in parts.items()
    }
    return values | {"parts": rounded}


def term_scores(probe: Probe) -> dict[str, float]:
    """`term, MODEL`: the OD-Score that the released code would give if the run were that model.

    See `released_term.scores_by_term`.
    """
    near = probe.first(FEWER)
    scores = scores_by_term(near.decoder, near.mean, deviation(near))
    return {f"term, {name}": score for name, score in scores.items()}


READINGS: tuple[Measure, ...] = (factor_scores, local_fit, term_scores)


def active_latents(probe: Probe) -> Bool[Tensor, "d"]:
    """The active latents of the polarized regime."""
    assert probe.variance is not None  # all three methods have posteriors
    return polarized_regime(probe.mean, probe.variance).active


def deviation(probe: Probe) -> Float[Tensor, "n d"]:
    """Standard deviations of the posteriors."""
    assert probe.variance is not None
    return probe.variance.sqrt()


def _released(matrices: Tensor) -> Tensor | None:
    """None where columns are linearly dependent: the released code inverts their Gram matrix."""
    try:
        return od_score(matrices, variant="released").parts
    except ValueError:
        return None


def together(results: Results) -> Results:
    """Add the OD-Scores, which compare each run with those of the other models of its seed.

    A data set, or a seed, without a run of every model has no score. `OD-Score, V` and `OD-Score,
    Sigma` are the means of two parts of `OD-Score` (the part of U equals that of V).
    """
    scores: dict[Run, dict[str, float]] = {}
    for columns in results.rows().values():
        if columns.keys() >= {*NAMES}:
            scores |= compare_models([columns[name] for name in NAMES])
    outcomes = []
    for outcome in results.outcomes:
        each = [scores.get(run, {}) for run in outcome.runs]
        found = dict.fromkeys(measure for values in each for measure in values)
        added = {m: np.array([values.get(m, math.nan) for values in each]) for m in found}
        outcomes.append(replace(outcome, values={**outcome.values, **added}))
    return replace(results, outcomes=tuple(outcomes))


def compare_models(models: Sequence[Outcome]) -> dict[Run, dict[str, float]]:
    """The scores of runs whose seed every model has; a variant needs the parts of all of them."""
    by_seed = [{run.config.seed: run for run in model.runs} for model in models]
    found: dict[Run, dict[str, float]] = {}
    for seed in set.intersection(*({*runs} for runs in by_seed)):
        runs = [each[seed] for each in by_seed]
        parts = [measure_run(run, (local_fit,))["parts"] for run in runs]
        for measure, way in SCORES.items():
            if any(each[way] is None for each in parts):
                continue
            scores = normalised_od_score({str(k): _score(p[way]) for k, p in enumerate(parts)})
            for run, score in zip(runs, scores.values(), strict=True):
                values = found.setdefault(run, {})
                values[measure] = score.mean
                if measure == "OD-Score":
                    _, sigma, v = score.parts.mean(0).tolist()
                    values |= {f"{measure}, V": v, f"{measure}, Sigma": sigma}
    return found


def _score(parts: list[list[float]]) -> ODScore:
    tensor = torch.tensor(parts, dtype=torch.float64)
    return ODScore(float(tensor.mean()), tensor.mean(1), tensor)
