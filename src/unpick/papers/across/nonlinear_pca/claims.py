"""Claims about NonlinearPCA, as checks of results that can fail."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from unpick.papers.across.nonlinear_pca.tables import CURVED
from unpick.study.comparison import Comparison, above
from unpick.study.study import Results
from unpick.study.verdict import Verdict, decide_all

NOISE_WITHIN = 0.2  # share by which a noise variance may be off
RATIO = 0.9  # of the best DS that is reachable, on average over data sets
LEAST_DS = 0.1  # a data set whose best DS is below tells nothing
OURS, LINEAR = "NonlinearPCA", "PCA"


@dataclass(frozen=True)
class Choice:
    """The DS that ways to choose a beta reach on one data set.

    Attributes:
        best: Mean DS over restarts at the beta where that is highest: hindsight.
        best_beta: That beta.
        chosen: Mean DS at the beta that the rule chooses.
        chosen_beta: That beta.
        kept: DS of the restart that the rule keeps.
        udr: Mean DS at the beta of the highest UDR.
        fixed: Mean DS at beta 1 and at beta 4.
    """

    best: float
    best_beta: str
    chosen: float
    chosen_beta: str
    kept: float
    udr: float
    fixed: Mapping[str, float]


def choices(results: Results) -> dict[str, Choice]:
    """What each way to choose reaches, by data set."""
    found = {}
    for row, cells in results.rows().items():
        means = {name: outcome.mean("DS") for name, outcome in cells.items()}
        marked = [name for name, outcome in cells.items() if outcome.values["chosen"].any()]
        best = max(means, key=lambda name: means[name])
        if not marked or not means[best] >= LEAST_DS:
            continue
        kept = cells[marked[0]]
        by_udr = max(cells, key=lambda name: np.nan_to_num(cells[name].values["UDR"].mean()))
        found[row] = Choice(
            means[best],
            best,
            means[marked[0]],
            marked[0],
            float(kept.values["DS"][kept.values["chosen"].argmax()]),
            means[by_udr],
            {name: means[name] for name in ("beta 1", "beta 4") if name in means},
        )
    return found


def search_is_good(results: Results) -> Verdict:
    """In the estimator's own search the kept restart has 90 % of the best DS in hindsight."""
    found = results.computed.get("choice", {})
    ratios, listed = [], []
    for name, own in found.items():
        means = {beta: float(np.mean(scores)) for beta, scores in own["DS"].items()}
        best = max(means, key=lambda beta: means[beta])
        if means[best] >= LEAST_DS:
            ratios.append(own["kept"] / means[best])
            fixed = ", ".join(f"{means[b] / means[best]:.2f} at {b}" for b in ("1", "4"))
            listed.append(f"{name} {ratios[-1]:.2f} ({own['chosen']}, best {best}; {fixed})")
    if not ratios:
        return Verdict(None, "")
    mean = float(np.mean(ratios))
    return Verdict(mean >= RATIO, f"mean {mean:.2f}; {'; '.join(listed)}")


def choice_is_good(results: Results) -> Verdict:
    """On average over data sets the kept restart has 90 % of the best DS in hindsight."""
    found = choices(results)
    if not found:
        return Verdict(None, "no data set has a DS that tells anything")
    ratios = {row: choice.kept / choice.best for row, choice in found.items()}
    listed = ", ".join(
        f"{row} {ratio:.2f} ({found[row].chosen_beta}, best {found[row].best_beta})"
        for row, ratio in ratios.items()
    )
    mean = float(np.mean(list(ratios.values())))
    return Verdict(mean >= RATIO if results.complete else None, f"mean {mean:.2f}; {listed}")


def choice_beats(results: Results, other: str) -> Verdict:
    """On average over data sets the chosen beta has a higher DS than another way to choose."""
    found = choices(results)
    if not found:
        return Verdict(None, "no data set has a DS that tells anything")
    pairs = {
        row: (c.chosen / c.best, (c.udr if other == "UDR" else c.fixed[other]) / c.best)
        for row, c in found.items()
    }
    ours, theirs = (np.array([pair[k] for pair in pairs.values()]) for k in (0, 1))
    listed = ", ".join(f"{row} {a:.2f} and {b:.2f}" for row, (a, b) in pairs.items())
    evidence = f"share of the best DS, chosen and {other}: {listed}"
    return decide_all(
        {"all data sets, in pairs": above(ours - theirs, 0.0)}, evidence, complete=results.complete
    )


def scores_of(rows: list[dict[str, Any]], method: str) -> Float[np.ndarray, "s"]:
    """MCC of a method, one a seed."""
    return np.array([row["scores"][method] for row in rows])


def recovers_more(results: Results, other: str) -> Verdict:
    """On every curved table the MCC of NonlinearPCA is above that of another method."""
    found = {k: v for k, v in results.computed.get("planted", {}).items() if k in CURVED}
    comparisons = dict[str, Comparison]()
    listed = []
    for name, rows in found.items():
        ours, theirs = scores_of(rows, OURS), scores_of(rows, other)
        comparisons[name] = above(ours, theirs)
        listed.append(f"{name} {ours.mean():.2f} and {theirs.mean():.2f}")
    return decide_all(comparisons, "; ".join(listed), complete=len(found) == len(CURVED))


def explains_more(results: Results) -> Verdict:
    """On every curved table as many components explain more variance than PCA's."""
    found = {k: v for k, v in results.computed.get("planted", {}).items() if k in CURVED}
    comparisons = dict[str, Comparison]()
    listed = []
    for name, rows in found.items():
        ours, theirs = (
            np.array([row[key] for row in rows]) for key in ("explained", "explained by PCA")
        )
        comparisons[name] = above(ours, theirs)
        listed.append(f"{name} {ours.mean():.3f} and {theirs.mean():.3f}")
    return decide_all(comparisons, "; ".join(listed), complete=len(found) == len(CURVED))


def finds_the_number(results: Results) -> Verdict:
    """The number of components is that of the factors, for every table and seed."""
    found = results.computed.get("planted", {})
    if not found:
        return Verdict(None, "")
    listed = ", ".join(
        f"{name} {'/'.join(str(row['components']) for row in rows)} of {rows[0]['factors']}"
        for name, rows in found.items()
    )
    right = all(row["components"] == row["factors"] for rows in found.values() for row in rows)
    return Verdict(right, listed)


def finds_the_noise(results: Results) -> Verdict:
    """Where noise is planted alike in all columns, its variance is found within a fifth."""
    off = {
        name: [row["noise"] / row["planted noise"] - 1 for row in rows]
        for name, rows in results.computed.get("planted", {}).items()
        if rows[0]["planted noise"]
    }
    if not off:
        return Verdict(None, "")
    listed = ", ".join(f"{name} {min(v):+.0%} to {max(v):+.0%}" for name, v in off.items())
    return Verdict(all(abs(v) <= NOISE_WITHIN for each in off.values() for v in each), listed)


def on_real(results: Results, quantity: str) -> Verdict:
    """On every real table a number of NonlinearPCA is above that of PCA."""
    found = results.computed.get("real", {})
    comparisons = dict[str, Comparison]()
    listed = []
    for name, methods in found.items():
        ours, theirs = (np.array(methods[m][quantity], dtype=float) for m in (OURS, LINEAR))
        comparisons[name] = above(ours, theirs)
        listed.append(f"{name} {ours.mean():.2f} and {theirs.mean():.2f}")
    return decide_all(comparisons, "; ".join(listed), complete=bool(found))
