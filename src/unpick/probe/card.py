"""Every measure of a finished run on one card, as `unpick measure` prints it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from torch import Tensor

from unpick.data import DataConfig, Dataset, split
from unpick.geometry import haar_distance, polarized_regime
from unpick.metrics import UDR, Interval, MetricValue, Scorecard, metric_names, scorecard, udr
from unpick.models.posterior import family_of
from unpick.names import check_choices
from unpick.probe.cache import Measure, is_measured, measure_run, probe_run
from unpick.probe.measures import MEASURES, codes_and_factors
from unpick.probe.probe import Probe
from unpick.runs import Run, Runner, folder, read
from unpick.training import RunConfig
from unpick.training.progress import with_counts

NAMES = {"active": "active latents"}
NOTES = {
    "column cosine": "0 is orthogonal",
    "IMA contrast": "nats; 0 is orthogonal",
    "Delta_KL": "below 0.03 in the polarized regime",
}
LEAST = 30  # test observations that metrics of factors need
UNPRINTED = ("chance", "degenerate", "largest variance")  # told in notes, or only in studies


@dataclass(frozen=True)
class CardOptions:
    """How to measure.

    Attributes:
        samples: Observations of the test part, at most.
        learner: Of DCI: the library's own, which takes minutes, or the fast proxy.
        draws: Resamples for intervals; 0 leaves them out.
    """

    samples: int = 15_000
    learner: Literal["gradient-boosting", "fast"] = "fast"
    draws: int = 100

    def __post_init__(self) -> None:
        check_choices(self)
        if self.samples < LEAST:
            raise ValueError(f"samples must be at least {LEAST}, got {self.samples}")
        if self.draws < 0 or self.draws == 1:
            raise ValueError(f"draws must be 0, or 2 or more, got {self.draws}")


@dataclass(frozen=True)
class MetricRows:
    """A measure: one metric of codes and factors, with its interval and parts.

    Attributes:
        name: The metric's, as `unpick.metrics.metric_names` lists it.
        learner: Of DCI.
        draws: Resamples for the interval.
    """

    name: str
    learner: Literal["gradient-boosting", "fast"]
    draws: int

    def __call__(self, probe: Probe) -> dict[str, Any]:
        """The metric's numbers by name, and a note on the factors."""
        codes, factors = codes_and_factors(probe)
        log_variances = None
        if probe.variance is not None and probe.codes.factor is None:
            log_variances = probe.variance.cpu().log().double().numpy()
        card = scorecard(
            codes,
            factors,
            categorical=probe.categorical,
            log_variances=log_variances,
            learner=self.learner,
            draws=self.draws,
            only=self.name,
        )
        return {"note": card.note, self.name: scores_to_json(card.scores)}


def measure_card(
    run: Run,
    dataset: Dataset,
    options: CardOptions,
    on_progress: Callable[[str], object] = lambda name: None,
) -> Scorecard:
    """All measures of a run, cached one by one in its folder.

    Geometry of the decoder if there is one, then every metric if the data set has factors.
    """
    latents, metrics = run.config.model.latents, metrics_of(run, dataset, options)
    # All at once, so that the data are encoded once.
    measures: tuple[Measure, ...] = (*MEASURES, *metrics)
    values = measure_run(run, measures, lambda: dataset, options.samples, on_progress)
    note, found = values.pop("note", ""), [values.pop(metric.name) for metric in metrics]
    if dataset.factors and len(split(dataset).test) < LEAST:
        note = f"Metrics of factors need {LEAST} test observations, a tenth of the data."
    rows = [
        MetricValue(NAMES.get(name, name), value, None, None, _note(name, values, latents), None)
        for name, value in values.items()
        if name not in UNPRINTED and not (name == "DtO, active" and values["active"] == latents)
    ]
    for each in found:
        rows += scores_from_json(each)
    return Scorecard(tuple(rows), note)


def metrics_of(run: Run, dataset: Dataset, options: CardOptions) -> list[MetricRows]:
    """The metrics that a run on this data set has."""
    latents, family = run.config.model.latents, family_of(run.config.model.posterior)
    if not dataset.factors or latents < 2 or len(split(dataset).test) < LEAST:
        return []
    names = metric_names(sampled=family.has_variance and not family.correlated)
    return [MetricRows(name, options.learner, options.draws) for name in names]


def measure_on_cluster(
    runs: Sequence[Run],
    datasets: Mapping[DataConfig, Dataset],
    options: CardOptions,
    runner: Runner,
    on_progress: Callable[[str], object],
) -> None:
    """Take what `measure_card` would take of each run, on a cluster; it is cached in the folders.

    A folder that was renamed is left to this machine.
    """
    todo: dict[Path, list[Run]] = {}
    for run in runs:
        metrics = metrics_of(run, datasets[run.config.data], options)
        measures: tuple[Measure, ...] = (*MEASURES, *metrics)
        root = run.path.parent
        if folder(run.config, root) == run.path and not is_measured(
            run, measures, options.samples
        ):
            todo.setdefault(root, []).append(run)
    for root, several in todo.items():
        there = replace(runner, root=root)
        calls = [((run.config,), there, options) for run in several]
        there.run(measure_there, calls, *with_counts(on_progress))


def measure_there(
    configs: Sequence[RunConfig],
    runner: Runner,
    options: CardOptions,
    on_progress: Callable[[str], object],
) -> None:
    """Take all measures of finished runs, somewhere else than where they are printed."""
    for config in configs:
        path = folder(config, runner.root)
        run = read(path, runner.device, runner.factory)
        if run is not None:
            tell = partial(_tell, on_progress, path.name)
            measure_card(replace(run, config=config), config.data.load(), options, tell)


def _tell(on_progress: Callable[[str], object], run: str, measure: str) -> None:
    on_progress(f"{run}: {measure}")


def _note(name: str, values: Mapping[str, Any], latents: int) -> str:
    """What a number means, beside it."""
    if name == "DtO":
        return f"chance {values['chance']:.2f}; 0 is aligned"
    if name == "DtO, active":
        return f"chance {haar_distance(int(values['active'])):.2f}; active latents only"
    return f"of {latents}" if name == "active" else NOTES.get(name, "")


def agreement(runs: Sequence[Run], dataset: Dataset, samples: int = 1000) -> UDR | None:
    """UDR of runs on one data set; None without posteriors."""
    codes, kl = [], []
    for run in runs:
        probe = probe_run(run, dataset, samples)
        if probe.variance is None:
            return None
        codes.append(probe.mean.cpu().double().numpy())
        kl.append(polarized_regime(probe.mean, probe.variance).kl.numpy())
    return udr(codes, kl)


def scores_to_json(scores: Sequence[MetricValue]) -> list[dict[str, Any]]:
    """Scores as JSON takes them: null for what is not finite, matrices as lists."""
    return [
        {
            "name": score.name,
            "value": score.value if math.isfinite(score.value) else None,
            "interval": None if score.interval is None else asdict(score.interval),
            "per_factor": _plain(score.per_factor),
            "note": score.note,
            "matrix": _plain(getattr(score.result, "matrix", None)),
        }
        for score in scores
    ]


def scores_from_json(rows: list[dict[str, Any]]) -> list[MetricValue]:
    """Cached scores; of the metric's own result only the matrix is left."""
    return [
        MetricValue(
            row["name"],
            math.nan if row["value"] is None else row["value"],
            None if row["interval"] is None else Interval(**row["interval"]),
            None if row["per_factor"] is None else np.array(row["per_factor"], dtype=float),
            row["note"],
            None if row["matrix"] is None else Matrix(np.array(row["matrix"], dtype=float)),
        )
        for row in rows
    ]


@dataclass(frozen=True, eq=False)
class Matrix:
    """What is cached of a metric's result: a row a latent, a column a factor."""

    matrix: np.ndarray


def _plain(array: np.ndarray | Tensor | None) -> Any:  # noqa: ANN401
    if array is None:
        return None
    values = np.asarray(array, dtype=float)
    if values.ndim > 1:
        return [_plain(row) for row in values]
    return [float(value) if math.isfinite(value) else None for value in values]
