"""The ablation of table 3.3 judged, and what makes the angle that it leaves."""

import math
from collections.abc import Mapping

import numpy as np

from unpick.geometry import haar_distance
from unpick.models.networks import Weights
from unpick.papers.zietlow2022.chapter3 import CLOUDS, Data
from unpick.papers.zietlow2022.controls.cells import DIAGONAL, FULL, column
from unpick.papers.zietlow2022.open_axes import MARGIN, leaves_open
from unpick.study.comparison import Comparison, above
from unpick.study.study import Check, Outcome, Results
from unpick.study.verdict import Verdict, decide_all

LAWS: tuple[Weights, ...] = ("uniform", "gaussian")


def ablation(data: Data) -> Check:
    """With a full covariance, DtO is not below that of untrained networks."""

    def check(results: Results) -> Verdict:
        own, nulls = _full(results, data), results.computed.get("untrained")
        if own is None or nulls is None:
            return Verdict(None, "")
        null, spread = nulls[f"{data}, uniform"]
        text = f"{_told(own)}; untrained {null:.3f} ± {spread:.3f}"
        return leaves_open({data: (own.values["DtO"], [null])}, text, complete=True)

    return check


def invariant(results: Results) -> Verdict:
    """With SGD and Gaussian weights, DtO lies within a quarter of chance."""
    chance = haar_distance(2)
    comparisons, texts = dict[str, Comparison](), []
    for data in CLOUDS:
        if own := _full(results, data, sgd=True, weights="gaussian"):
            values = own.values["DtO"]
            comparisons[f"{data}, above {1 - MARGIN:g} of it"] = above(
                values, (1 - MARGIN) * chance
            )
            comparisons[f"{data}, below {1 + MARGIN:g} of it"] = above(
                -values, -(1 + MARGIN) * chance
            )
            texts.append(f"{data}: {_told(own)}")
    evidence = "; ".join([*texts, f"chance {chance:.3f}"])
    return decide_all(comparisons, evidence, complete=len(texts) == len(CLOUDS))


def diagonal_aligns(results: Results) -> Verdict:
    """DtO of the beta-VAE is below that of the full covariance."""
    return _both(results, "DtO", lower=True)


def diagonal_disentangles(results: Results) -> Verdict:
    """DS of the beta-VAE is above that of the full covariance."""
    return _both(results, "DS", lower=False)


def _both(results: Results, measure: str, *, lower: bool) -> Verdict:
    comparisons, texts = dict[str, Comparison](), []
    for data in CLOUDS:
        columns = results.rows().get(data, {})
        if DIAGONAL in columns and FULL in columns:
            own, full = columns[DIAGONAL], columns[FULL]
            comparisons[data] = full.above(own, measure) if lower else own.above(full, measure)
            texts.append(f"{data}: {own.mean(measure):.3f} against {full.mean(measure):.3f}")
    return decide_all(comparisons, "; ".join(texts), complete=len(texts) == len(CLOUDS))


def adam_turns(results: Results) -> Verdict:
    """On synth-lin Adam leaves a larger DtO than SGD, whatever the first weights."""
    pairs = {
        f"{weights} weights": (
            _full(results, "synth-lin", weights=weights),
            _full(results, "synth-lin", sgd=True, weights=weights),
        )
        for weights in LAWS
    }
    return _larger(pairs, "Adam and SGD")


def uniform_turns(results: Results) -> Verdict:
    """On synth-lin uniform weights leave a larger DtO than Gaussian ones, Adam or SGD."""
    pairs = {
        "SGD" if sgd else "Adam": (
            _full(results, "synth-lin", sgd=sgd),
            _full(results, "synth-lin", sgd=sgd, weights="gaussian"),
        )
        for sgd in (False, True)
    }
    return _larger(pairs, "uniform and Gaussian")


def _larger(pairs: Mapping[str, tuple[Outcome | None, Outcome | None]], names: str) -> Verdict:
    comparisons, texts = dict[str, Comparison](), []
    for name, (one, other) in pairs.items():
        if one and other:
            comparisons[name] = one.above(other, "DtO")
            texts.append(f"{name}: {one.mean('DtO'):.3f} and {other.mean('DtO'):.3f}")
    evidence = f"{names}, {'; '.join(texts)}"
    return decide_all(comparisons, evidence, complete=len(texts) == len(pairs))


def factor_turns(results: Results) -> Verdict:
    """In exact descent a triangular factor ends above chance, and above a square one."""
    courses = results.computed.get("factors")
    if courses is None:
        return Verdict(None, "")
    triangular, square = (np.array(courses[name][-1]) for name in ("triangular", "square"))
    chance = haar_distance(2)
    comparisons = {
        "triangular above chance": above(triangular, chance),
        "triangular above square": above(triangular - square, 0.0),
    }
    text = f"triangular {triangular.mean():.3f}, square {square.mean():.3f}, chance {chance:.3f}"
    return decide_all(comparisons, f"{text} over {len(square)} members", complete=True)


def sigmoid_matters(results: Results) -> Verdict:
    """On sprites DtO is smaller before the sigmoid, seed by seed."""
    own = results.rows().get("sprites", {}).get(DIAGONAL)
    if own is None or "DtO of logits" not in own.values:
        return Verdict(None, "")
    after, before = own.values["DtO"], own.values["DtO of logits"]
    text = f"after it {own.mean('DtO'):.3f}, before it {own.mean('DtO of logits'):.3f}"
    return decide_all({"sprites": above(after - before, 0.0)}, text, complete=True)


def _full(
    results: Results, data: Data, *, sgd: bool = False, weights: Weights = "uniform"
) -> Outcome | None:
    """The full covariance with an optimiser and a law of the first weights."""
    return results.rows().get(data, {}).get(column("beta-vae-sigma", sgd, weights))


def _told(outcome: Outcome) -> str:
    spread = outcome.deviation("DtO")
    more = "" if math.isnan(spread) else f" ± {spread:.3f}"
    seeds, steps = len(outcome.runs), outcome.cell.config.steps
    return f"{outcome.mean('DtO'):.3f}{more} over {seeds} seeds of {steps} steps"
