"""How far a score would move with other observations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from unpick.arrays import Array, to_numpy


@dataclass(frozen=True)
class Interval:
    """A score with its uncertainty from the choice of observations.

    Attributes:
        value: The score of the observations as they are.
        low: value - 1.96 deviation.
        high: value + 1.96 deviation.
        deviation: Standard deviation over resamples, an estimate of the standard error.
        bias: Mean over resamples minus value; not taken off the value.
        draws: The number of resamples.
    """

    value: float
    low: float
    high: float
    deviation: float
    bias: float
    draws: int


def bootstrap(
    score: Callable[..., float],
    *samples: tuple[Array, ...],
    draws: int = 100,
    rng: np.random.Generator | None = None,
) -> Interval:
    """A 95 % interval by resampling rows with replacement (Efron and Tibshirani 1993, chapter 6).

    The interval is value +- 1.96 standard errors, not the percentiles of the resamples: repeated
    rows look like structure, so plug-in information rises on resamples (and MIG falls, as its
    second best latent gains more than the best), and percentiles may miss the value altogether.
    `bias` shows by how much; the value itself is off by about as much. The interval speaks of the
    observations of one model; for the spread over trainings, take several seeds.

    Args:
        score: Takes the arrays of all groups, in order, as numpy arrays; returns a number.
        samples: Groups of arrays; the rows of a group are drawn together. A score that fits and
            tests takes two groups: in one, copies of a row would be learnt and then tested.
        draws: How many resamples.
        rng: Draws the rows.

    Example:
        >>> x = np.array([1.0, 2.0, 3.0, 6.0])
        >>> interval = bootstrap(lambda x: float(x.mean()), (x,), draws=1000)
        >>> interval.value, round(interval.deviation, 1)  # sqrt(mean((x - 3)^2) / 4) = 0.935
        (3.0, 0.9)
    """
    return intervals(lambda *arrays: [score(*arrays)], *samples, draws=draws, rng=rng)[0]


def intervals(
    scores: Callable[..., Sequence[float]],
    *samples: tuple[Array, ...],
    draws: int = 100,
    rng: np.random.Generator | None = None,
) -> list[Interval]:
    """The same for a function that returns several numbers, all from the same resamples."""
    if draws < 2:
        raise ValueError(f"draws must be at least 2, got {draws}")
    if not samples:
        raise ValueError("samples must hold at least one group of arrays, got none")
    groups = [
        [to_numpy(f"array {k} of a group", array, "rows, ...") for k, array in enumerate(group)]
        for group in samples
    ]
    for group in groups:
        if len({len(array) for array in group}) != 1:
            raise ValueError(
                "arrays of a group must have the same number of rows, one or more, "
                f"got {[len(array) for array in group]}"
            )
    rng = rng or np.random.default_rng(0)
    values = _finite(scores(*(array for group in groups for array in group)))
    resampled = []
    for i in range(draws):
        drawn = []
        for group in groups:
            rows = rng.integers(len(group[0]), size=len(group[0]))
            drawn += [array[rows] for array in group]
        try:
            resampled.append(_finite(scores(*drawn)))
        except Exception as error:
            # Leaving it out would keep only the resamples that look like the sample.
            raise ValueError(
                f"resample {i + 1} of {draws} has no score ({error}): take more observations"
            ) from error
    found = []
    for value, column in zip(values, np.transpose(resampled), strict=True):
        deviation, bias = float(column.std(ddof=1)), float(column.mean()) - value
        low, high = value - 1.96 * deviation, value + 1.96 * deviation
        found.append(Interval(value, low, high, deviation, bias, draws))
    return found


def _finite(numbers: Sequence[float]) -> list[float]:
    if not np.isfinite(numbers).all():
        raise ValueError(f"score must return a finite number, got {numbers}")
    return [float(number) for number in numbers]
