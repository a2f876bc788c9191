"""Claims of Bhowal et al. (2024) about MIG, MIG-sup and the OD-Score, as checks of results."""

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import linregress, norm, t

from unpick.data.files import FileConfig
from unpick.papers.bhowal2024.published import published
from unpick.papers.bhowal2024.settings import METHODS, NAMES, ROWS
from unpick.study.published import Printed
from unpick.study.study import Outcome, Results, Verdict

TABLE = "bhowal-scores"
GAPS = ("MIG", "MIG-sup")
WAYS = {
    "OD-Score": "matched",
    "OD-Score, paper": "unmatched",
    "OD-Score, released": "released",
    "OD-Score, Jacobian": "of the Jacobian",
}
LEVEL = 0.05  # significance level of tests
MODERATE = 0.5  # size of a correlation whose power is told
MIN_RUNS = 4  # of a data set, to correlate over
ROUNDING = 1e-9  # relative; smaller differences count as none


def complete_rows(results: Results, *measures: str) -> dict[str, dict[str, Outcome]]:
    """The data sets on which every model has these measures."""
    return {
        row: models
        for row, models in results.rows().items()
        if models.keys() == {*NAMES}
        and all(m in o.values and o.count(m) for o in models.values() for m in measures)
    }


def all_hold(results: Results, holds: Mapping[str, bool]) -> bool | None:
    """True if all hold; None if they do, but a data set that needs no download has no runs."""
    if not all(holds.values()):
        return False
    return True if covers(results, holds) else None


def covers(results: Results, rows: Collection[str]) -> bool:
    """Whether these rows are all the data sets that need no download."""
    cells = results.study.cells(results.scale)
    wanted = {cell.row for cell in cells if not isinstance(cell.config.data, FileConfig)}
    return wanted <= {*rows}


def order(values: Mapping[str, float]) -> list[str]:
    """Names in order of rising value."""
    return sorted(values, key=lambda name: values[name])


def means(models: Mapping[str, Outcome], measure: str) -> dict[str, float]:
    """Means over seeds, by model."""
    return {name: outcome.mean(measure) for name, outcome in models.items()}


def list_means(models: Mapping[str, Outcome], measure: str) -> str:
    """Means and standard deviations over seeds, in words."""
    parts = []
    for name, outcome in models.items():
        spread = outcome.deviation(measure)
        some = f" ± {spread:.3f}" if np.isfinite(spread) else ""
        parts.append(f"{name} {outcome.mean(measure):.3f}{some}")
    return ", ".join(parts)


def released_fit_separates(results: Results) -> Verdict:
    """The released fit separates the models at least as far as the two closest of table 6."""
    measure, evidence, holds = "OD-Score, released fit", [], dict[str, bool]()
    printed = [[_printed(row)[m]["OD-Score"].mean for m in METHODS] for row in ROWS.values()]
    least = min(b - a for scores in printed for a, b in pairwise(sorted(scores)))
    for row, models in complete_rows(results, measure).items():
        reach = max(means(models, measure).values()) - min(means(models, measure).values())
        holds[row] = reach >= least
        evidence.append(
            f"{row}: {list_means(models, measure)}, {reach:.4f} apart (printed: {least:.4f})"
        )
    return Verdict(all_hold(results, holds), "; ".join(evidence))


def falls_in_print(_: Results) -> Verdict:
    """The same in the printed numbers; the evidence says how much three points can show."""
    panels = []
    for row in dict.fromkeys(ROWS.values()):
        entries = _printed(row).values()
        panels += [[(e[gap].mean, e["OD-Score"].mean) for e in entries] for gap in GAPS]
    falling = [all(a[1] > b[1] for a, b in pairwise(sorted(panel))) for panel in panels]
    fits = [linregress(*zip(*panel, strict=True)) for panel in panels]
    low, high = min(fit.rvalue for fit in fits), max(fit.rvalue for fit in fits)
    sure = sum(fit.pvalue < LEVEL for fit in fits)
    return Verdict(
        all(falling),
        f"{sum(falling)} of {len(panels)} panels fall, r = {low:.3f} to {high:.2f}; but each has "
        f"three points, which fall in order once in six times by chance, and {sure} of "
        f"{len(panels)} reach p < {LEVEL}; in all of them the VAE has the lowest gap and the "
        f"highest score, as any effect of beta on both would have it",
    )


def _printed(row: str) -> dict[str, Mapping[str, Printed]]:
    return {method: published(TABLE, row, method) for method in METHODS}


class ScoreCorrelation(NamedTuple):
    """The correlation of two measures over runs: r and p of all, r of each data set.

    `free` is the number of degrees of freedom that are left.
    """

    r: float
    p: float
    runs: int
    rows: Mapping[str, float]
    free: int

    @property
    def power(self) -> float:
        """Chance that a true correlation of -0.5 would be found, by Fisher's transformation."""
        return float(
            norm.sf(norm.isf(LEVEL / 2) - math.atanh(MODERATE) * math.sqrt(self.free - 1))
        )

    def __str__(self) -> str:
        rows = ", ".join(f"{row} {r:.2f}" for row, r in self.rows.items())
        return (
            f"r = {self.r:.2f} over {self.runs} runs (p = {self.p:.2g}; {rows}; power at r = "
            f"-{MODERATE}: {self.power:.0%})"
        )


def correlate(results: Results, x: str, y: str, given: str = "") -> ScoreCorrelation | None:
    """Partial correlation over runs within data sets, given another measure or the model.

    In each data set both measures are regressed on `given`, and the residuals are standardised.
    r is taken over the residuals of all data sets, p from Student's t with the remaining degrees
    of freedom. None if no data set has enough runs.

    Args:
        results: Data sets on which some model lacks a measure are left out.
        x: A measure.
        y: Another.
        given: A measure, or `model` for the mean of each model; nothing by default.
    """
    parts, rows, free = [], {}, -1
    names = [x, y, *([given] if given not in ("", "model") else [])]
    for row, models in complete_rows(results, *names).items():
        each = [_finite(outcome, names) for outcome in models.values()]
        values = np.concatenate(each)
        same = np.repeat(
            np.eye(len(each)), [len(runs) for runs in each], axis=0
        )  # one column a model
        first = same if given == "model" else np.ones((len(values), 1))
        design = np.concatenate([first, values[:, 2:]], axis=1)
        left = values[:, :2] - design @ np.linalg.lstsq(design, values[:, :2])[0]
        spread = left.std(axis=0)
        if (
            len(values) < MIN_RUNS
            or (spread <= ROUNDING * np.abs(values[:, :2]).max(axis=0)).any()
        ):
            continue
        parts.append(left / spread)
        rows[row] = float(parts[-1].prod(axis=1).mean())
        free += len(values) - int(np.linalg.matrix_rank(design))
    if free < 1:
        return None
    whole = np.concatenate(parts)
    r = float(whole.prod(axis=1).mean())
    p = 2 * float(t.sf(abs(r) * math.sqrt(free / max(1 - r**2, ROUNDING)), free))
    return ScoreCorrelation(r, p, len(whole), rows, free)


def _finite(outcome: Outcome, names: Sequence[str]) -> Float[np.ndarray, "n m"]:
    """The runs that have all of these measures, a row a run."""
    values = np.stack([outcome.values[name] for name in names], axis=1)
    return values[np.isfinite(values).all(axis=1)]


def falls_over_runs(score: str, given: str, results: Results) -> Verdict:
    """Over runs the score falls significantly as MIG rises, and as MIG-sup rises.

    It fails if the score rises significantly with one of them (half the level for each).
    """
    correlations = {gap: correlate(results, gap, score, given) for gap in GAPS}
    found = {gap: each for gap, each in correlations.items() if each is not None}
    if len(found) < len(GAPS):
        return Verdict(None, "")
    evidence = "; ".join(f"{gap}: {each}" for gap, each in found.items())
    if any(each.r > 0 and each.p < LEVEL / len(GAPS) for each in found.values()):
        return Verdict(False, evidence)
    falls = all(each.r < 0 and each.p < LEVEL for each in found.values())
    complete = covers(results, found["MIG"].rows)
    return Verdict(True if falls and complete else None, evidence, complete and not falls)


def active_latents_dominate(results: Results) -> Verdict:
    """For every model, passive latents make up less than half of the distance of V to the axes."""
    evidence, holds = [], dict[str, bool]()
    for row, models in complete_rows(results, "passive share", "active").items():
        share = means(models, "passive share")
        holds[row] = max(share.values()) < 0.5
        each = [f"{n} {share[n]:.0%} ({o.mean('active'):.1f} active)" for n, o in models.items()]
        evidence.append(f"{row}: {', '.join(each)}")
    return Verdict(all_hold(results, holds), "; ".join(evidence))
