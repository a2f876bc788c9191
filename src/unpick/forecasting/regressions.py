"""Local linear regressions: slopes of observations over factors that lie on no grid."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from scipy.spatial import KDTree

from unpick.data import Dataset
from unpick.forecasting.linear_fit import COLLINEAR, fit, neighbourhood_sums

MANY = 5  # a factor of fewer values does not count in the distance between rows
LEAST = 20  # rows of the smallest neighbourhood, for each unknown
MOST = 2000  # rows of the largest
APART = 1e6  # standard deviations between the classes of a categorical factor
TIE = 1e-6  # standard deviations that break ties of distance at random
PATIENCE = 2.0  # seconds without a word of progress


class Regressions(NamedTuple):
    """Regressions on the nearest rows of some points.

    Attributes:
        rows: The points.
        gram: J^T J of the slopes. What noise adds is subtracted, so squares may be negative.
        noise: What noise added to each squared length.
        power: Mean squared slopes of each value of an observation.
    """

    rows: Sequence[int]
    gram: Float[np.ndarray, "n d d"]
    noise: Float[np.ndarray, "n d"]
    power: Float[np.ndarray, "p d"]


def regress(
    dataset: Dataset,
    columns: tuple[int, ...],
    points: int,
    generator: torch.Generator,
    on_progress: Callable[[str], object],
) -> Regressions:
    """Regressions on neighbourhoods of one size, at points drawn from the rows.

    Among doublings of 20 rows an unknown up to 2000 rows, the size is the largest whose
    leave-one-out error is not decidedly above that of a smaller one. Neighbours have the same
    classes. If factors are constant in most of the largest neighbourhoods, these grow until they
    are not.
    """
    values = standardised(dataset, columns)
    unknowns = len(columns) + 1
    eligible = _in_large_classes(dataset, values, columns, 2 * unknowns)
    _check_collinear(dataset, values, columns)
    order = torch.randperm(len(dataset), generator=generator).numpy()
    rows = order[eligible[order]][:points]
    tree = KDTree(_places(values, columns))
    top = min(len(dataset), max(MOST, LEAST * unknowns))
    while True:
        sizes = doublings(LEAST * unknowns, top)
        found, powers = _fit_all(dataset, values, columns, tree, rows, sizes, on_progress)
        usable = np.isfinite(found.error)
        if usable[:, -1].mean() >= 0.5 or top == len(dataset):
            break
        top = min(len(dataset), 2 * top)
    if not usable.any():
        raise ValueError(
            f"factors of {dataset.name} are collinear among rows of the same classes: "
            f"{_names(dataset, columns)}; leave one of them out of the factors"
        )
    best = best_size(found.error)
    at = usable[:, best]
    power = powers[best] / at.sum()
    return Regressions(rows[at].tolist(), found.gram[at, best], found.noise[at, best], power)


def doublings(least: int, top: int) -> list[int]:
    """Sizes of neighbourhoods, each twice the one before, up to the largest.

    Example:
        >>> doublings(60, 300)
        [60, 120, 240, 300]
    """
    sizes = []
    while least < top:
        sizes.append(least)
        least *= 2
    return [*sizes, top]


def best_size(errors: Float[np.ndarray, "n sizes"]) -> int:
    """The largest size that is not decidedly worse than a smaller one.

    A slope gains more from a wide neighbourhood than the value in its middle does, so of equal
    errors the largest size is best. Sizes at which fewer than half of the points have a
    regression are left out: factors are constant in most of these neighbourhoods.
    """
    counts = np.isfinite(errors).sum(0)
    sizes = np.flatnonzero(2 * counts >= counts.max())
    good = [
        k for k in sizes if not any(_worse(errors[:, k], errors[:, j]) for j in sizes if j < k)
    ]
    return int(max(good))


def _worse(one: Float[np.ndarray, "n"], other: Float[np.ndarray, "n"]) -> bool:
    """Whether errors rise by more than two standard errors of their mean difference."""
    both = np.isfinite(one) & np.isfinite(other)
    rise = one[both] - other[both]
    return bool(rise.mean() > 2 * rise.std() / np.sqrt(len(rise)))


class _Fits(NamedTuple):
    """Regressions at every point with every size; not finite where there is none."""

    gram: Float[np.ndarray, "n sizes d d"]
    noise: Float[np.ndarray, "n sizes d"]
    error: Float[np.ndarray, "n sizes"]


def _fit_all(
    dataset: Dataset,
    values: Float[np.ndarray, "n k"],
    columns: tuple[int, ...],
    tree: KDTree,
    rows: np.ndarray,
    sizes: list[int],
    on_progress: Callable[[str], object],
) -> tuple[_Fits, Float[np.ndarray, "sizes p d"]]:
    """All regressions, and the sums of their squared slopes."""
    shape, d = (len(rows), len(sizes)), len(columns)
    found = _Fits(np.zeros((*shape, d, d)), np.zeros((*shape, d)), np.full(shape, np.inf))
    powers = np.zeros((len(sizes), int(np.prod(dataset.shape)), d))
    for k in counted(len(rows), on_progress):
        row = rows[k]
        distance, near = tree.query(tree.data[row], sizes[-1])
        near = near[distance < APART / 2]  # of the same classes
        x = dataset.observe(torch.from_numpy(near)).flatten(1).numpy()
        w = np.c_[np.ones(len(near)), (values[near] - values[row])[:, list(columns)]]
        for j, sums in enumerate(neighbourhood_sums(w, x, sizes)):
            one = fit(sums)
            if one is not None:
                found.gram[k, j], found.noise[k, j], found.error[k, j] = (
                    one.gram, one.noise, one.error,
                )  # fmt: skip
                powers[j] += one.power
    return found, powers


def standardised(dataset: Dataset, columns: tuple[int, ...]) -> Float[np.ndarray, "n k"]:
    """Factor values in units of their deviations; classes of other factors lie far apart."""
    values = dataset.factor_values(torch.arange(len(dataset))).double().numpy()
    deviation = values.std(0)
    scale = np.where(deviation > 0, deviation, 1.0)
    centred = (values - values.mean(0)) / scale
    for k in set(range(values.shape[1])) - {*columns}:
        centred[:, k] = APART * np.unique(values[:, k], return_inverse=True)[1]
    return centred


def correlations(values: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "d d"]:
    """The correlation matrix of the columns."""
    return np.corrcoef(values, rowvar=False).reshape(values.shape[1], -1)


def counted(count: int, on_progress: Callable[[str], object]) -> Iterator[int]:
    """Count points, and say how many are done once two seconds have passed."""
    began = time.monotonic()
    for k in range(count):
        if time.monotonic() - began > PATIENCE:
            on_progress(f"local directions: {k} of {count} points")
        yield k


def _places(
    values: Float[np.ndarray, "n k"], columns: tuple[int, ...]
) -> Float[np.ndarray, "n places"]:
    """Where rows lie for the choice of neighbours: without factors of few values, without ties."""
    coarse = [k for k in columns if len(np.unique(values[:, k])) < MANY]
    kept = np.delete(values, coarse, axis=1)
    return np.c_[kept, TIE * np.random.default_rng(0).random(len(values))]


def _in_large_classes(
    dataset: Dataset, values: Float[np.ndarray, "n k"], columns: tuple[int, ...], need: int
) -> np.ndarray:
    """Which rows share their classes with enough others; raise if none does."""
    classes = np.delete(values, columns, axis=1)
    if classes.shape[1]:
        _, inverse, counts = np.unique(classes, axis=0, return_inverse=True, return_counts=True)
        sizes = counts[inverse.reshape(-1)]
    else:
        sizes = np.full(len(values), len(values))
    if sizes.max() < need:
        same = " of the same classes" if classes.shape[1] else ""
        raise ValueError(
            f"local regressions on {len(columns)} factors need at least {need} rows{same}, "
            f"{dataset.name} has {sizes.max()}"
        )
    return np.asarray(sizes >= need)


def _check_collinear(
    dataset: Dataset, values: Float[np.ndarray, "n k"], columns: tuple[int, ...]
) -> None:
    """Raise if a factor is a linear combination of others."""
    squares, v = np.linalg.eigh(correlations(values[:, list(columns)]))
    if squares[0] < COLLINEAR**2:
        among = tuple(k for k, share in zip(columns, v[:, 0], strict=True) if abs(share) > 0.05)
        raise ValueError(
            f"factors {_names(dataset, among)} of {dataset.name} are collinear: one follows from "
            "the others; leave one of them out of the factors"
        )


def _names(dataset: Dataset, columns: tuple[int, ...]) -> str:
    return ", ".join(dataset.factors[k].name for k in columns)
