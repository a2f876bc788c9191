"""Every metric on one set of codes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from unpick.arrays import Array, to_numpy
from unpick.metrics.bootstrap import Interval, intervals
from unpick.metrics.correlation import mean_correlation
from unpick.metrics.importance import LEARNERS, Learner, dci
from unpick.metrics.information import mig_sup, mutual_information_gap
from unpick.metrics.inputs import looks_continuous, tables
from unpick.metrics.interventions import beta_vae_score, factor_vae_score
from unpick.metrics.irs import irs
from unpick.metrics.modularity import modularity_explicitness
from unpick.metrics.predictability import disentanglement_score
from unpick.metrics.separability import sap
from unpick.names import unknown_choice

BINS = 20  # into which continuous factors are cut for metrics that want classes
FEWEST_DRAWS = 10  # for metrics that fit hundreds of classifiers
METRICS = (
    "MIG",
    "MIG-sup",
    "MIG, sampled",
    "MIG-sup, sampled",
    "modularity",
    "DS",
    "DCI disentanglement",
    "SAP",
    "FactorVAE",
    "beta-VAE",
    "IRS",
    "MCC, pearson",
    "MCC, spearman",
)


@dataclass(frozen=True, eq=False)
class MetricValue:
    """The value of one metric, with its interval.

    Attributes:
        name: As it is printed.
        value: nan if there is none.
        interval: Over the choice of observations, if it was asked for.
        per_factor: The parts that it is the mean of, if factors are what it averages over.
        note: How it was computed, or why there is no value.
        result: What the metric returned: its matrix and all parts.
    """

    name: str
    value: float
    interval: Interval | None
    per_factor: Float[np.ndarray, "k"] | None
    note: str
    result: Any


@dataclass(frozen=True, eq=False)
class Scorecard:
    """The values of all metrics for one model, in the order in which they are printed.

    Attributes:
        scores: Each of them.
        note: What was done to the factors, if anything.
    """

    scores: tuple[MetricValue, ...]
    note: str = ""

    def __getitem__(self, name: str) -> MetricValue:
        return {score.name: score for score in self.scores}[name]


@dataclass(frozen=True)
class _Computation:
    """How to compute a metric and its intervals.

    Attributes:
        function: Takes the arrays of all groups and returns the metric's result.
        groups: Arrays whose rows are resampled together.
        outputs: Printed name -> attribute of the result that holds the value.
        note: How it is computed.
        draws: Resamples.
        per_factor: The printed name that `result.per_factor` belongs to; None if there is one.
    """

    function: Callable[..., Any]
    groups: tuple[tuple[np.ndarray, ...], ...]
    outputs: Mapping[str, str]
    note: str
    draws: int
    per_factor: str | None = None


def scorecard(
    codes: Array,
    factors: Array,
    *,
    categorical: Sequence[bool] | None = None,
    log_variances: Array | None = None,
    learner: Learner = "fast",
    draws: int = 0,
    only: str | None = None,
    progress: Callable[[str], None] | None = None,
    rng: np.random.Generator | None = None,
) -> Scorecard:
    """MIG, MIG-sup, modularity, explicitness, DS, DCI, SAP, FactorVAE, beta-VAE, IRS and MCC.

    Metrics that fit something fit it to two thirds of the rows, DS to four fifths, and test on the
    others. A metric that cannot be computed for these arrays is nan, and its note says why.

    Args:
        codes: Latent means.
        factors: The generative factors of the same observations. For metrics that want classes a
            continuous factor (a value of its own for more than half the rows) is cut into 20 bins
            of as many rows each.
        categorical: Which factors are classes without an order, for DS; none by default.
        log_variances: Of the posteriors, for the sampled variants of MIG and MIG-sup.
        learner: The boosting of DCI; see `dci`.
        draws: Resamples for intervals; a tenth of them, but ten at least, for the metrics that fit
            many classifiers. None for sampled MIG.
        only: The name of a metric, one of `metric_names`; all of them by default.
        progress: Called with the name of each metric before it is computed.
        rng: Draws splits, votes and resamples.
    """
    codes, factors = tables(codes, factors, rows=30, latents=2)
    if log_variances is not None:
        log_variances = to_numpy(
            "log_variances", log_variances, "observations, latents", floating=True
        )
    if learner not in LEARNERS:
        raise unknown_choice("learner", learner, Learner)
    rng = rng or np.random.default_rng(0)
    seed = int(rng.integers(2**31))
    order = rng.permutation(len(codes))
    continuous = [looks_continuous(column) for column in factors.T]
    # As many rows in each bin: FactorVAE and beta-VAE scores need company for every value.
    ranks = factors.argsort(axis=0).argsort(axis=0) * BINS // len(factors)
    labels = np.where(continuous, ranks, factors).astype(float)
    cut = f"Continuous factors in {BINS} bins, but for DS and MCC." if any(continuous) else ""
    few = max(FEWEST_DRAWS, draws // 10) if draws else 0

    def again() -> np.random.Generator:
        """The same draws for every resample, so that only the observations differ."""
        return np.random.default_rng(seed)

    def parts(targets: np.ndarray, held: int) -> tuple[tuple[np.ndarray, ...], ...]:
        """To fit, and to test."""
        return tuple((codes[rows], targets[rows]) for rows in (order[held:], order[:held]))

    whole, fitted = ((codes, labels),), parts(labels, len(codes) // 3)
    sampled = () if log_variances is None else ((codes, labels, log_variances),)
    information = {"MIG": mutual_information_gap, "MIG-sup": mig_sup}
    computations = [
        *(_Computation(f, whole, {n: "score"}, "20 bins", draws) for n, f in information.items()),
        *(
            _Computation(
                lambda c, f, v, function=function: function(c, f, log_variances=v, rng=again()),
                (group,),
                {f"{name}, sampled": "score"},
                "one sample of each posterior",
                0,
            )
            for group in sampled
            for name, function in information.items()
        ),
        _Computation(
            lambda c, f, tc, tf: modularity_explicitness(c, f, test=(tc, tf)),
            fitted,
            {"modularity": "modularity", "explicitness": "explicitness"},
            "20 bins; logistic regression",
            few,
            per_factor="explicitness",
        ),
        _Computation(
            lambda c, f, tc, tf: disentanglement_score(c, f, categorical, test=(tc, tf)),
            parts(factors, len(codes) // 5),
            {"DS": "score"},
            "5 neighbours",
            draws,
        ),
        _Computation(
            lambda c, f, tc, tf: dci(c, f, test=(tc, tf), learner=learner, rng=again()),
            fitted,
            {
                f"DCI {part}": part
                for part in ("disentanglement", "completeness", "informativeness")
            },
            f"learner: {LEARNERS[learner]}",
            few,
            per_factor="DCI completeness",
        ),
        _Computation(
            lambda c, f, tc, tf: sap(c, f, test=(tc, tf), rng=again()),
            fitted,
            {"SAP": "score"},
            "linear classifiers",
            few,
        ),
        _Computation(
            lambda c, f: factor_vae_score(c, f, rng=again()),
            whole,
            {"FactorVAE": "score"},
            "batches of 64",
            draws,
        ),
        _Computation(
            lambda c, f: beta_vae_score(c, f, rng=again()),
            whole,
            {"beta-VAE": "score"},
            "batches of 64",
            draws,
        ),
        _Computation(irs, whole, {"IRS": "score"}, "quantile 0.99", draws),
        *(
            _Computation(
                lambda c, f, method=method: mean_correlation(c, f, method=method),
                ((codes, factors),),
                {f"MCC, {method}": "score"},
                "",
                draws,
            )
            for method in ("pearson", "spearman")
        ),
    ]
    values: list[MetricValue] = []
    names = [next(iter(metric.outputs)) for metric in computations]
    if only is not None and only not in names:
        raise ValueError(f"only must be one of {', '.join(names)}, got {only!r}")
    for metric in computations:
        if only not in (None, next(iter(metric.outputs))):
            continue
        if progress is not None:
            progress(next(iter(metric.outputs)))
        values += _compute(metric, np.random.default_rng(seed + 1))
    return Scorecard(tuple(values), cut)


def metric_names(*, sampled: bool) -> tuple[str, ...]:
    """The metrics of a scorecard by the first number of each, in their order.

    Args:
        sampled: With those that need posterior variances.
    """
    return tuple(name for name in METRICS if sampled or "sampled" not in name)


def _flat(metric: _Computation) -> list[np.ndarray]:
    return [array for group in metric.groups for array in group]


def _compute(metric: _Computation, rng: np.random.Generator) -> list[MetricValue]:
    """The values that a metric gives, or nan and the reason."""

    def numbers(*arrays: np.ndarray) -> list[float]:
        result = metric.function(*arrays)
        return [getattr(result, attribute) for attribute in metric.outputs.values()]

    try:
        result = metric.function(*_flat(metric))
    except ValueError as error:
        return [
            MetricValue(name, float("nan"), None, None, str(error), None)
            for name in metric.outputs
        ]
    found: Sequence[Interval | None] = [None] * len(metric.outputs)
    note = metric.note
    if metric.draws:
        try:
            found = intervals(numbers, *metric.groups, draws=metric.draws, rng=rng)
        except ValueError as error:
            note = f"no interval: {error}"
    parts = getattr(result, "per_factor", None)
    return [
        MetricValue(
            name,
            getattr(result, attribute),
            interval,
            parts if metric.per_factor in (None, name) else None,
            note,
            result,
        )
        for (name, attribute), interval in zip(metric.outputs.items(), found, strict=True)
    ]
