"""What Bhowal et al. (2024) say of MIG, MIG-sup and the OD-Score, as predicates on results."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import linregress, t

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
LEVEL = 0.05  # of tests
LEAST = 4  # runs that are correlated
ROUNDING = 1e-9  # of numbers that should be equal


def of_models(results: Results, *measures: str) -> dict[str, dict[str, Outcome]]:
    """Data sets of which every model has these measures."""
    return {
        row: models
        for row, models in results.rows().items()
        if models.keys() == {*NAMES}
        and all(m in o.values and o.count(m) for o in models.values() for m in measures)
    }


def everywhere(results: Results, holds: Mapping[str, bool]) -> bool | None:
    """Whether all hold; not known if they do but a data set that needs no file is not there."""
    if not all(holds.values()):
        return False
    cells = results.study.cells(results.scale)
    wanted = {cell.row for cell in cells if not isinstance(cell.config.data, FileConfig)}
    return True if wanted <= holds.keys() else None


def order(values: Mapping[str, float]) -> list[str]:
    """Names, the lowest first."""
    return sorted(values, key=lambda name: values[name])


def means(models: Mapping[str, Outcome], measure: str) -> dict[str, float]:
    """Over seeds."""
    return {name: outcome.mean(measure) for name, outcome in models.items()}


def told(models: Mapping[str, Outcome], measure: str) -> str:
    """Means, with their deviations over seeds if there are several."""
    said = []
    for name, outcome in models.items():
        spread = outcome.deviation(measure)
        some = f" ± {spread:.3f}" if np.isfinite(spread) else ""
        said.append(f"{name} {outcome.mean(measure):.3f}{some}")
    return ", ".join(said)


def ranked(measure: str, results: Results) -> Verdict:
    """The means over seeds come in the printed order on every data set."""
    said, holds = [], dict[str, bool]()
    for row, models in of_models(results, measure).items():
        printed = {name: o.cell.published[measure].mean for name, o in models.items()}
        holds[row] = order(means(models, measure)) == order(printed)
        said.append(f"{row}: {told(models, measure)}{'' if holds[row] else ' (not as printed)'}")
    return Verdict(everywhere(results, holds), "; ".join(said))


def same_order(results: Results) -> Verdict:
    """Every way to compute the OD-Score ranks the models alike."""
    said, holds = [], dict[str, bool]()
    for row, models in of_models(results, *WAYS).items():
        orders = {way: " < ".join(order(means(models, measure))) for measure, way in WAYS.items()}
        holds[row] = len({*orders.values()}) == 1
        said.append(f"{row}: " + ", ".join(f"{way} {each}" for way, each in orders.items()))
    return Verdict(everywhere(results, holds), "; ".join(said))


def released_tells(results: Results) -> Verdict:
    """After the released fit models lie as far apart as the two nearest of table 6."""
    measure, said, holds = "OD-Score, released fit", [], dict[str, bool]()
    printed = [[_printed(row)[m]["OD-Score"].mean for m in METHODS] for row in ROWS.values()]
    least = min(b - a for scores in printed for a, b in pairwise(sorted(scores)))
    for row, models in of_models(results, measure).items():
        reach = max(means(models, measure).values()) - min(means(models, measure).values())
        holds[row] = reach >= least
        said.append(f"{row}: {told(models, measure)}, {reach:.4f} apart (printed: {least:.4f})")
    return Verdict(everywhere(results, holds), "; ".join(said))


def without_term(results: Results) -> Verdict:
    """Runs that are fitted with each model's weight do not come out in the order of the weights.

    Means over the runs of all models: which one is fitted is the same for every weight.
    """
    said, holds = [], dict[str, bool]()
    for row, columns in results.rows().items():
        scores = {
            name: np.concatenate([o.values[f"term, {name}"] for o in columns.values()])
            for name in NAMES
            if all(f"term, {name}" in o.values for o in columns.values())
        }
        if not scores:
            continue
        found = {name: float(np.nanmean(each)) for name, each in scores.items()}
        holds[row] = order(found)[::-1] != NAMES
        each = ", ".join(f"as {name} {score:.3f}" for name, score in found.items())
        said.append(f"{row}, {len(scores[NAMES[0]])} runs: {each}")
    return Verdict(everywhere(results, holds), "; ".join(said))


def falls(results: Results) -> Verdict:
    """Over the means of the models, the OD-Score falls as MIG rises, and as MIG-sup rises."""
    said, holds = [], dict[str, bool]()
    for row, models in of_models(results, "OD-Score", *GAPS).items():
        score = order(means(models, "OD-Score"))[::-1]
        gaps = [order(means(models, gap)) for gap in GAPS]
        holds[row] = all(each == score for each in gaps)
        orders = [f"{gap} {' < '.join(each)}" for gap, each in zip(GAPS, gaps, strict=True)]
        said.append(f"{row}: OD-Score {' > '.join(score)}, {', '.join(orders)}")
    return Verdict(everywhere(results, holds), "; ".join(said))


def printed_falls(_: Results) -> Verdict:
    """The same in the printed numbers, with what three points can show."""
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


class Link(NamedTuple):
    """How two measures go together over runs: r and p of all, r of each data set."""

    r: float
    p: float
    runs: int
    rows: Mapping[str, float]

    def __str__(self) -> str:
        rows = ", ".join(f"{row} {r:.2f}" for row, r in self.rows.items())
        return f"r = {self.r:.2f} over {self.runs} runs (p = {self.p:.2g}; {rows})"


def link(results: Results, x: str, y: str, given: str = "") -> Link | None:
    """Correlation over runs within data sets, what `given` explains taken from both.

    Residuals of a regression are divided by their deviation in each data set and put together;
    p is that of Student's t, with the degrees of freedom that the regressions leave. None if
    nothing is left.

    Args:
        results: Those of the data sets of which every model has the measures.
        x: A measure.
        y: Another.
        given: A measure, or `model` for the mean of each model.
    """
    parts, rows, free = [], {}, -1
    names = [x, y, *([given] if given not in ("", "model") else [])]
    for row, models in of_models(results, *names).items():
        each = [_finite(outcome, names) for outcome in models.values()]
        values = np.concatenate(each)
        same = np.repeat(np.eye(len(each)), [len(runs) for runs in each], axis=0)  # of one model
        first = same if given == "model" else np.ones((len(values), 1))
        design = np.concatenate([first, values[:, 2:]], axis=1)
        left = values[:, :2] - design @ np.linalg.lstsq(design, values[:, :2])[0]
        spread = left.std(axis=0)
        if len(values) < LEAST or (spread <= ROUNDING * np.abs(values[:, :2]).max(axis=0)).any():
            continue
        parts.append(left / spread)
        rows[row] = float(parts[-1].prod(axis=1).mean())
        free += len(values) - int(np.linalg.matrix_rank(design))
    if free < 1:
        return None
    whole = np.concatenate(parts)
    r = float(whole.prod(axis=1).mean())
    p = 2 * float(t.sf(abs(r) * math.sqrt(free / max(1 - r**2, ROUNDING)), free))
    return Link(r, p, len(whole), rows)


def _finite(outcome: Outcome, names: Sequence[str]) -> Float[np.ndarray, "n m"]:
    """Runs that have all of these measures, one a row."""
    values = np.stack([outcome.values[name] for name in names], axis=1)
    return values[np.isfinite(values).all(axis=1)]


def linked(score: str, given: str, results: Results) -> Verdict:
    """Over runs the score falls, surely so, as MIG rises, and as MIG-sup rises."""
    links = {gap: link(results, gap, score, given) for gap in GAPS}
    found = {gap: each for gap, each in links.items() if each is not None}
    if len(found) < len(GAPS):
        return Verdict(None, "")
    said = "; ".join(f"{gap}: {each}" for gap, each in found.items())
    if all(each.r < 0 and each.p < LEVEL for each in found.values()):
        return Verdict(everywhere(results, dict.fromkeys(found["MIG"].rows, True)), said)
    planned = all(len(outcome.runs) >= outcome.cell.seeds for outcome in results.outcomes)
    return Verdict(False if planned else None, said)  # fewer could hide it


def carried(results: Results) -> Verdict:
    """Passive latents make less than half of the distance of V to the axes, for every model."""
    said, holds = [], dict[str, bool]()
    for row, models in of_models(results, "passive share", "active").items():
        share = means(models, "passive share")
        holds[row] = max(share.values()) < 0.5
        each = [f"{n} {share[n]:.0%} ({o.mean('active'):.1f} active)" for n, o in models.items()]
        said.append(f"{row}: {', '.join(each)}")
    return Verdict(everywhere(results, holds), "; ".join(said))
