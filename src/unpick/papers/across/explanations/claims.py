"""Claims about where the explanations agree and differ, as checks of results."""

from collections.abc import Mapping
from itertools import combinations
from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy.stats import spearmanr

from unpick.study.comparison import Comparison, above
from unpick.study.study import Outcome, Results
from unpick.study.sweep import beta_of
from unpick.study.verdict import Verdict, decide_all

Kind = Literal["steps", "beta"]
WHEN: Mapping[Kind, str] = {"steps": "along training", "beta": "over beta"}

DATA = ("synth-nonlin", "sprites")
# The quantity of each paper, and its value after a random rotation of the latent space.
FOUR = {
    "DtO": "chance",
    "IMA": "IMA, turned",
    "OD-Score": "OD-Score, turned",
    "off-diagonal": "off-diagonal, turned",
}
RANKED = (*FOUR, "price", "scatter", "MIG", "error")
STRONG = 0.8  # rank correlation from which quantities agree
CLEAR = 0.5  # rank correlation from which one quantity predicts another
FITS = 0.25  # scatter below which variances fit the decoder: off by a quarter
ALIGNED = 0.5  # share of the value of a random rotation
NEAR = 0.1  # relative difference below which numbers count as equal


def select(results: Results, data: str, kind: Kind) -> dict[float, Outcome]:
    """The outcomes on a data set by step or by beta, ascending."""
    row = results.rows().get(f"{data}, {kind}", {}).values()
    keyed = {
        float(o.cell.config.steps) if kind == "steps" else beta_of(o.cell.config): o for o in row
    }
    return dict(sorted(keyed.items()))


def series(results: Results, kind: Kind) -> dict[str, dict[float, Outcome]]:
    """The same for each data set that has runs."""
    every = {data: select(results, data, kind) for data in DATA}
    return {data: outcomes for data, outcomes in every.items() if outcomes}


def values(outcome: Outcome, name: str) -> Float[np.ndarray, "s"]:
    """A value a seed; nan where there is none."""
    return np.asarray(outcome.values.get(name, np.full(len(outcome.runs), np.nan)))


def relative(outcome: Outcome, name: str) -> Float[np.ndarray, "s"]:
    """A value a seed, divided by that of a random rotation where it is known."""
    turned = FOUR.get(name, f"{name}, turned")
    return values(outcome, name) / (values(outcome, turned) if turned in outcome.values else 1.0)


def mean(numbers: Float[np.ndarray, "s"]) -> float:
    """Mean over the seeds that have a value; nan if none has."""
    known = numbers[np.isfinite(numbers)]
    return float(known.mean()) if len(known) else float("nan")


def ranks(outcomes: Mapping[float, Outcome]) -> Float[np.ndarray, "q q"]:
    """Spearman's correlations of all `RANKED`, over the runs that have all of them.

    The first four, and the price, are relative to a random rotation.
    """
    table = [
        [relative(outcome, name)[k] for name in RANKED]
        for outcome in outcomes.values()
        for k in range(len(outcome.runs))
    ]
    known = np.array([row for row in table if np.isfinite(row).all()])
    if len(known) < 4:
        return np.full((len(RANKED), len(RANKED)), np.nan)
    return np.asarray(spearmanr(known).statistic)


def list_range(numbers: Float[np.ndarray, "s"]) -> str:
    """The smallest and the largest value, in words."""
    known = numbers[np.isfinite(numbers)]
    return f"{known.min():.2f} to {known.max():.2f}"


def below_chance(results: Results) -> Verdict:
    """At the last step each of the four is below its value after a random rotation."""
    holds, evidence = dict[str, bool](), []
    for data, outcomes in series(results, "steps").items():
        last = outcomes[max(outcomes)]
        shares = {name: relative(last, name) for name in FOUR}
        if max(outcomes) == 0 or not all(np.isfinite(s).any() for s in shares.values()):
            continue
        holds[data] = all(bool((share < 1).all()) for share in shares.values())  # nan is not
        listed = ", ".join(f"{name} {list_range(share)}" for name, share in shares.items())
        evidence.append(f"{data}: {listed} of a random rotation's")
    return Verdict(results.all_hold(holds), "; ".join(evidence))


def becomes_orthogonal(results: Results) -> Verdict:
    """IMA contrast and off-diagonal part are smaller at the end than before training."""
    comparisons, evidence = dict[str, Comparison](), []
    for data, outcomes in series(results, "steps").items():
        if min(outcomes) > 0 or max(outcomes) == 0:
            continue
        ends = outcomes[min(outcomes)], outcomes[max(outcomes)]
        pairs = {n: [mean(values(o, n)) for o in ends] for n in ("IMA", "off-diagonal")}
        if np.isnan(list(pairs.values())).any():
            continue
        for name in pairs:
            comparisons[f"{data}, {name}"] = above(*(values(o, name) for o in ends))
        listed = ", ".join(
            f"{n} {before:.3f} to {after:.3f}" for n, (before, after) in pairs.items()
        )
        evidence.append(f"{data}: {listed}")
    return decide_all(comparisons, "; ".join(evidence), complete=results.complete)


def ranks_agree(kind: Kind, results: Results) -> Verdict:
    """Any two of the four rank the models alike."""
    holds, evidence = dict[str, bool](), []
    for data, outcomes in series(results, kind).items():
        table = ranks(outcomes)
        if np.isnan(table).any():
            continue
        pairs = {(a, b): table[RANKED.index(a), RANKED.index(b)] for a, b in combinations(FOUR, 2)}
        least, most = min(pairs, key=lambda p: pairs[p]), max(pairs, key=lambda p: pairs[p])
        holds[data] = bool(pairs[least] >= STRONG)
        listed = [f"{pairs[pair]:.2f} ({' and '.join(pair)})" for pair in (least, most)]
        evidence.append(f"{data}: {' to '.join(listed)}")
    return Verdict(results.all_hold(holds), "; ".join(evidence))


def needs_pressure(results: Results) -> Verdict:
    """Of all betas the smallest has the smallest error and the largest DtO."""
    comparisons, evidence = dict[str, Comparison](), []
    for data, outcomes in series(results, "beta").items():
        errors = {beta: mean(values(o, "error")) for beta, o in outcomes.items()}
        shares = {b: mean(relative(o, "DtO")) for b, o in outcomes.items()}
        shares = {beta: share for beta, share in shares.items() if np.isfinite(share)}
        least = min(outcomes)
        if len(outcomes) < 2 or least not in shares:
            continue
        best, worst = min(errors, key=lambda b: errors[b]), max(shares, key=lambda b: shares[b])
        for beta in (beta for beta in outcomes if beta != least):
            worse, first = values(outcomes[beta], "error"), values(outcomes[least], "error")
            comparisons[f"{data}, error at {beta:.2g}"] = above(worse, first)
            if beta in shares:
                both = (relative(outcomes[each], "DtO") for each in (least, beta))
                comparisons[f"{data}, DtO at {beta:.2g}"] = above(*both)
        lowest = min(shares, key=lambda b: shares[b])
        evidence.append(
            f"{data}: at beta {least:.2g} error {errors[least]:.4f} (least at {best:.2g}), DtO "
            f"{shares[least]:.2f} of chance (most at {worst:.2g}; least {shares[lowest]:.2f} at "
            f"{lowest:.2g})"
        )
    return decide_all(comparisons, "; ".join(evidence), complete=results.complete)


def fit_means_aligned(results: Results) -> Verdict:
    """No model whose variances fit the decoder has axes that are not aligned."""
    holds, evidence = dict[str, bool](), []
    for data in DATA:
        mine = [o for o in results.outcomes if o.cell.row.startswith(data)]
        # The last snapshot of a training is one of the models over beta, too.
        runs = {run.config: (o, k) for o in mine for k, run in enumerate(o.runs)}
        fits = [(o, k) for o, k in runs.values() if values(o, "scatter")[k] < FITS]
        shares = [(relative(o, "DtO")[k], o, k) for o, k in fits]
        shares = [each for each in shares if np.isfinite(each[0])]
        if not shares:
            continue
        off = [share for share, *_ in shares if share > ALIGNED]
        share, outcome, k = max(shares, key=lambda each: each[0])
        holds[data] = not off
        evidence.append(
            f"{data}: DtO above {ALIGNED:g} of chance in {len(off)} of {len(shares)} that fit; "
            f"most {share:.2f} where scatter is {values(outcome, 'scatter')[k]:.2f} "
            f"({outcome.cell.column})"
        )
    return Verdict(results.all_hold(holds), "; ".join(evidence))


def price_is_contrast(results: Results) -> Verdict:
    """At the smallest beta the price is the IMA contrast in the likelihood's metric."""
    holds, evidence = dict[str, bool](), []
    for data, outcomes in series(results, "beta").items():
        first = outcomes[min(outcomes)]
        paid, contrast = values(first, "price"), values(first, "IMA, likelihood")
        if not np.isfinite(paid).any():
            continue
        holds[data] = bool(np.nanmax(np.abs(paid / contrast - 1)) < NEAR)
        listed = f"price {mean(paid):.3g}, contrast {mean(contrast):.3g} nats"
        evidence.append(f"{data}, beta {min(outcomes):.2g}: {listed}")
    return Verdict(results.all_hold(holds), "; ".join(evidence))


def likelihood_metric(results: Results) -> Verdict:
    """At every beta the contrast is smaller in the likelihood's metric than in that of pixels."""
    found = {
        f"beta {beta:.2g}": [values(o, name) for name in ("IMA", "IMA, likelihood")]
        for beta, o in select(results, "sprites", "beta").items()
        if np.isfinite(values(o, "IMA")).any()
    }
    comparisons = {beta: above(pixels - ours, 0.0) for beta, (pixels, ours) in found.items()}
    listed = [f"{beta}: {mean(a):.3f} and {mean(b):.3f}" for beta, (a, b) in found.items()]
    evidence = f"of pixels and of the likelihood: {', '.join(listed)}"
    return decide_all(comparisons, evidence, complete=results.complete)


def disentangles(results: Results) -> Verdict:
    """Over beta each of the four falls as MIG rises."""
    holds, evidence = dict[str, bool](), []
    for data, outcomes in series(results, "beta").items():
        table = ranks(outcomes)
        if np.isnan(table).any():
            continue
        with_mig = {name: table[RANKED.index(name), RANKED.index("MIG")] for name in FOUR}
        shares = {b: np.mean([mean(relative(o, n)) for n in FOUR]) for b, o in outcomes.items()}
        shares = {beta: share for beta, share in shares.items() if np.isfinite(share)}
        # The MIG of a model without latents in use is noise.
        means = {beta: mean(values(outcomes[beta], "MIG")) for beta in shares}
        holds[data] = bool(max(with_mig.values()) <= -CLEAR)
        listed = ", ".join(f"{name} {rank:+.2f}" for name, rank in with_mig.items())
        best, aligned = max(means, key=lambda b: means[b]), min(shares, key=lambda b: shares[b])
        evidence.append(
            f"{data}: {listed}; MIG is best at beta {best:.2g} ({means[best]:.2f}), the axes at "
            f"{aligned:.2g} (MIG {means[aligned]:.2f})"
        )
    return Verdict(results.all_hold(holds), "; ".join(evidence))
