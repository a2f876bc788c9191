"""Claims about NonlinearPCA, as checks of results that can fail."""

import math
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
LINEAR_WITHIN = 0.05  # the same for a linear network,
SAME = 0.999  # and the cosine from which its components are PCA's
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
        fitted: DS of the components of the fitted estimator; nan for plain runs.
    """

    best: float
    best_beta: str
    chosen: float
    chosen_beta: str
    kept: float
    udr: float
    fixed: Mapping[str, float]
    fitted: float = math.nan


def choices(results: Results) -> dict[str, Choice]:
    """What each way to choose among plain runs reaches, by data set."""
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


def searches(results: Results) -> dict[str, Choice]:
    """What each way to choose in the estimator's own search reaches, by data set; means of seeds.

    Hindsight takes one beta for all seeds.
    """
    found = {}
    for name, seeds in results.computed.get("choice", {}).items():
        # A grid depends on the rows that a seed holds out: its betas have places.
        tables = np.array([[np.mean(v) for v in seed["DS"].values()] for seed in seeds])
        betas = [list(seed["DS"]) for seed in seeds]
        best = int(tables.mean(0).argmax())

        def at(key: str, seeds: Any = seeds) -> float:  # noqa: ANN401
            return float(np.mean([np.mean(seed["DS"][seed[key]]) for seed in seeds]))

        if tables.mean(0)[best] >= LEAST_DS:
            found[name] = Choice(
                float(tables.mean(0)[best]),
                betas[0][best],
                at("chosen"),
                "/".join(dict.fromkeys(seed["chosen"] for seed in seeds)),
                float(np.mean([seed["kept"] for seed in seeds])),
                at("UDR"),
                {"beta 1": float(tables[:, -2].mean()), "beta 4": float(tables[:, -1].mean())},
                float(np.mean([seed["fitted"] for seed in seeds])),
            )
    return found


SOURCES = {"search": searches, "runs": choices}


def choice_is_good(results: Results, source: str, what: str) -> Verdict:
    """On average over data sets `kept` or `fitted` has 90 % of the best DS in hindsight."""
    found = SOURCES[source](results)
    if not found:
        return Verdict(None, "no data set has a DS that tells anything")
    # One restart may be better than the mean of the best beta: that counts as all of it.
    ratios = {row: min(1.0, getattr(c, what) / c.best) for row, c in found.items()}
    listed = ", ".join(
        f"{row} {ratio:.2f} ({found[row].chosen_beta}, best {found[row].best_beta})"
        for row, ratio in ratios.items()
    )
    shares = np.array([*ratios.values()])
    evidence = f"mean {shares.mean():.2f}; {listed}"
    return decide_all(
        {f"mean over data sets less {RATIO:g}": above(shares, RATIO)},
        evidence,
        complete=results.complete,
    )


def choice_beats(results: Results, source: str, other: str) -> Verdict:
    """On average over data sets the chosen beta has a higher DS than another way to choose."""
    found = SOURCES[source](results)
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


def points_closer(results: Results, other: str) -> Verdict:
    """On every curved table local directions are closer to the factors' than another method's."""
    found = {k: v for k, v in results.computed.get("planted", {}).items() if k in CURVED}
    comparisons = dict[str, Comparison]()
    listed = []
    for name, rows in found.items():
        ours, theirs = (np.array([row["angles"][m] for row in rows]) for m in (OURS, other))
        comparisons[name] = above(theirs, ours)
        listed.append(f"{name} {ours.mean():.0f} and {theirs.mean():.0f} degrees")
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


def linear_is_ppca(results: Results) -> Verdict:
    """A linear network finds three components, PCA's, and the planted noise within 5 %."""
    found = results.computed.get("linear", {})
    if not found:
        return Verdict(None, "")
    every = [row for rows in found.values() for row in rows]
    counts = sorted({row["components"] for row in every})
    off = [row["noise"] - 1 for row in every]
    least = min(row["cosine"] for row in every)
    evidence = (
        f"{len(found)} levels of noise: {', '.join(map(str, counts))} components, noise variance "
        f"{min(off):+.1%} to {max(off):+.1%} off, cosine to PCA's components at least {least:.4f}"
    )
    right = counts == [3] and max(map(abs, off)) <= LINEAR_WITHIN and least >= SAME
    return Verdict(right, evidence)


def tables_of(results: Results) -> dict[str, Any]:
    """What is known of the real tables, those of files that are there among them."""
    return {**results.computed.get("real", {}), **results.computed.get("files", {})}


def on_real(results: Results, quantity: str) -> Verdict:
    """On every real table a number of NonlinearPCA is above that of PCA."""
    found = tables_of(results)
    comparisons = dict[str, Comparison]()
    listed = []
    for name, methods in found.items():
        ours, theirs = (np.array(methods[m][quantity], dtype=float) for m in (OURS, LINEAR))
        comparisons[name] = above(ours, theirs)
        listed.append(f"{name} {ours.mean():.2f} and {theirs.mean():.2f}")
    return decide_all(comparisons, "; ".join(listed), complete=bool(found))
