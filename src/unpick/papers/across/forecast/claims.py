"""What is said of the forecasts, as checks of results that can fail."""

from collections.abc import Callable, Mapping

import numpy as np
from jaxtyping import Float

from unpick.papers.across.forecast.cells import (
    CLOUDS,
    LENGTHENED,
    LONGER,
    MAIN,
    SWEPT,
    TIMES,
    foretold,
)
from unpick.papers.across.forecast.ranks import (
    LEVEL,
    Pairs,
    kendall_within,
    rank,
    share_interval,
    spearman,
)
from unpick.study.comparison import above
from unpick.study.study import Outcome, Results
from unpick.study.verdict import Verdict, decide_all

USEFUL = 0.5  # a rank correlation that an interval must leave possible
TWINS = ("sprites", "rooms")


def judge_rank(
    results: Results, pairs: Pairs, statistic: Callable[[Pairs], float], *, within: bool = False
) -> Verdict:
    """Holds if positive by a permutation test, fails if not and its interval excludes 0.5."""
    if len(pairs) < 3:
        return Verdict(None, "fewer than three data sets")
    found = rank(pairs, statistic, within=within)
    count = sum(len(a) for a, _ in pairs.values())
    evidence = f"{found} over {count} values of {len(pairs)} data sets"
    for kind in ("clouds", "images"):
        part = of_kind(pairs, kind)
        if 2 < len(part) < len(pairs):
            evidence += f"; {kind} alone {statistic(part):.2f}"
    if not results.complete:
        return Verdict(None, evidence)
    if found.p < LEVEL:
        return Verdict(True, evidence)
    if found.high < USEFUL:
        return Verdict(False, evidence)
    return Verdict(None, evidence, undecided=True)


def main_outcomes(results: Results) -> dict[str, Outcome]:
    """The outcome at the forecast's beta, by data set."""
    rows = results.rows()
    return {row: columns[MAIN] for row, columns in rows.items() if MAIN in columns}


def scores(results: Results, measure: str, key: str) -> Pairs:
    """Foretold and mean measured score, one a data set; those that were not measured left out."""
    found = {}
    for row, outcome in main_outcomes(results).items():
        ahead = foretold()[row]["prediction"][key]
        if measure in outcome.values and outcome.count(measure):
            found[row] = ([ahead], [outcome.mean(measure)])
    return found


def of_kind(pairs: Pairs, kind: str) -> Pairs:
    """Those of `clouds`, of `images`, or of all."""
    return {n: p for n, p in pairs.items() if kind == "all" or (n in CLOUDS) == (kind == "clouds")}


def dto_ranks(results: Results, kind: str = "all") -> Verdict:
    """Data sets foretold a larger DtO have one."""
    pairs = scores(results, "DtO share", "ideal_dto")
    return judge_rank(results, of_kind(pairs, kind), spearman)


def mig_ranks(results: Results, kind: str = "all") -> Verdict:
    """Data sets foretold a larger MIG have one."""
    return judge_rank(results, of_kind(scores(results, "MIG", "ideal_mig"), kind), spearman)


def confusions(results: Results) -> dict[str, dict[tuple[str, str], tuple[float, float, str]]]:
    """Foretold and measured confusion, and the fate foretold, of every pair of factors."""
    found: dict[str, dict[tuple[str, str], tuple[float, float, str]]] = {}
    for row, outcome in main_outcomes(results).items():
        for pair in foretold()[row]["pairs"]:
            key = f"confusion: {pair['first']} | {pair['second']}"
            if key in outcome.values and outcome.count(key):
                found.setdefault(row, {})[pair["first"], pair["second"]] = (
                    pair["confusion"],
                    outcome.mean(key),
                    pair["fate"],
                )
    return found


def confusion_ranks(results: Results, kind: str = "all") -> Verdict:
    """Pairs foretold more confused are."""
    pairs = {
        row: ([v[0] for v in each.values()], [v[1] for v in each.values()])
        for row, each in confusions(results).items()
    }
    return judge_rank(results, of_kind(pairs, kind), spearman)


def fates_come_true(results: Results) -> Verdict:
    """Pairs foretold mixed or open are more confused than those foretold apart."""
    every = [v for each in confusions(results).values() for v in each.values()]
    apart = np.array([measured for _, measured, fate in every if fate == "told apart"])
    other = np.array([measured for _, measured, fate in every if fate != "told apart"])
    if len(apart) < 2 or len(other) < 2:
        return Verdict(None, "")
    evidence = (
        f"{len(other)} pairs foretold mixed or open {other.mean():.2f}, {len(apart)} foretold "
        f"apart {apart.mean():.2f}"
    )
    return decide_all({"all pairs": above(other, apart)}, evidence, complete=results.complete)


def sweeps(results: Results) -> dict[str, dict[str, Outcome]]:
    """The outcomes over beta of every swept data set that has all of them."""
    found = {
        row: {name: outcome for name, outcome in columns.items() if name != LONGER}
        for row, columns in results.rows().items()
        if row in SWEPT
    }
    return {row: columns for row, columns in found.items() if len(columns) == 1 + len(TIMES)}


def endurance(columns: Mapping[str, Outcome], name: str) -> float:
    """The share of its best predictability that a factor keeps, mean over the betas."""
    held = [outcome.mean(f"held: {name}") for outcome in columns.values()]
    return float(np.mean(held) / max(held)) if max(held) > 0 else 0.0


def endurances(results: Results) -> dict[str, dict[str, tuple[float, float]]]:
    """What each factor saves by the forecast, and how long it endures, by swept data set."""
    return {
        row: {
            f["name"]: (f["saving"], endurance(columns, f["name"]))
            for f in foretold()[row]["factors"]
        }
        for row, columns in sweeps(results).items()
    }


def order_comes_true(results: Results) -> Verdict:
    """Factors that save more are kept to a larger beta."""
    pairs = {
        row: ([v[0] for v in each.values()], [v[1] for v in each.values()])
        for row, each in endurances(results).items()
    }
    return judge_rank(results, pairs, kendall_within, within=True)


def falls_within(results: Results, measure: str, key: str) -> Verdict:
    """More than half of the data sets have their mean within the foretold range."""
    inside: list[str] = []
    outside: list[str] = []
    widths: list[float] = []
    for row, (_, (value,)) in scores(results, measure, f"ideal_{key}").items():
        low, high = foretold()[row]["prediction"][key]
        text = f"{row} {value:.2f} ({low:.2f} to {high:.2f})"
        widths.append(high - low)
        (inside if low <= value <= high else outside).append(text)
    n = len(inside) + len(outside)
    if not n:
        return Verdict(None, "")
    low, high = share_interval(len(inside), n)
    evidence = (
        f"{len(inside)} of {n} ({low:.0%} to {high:.0%}); ranges are {min(widths):.2f} to "
        f"{max(widths):.2f} wide; outside: {', '.join(outside) or 'none'}"
    )
    if not results.complete:
        return Verdict(None, evidence)
    decided = True if low > 0.5 else False if high < 0.5 else None
    return Verdict(decided, evidence, undecided=decided is None)


def twin_misleads(results: Results) -> Verdict:
    """On the perturbed twin the measured MIG is lower than on the noisy one."""
    rows = main_outcomes(results)
    found = {
        data: above(rows[f"{data}, noisy"].values["MIG"], rows[f"{data}, perturbed"].values["MIG"])
        for data in TWINS
        if {f"{data}, noisy", f"{data}, perturbed"} <= {*rows}
    }
    means = "; ".join(
        f"{row} {rows[row].mean('MIG'):.3f}" for row in rows if row.split(",")[0] in found
    )
    return decide_all(found, f"MIG: {means}", complete=len(found) == len(TWINS))


def forecast_sees(results: Results, key: str, more: str) -> Verdict:
    """On the perturbed twin the forecast is worse than on the noisy one, over choices of points.

    Args:
        results: Of the study.
        key: Of the repeats of a forecast.
        more: Where the value should be higher.
    """
    found = {}
    rows = main_outcomes(results)
    for data in TWINS:
        names = {twin: f"{data}, {twin}" for twin in ("noisy", "perturbed")}
        if {*names.values()} <= {*rows}:  # judged beside what was measured
            made = foretold()
            values = {t: np.array(made[name]["repeats"][key]) for t, name in names.items()}
            other = "noisy" if more == "perturbed" else "perturbed"
            found[data] = (above(values[more], values[other]), values)
    told = "; ".join(
        f"{data} {_mean(v['noisy'])} noisy, {_mean(v['perturbed'])} perturbed"
        for data, (_, v) in found.items()
    )
    comparisons = {data: comparison for data, (comparison, _) in found.items()}
    return decide_all(comparisons, told, complete=len(found) == len(TWINS))


def _mean(values: Float[np.ndarray, "s"]) -> str:
    return f"{values.mean():.3f} ± {values.std(ddof=1):.3f}"


def betas_are_good(results: Results) -> Verdict:
    """Of a sweep the best MIG within the suggested betas is above the best outside."""
    comparisons = {}
    for row, columns in sweeps(results).items():
        low, high = foretold()[row]["betas"]
        best: dict[bool, Outcome] = {}
        for outcome in columns.values():
            inside = low <= outcome.cell.config.scalars()["beta"] <= high
            known = best.get(inside)
            if known is None or outcome.mean("MIG") > known.mean("MIG"):
                best[inside] = outcome
        if len(best) == 2:
            comparisons[row] = above(best[True].values["MIG"], best[False].values["MIG"])
    return decide_all(comparisons, "", complete=results.complete)


def longer_is_nearer(results: Results) -> Verdict:
    """Four times the steps bring a lower DtO on each of the images that were trained so."""
    found, told = {}, []
    for row in LENGTHENED:
        columns = results.rows().get(row, {})
        if {MAIN, LONGER} <= {*columns}:
            short, long = (columns[name].values["DtO share"] for name in (MAIN, LONGER))
            found[row] = above(short, long)
            told.append(f"{row} {short.mean():.2f} and {long.mean():.2f}")
    complete = len(found) == len(LENGTHENED)
    return decide_all(found, f"DtO share: {', '.join(told)}", complete=complete)
