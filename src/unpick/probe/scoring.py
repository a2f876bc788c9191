"""Every measure of a finished run, kept beside it in `measures.json`."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from torch import Tensor

import unpick
from unpick.data import Dataset, split
from unpick.geometry import (
    column_cosines,
    decoder_jacobians,
    distance_to_orthogonality,
    ima_contrast,
    polarized_regime,
)
from unpick.metrics import UDR, Interval, MetricValue, Scorecard, scorecard, udr
from unpick.probe.keeping import kept
from unpick.probe.measures import JACOBIANS, decoder, posterior
from unpick.runs import Run

FILE = "measures.json"


@dataclass(frozen=True)
class Asked:
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
        if self.samples < 30:
            raise ValueError(f"samples must be at least 30, got {self.samples}")
        if self.draws < 0 or self.draws == 1:
            raise ValueError(f"draws must be 0, or 2 or more, got {self.draws}")


def measured(
    run: Run, dataset: Dataset, asked: Asked, progress: Callable[[str], None] | None = None
) -> Scorecard:
    """All measures of a run: read if they were taken in this way before, else taken and kept."""

    def values() -> dict[str, Any]:
        card = take(run, dataset, asked, progress)
        names = [factor.name for factor in dataset.factors]
        return {"factors": names, "note": card.note, "scores": to_json(card)}

    found = kept(run, FILE, {"asked": asdict(asked), "unpick": unpick.__version__}, values)
    return from_json(found["scores"], found["note"])


def take(
    run: Run, dataset: Dataset, asked: Asked, progress: Callable[[str], None] | None = None
) -> Scorecard:
    """Geometry of the decoder if there is one, then every metric if the data set has factors."""
    test = split(dataset).test[: asked.samples]
    model = run.model()
    mean, variance = posterior(model, dataset.observe(test))
    jacobians = None
    if model.decodes:
        if progress is not None:
            progress("DtO")
        jacobians = decoder_jacobians(decoder(model), mean[:JACOBIANS])
    rows = []

    def add(name: str, value: float, note: str, result: Any = None) -> None:  # noqa: ANN401
        rows.append(MetricValue(name, value, None, None, note, result))

    if jacobians is not None and mean.shape[1] > 1:
        dto = distance_to_orthogonality(jacobians)
        add("DtO", dto.mean, f"chance {dto.chance:.2f}; 0 is aligned", dto)
        add("column cosine", column_cosines(jacobians).mean, "0 is orthogonal")
        add("IMA contrast", ima_contrast(jacobians).mean, "nats; 0 is orthogonal")
    if variance is not None:
        regime = polarized_regime(mean, variance)
        add("active latents", float(regime.active.sum()), f"of {mean.shape[1]}", regime)
        if jacobians is not None and 1 < regime.active.sum() < mean.shape[1]:
            dto = distance_to_orthogonality(jacobians, active=regime.active)
            add("DtO, active", dto.mean, f"chance {dto.chance:.2f}; active latents only", dto)
        add("Delta_KL", regime.delta_kl, "below 0.03 in the polarized regime")
    if not dataset.factors or mean.shape[1] < 2:
        return Scorecard(tuple(rows))
    log_variances = None
    if variance is not None and run.config.model.posterior == "diagonal":
        log_variances = variance.log().double().numpy()
    card = scorecard(
        mean.double().numpy(),
        dataset.factor_values(test).double().numpy(),
        categorical=[factor.categorical for factor in dataset.factors],
        log_variances=log_variances,
        learner=asked.learner,
        draws=asked.draws,
        progress=progress,
    )
    return Scorecard((*rows, *card.scores), card.note)


def agreement(runs: Sequence[Run], dataset: Dataset, samples: int = 1000) -> UDR | None:
    """UDR of runs on one data set; None without posteriors."""
    x = dataset.observe(split(dataset).test[:samples])
    codes, kl = [], []
    for run in runs:
        mean, variance = posterior(run.model(), x)
        if variance is None:
            return None
        codes.append(mean.double().numpy())
        kl.append(polarized_regime(mean, variance).kl.numpy())
    return udr(codes, kl)


def to_json(card: Scorecard) -> list[dict[str, Any]]:
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
        for score in card.scores
    ]


def from_json(rows: list[dict[str, Any]], note: str) -> Scorecard:
    """The scores that were kept, without the metrics' own results."""
    return Scorecard(
        tuple(
            MetricValue(
                row["name"],
                math.nan if row["value"] is None else row["value"],
                None if row["interval"] is None else Interval(**row["interval"]),
                None if row["per_factor"] is None else np.array(row["per_factor"], dtype=float),
                row["note"],
                None,
            )
            for row in rows
        ),
        note,
    )


def _plain(array: np.ndarray | Tensor | None) -> Any:  # noqa: ANN401
    if array is None:
        return None
    values = np.asarray(array, dtype=float)
    if values.ndim > 1:
        return [_plain(row) for row in values]
    return [float(value) if math.isfinite(value) else None for value in values]
