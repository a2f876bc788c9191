"""Local directions of the data: how an observation moves when one factor moves."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.spatial import KDTree
from torch import Tensor

from unpick.data import Dataset

NEIGHBOURS = 27  # settings of the other factors over which a difference is averaged, at most
MANY = 5  # values of a factor whose neighbouring values count as settings alike
SHARE = 50  # a local regression takes one row in so many,
LEAST = 20  # and at least so many for each of its unknowns
APART = 1e6  # standard deviations between the classes of a categorical factor


@dataclass(frozen=True, eq=False)
class Directions:
    """The Jacobian of the generator at some points, in units of the factors' deviations.

    Attributes:
        columns: The factors that it is taken along, by their place in the data set.
        rows: The observations where it is taken.
        gram: J^T J of local regressions: its diagonal holds squared lengths.
        one_step: The same of plain differences over one grid step each side; None without a grid.
        power: Mean squared entries of J: where in an observation each factor acts.
    """

    columns: tuple[int, ...]
    rows: Int[Tensor, "n"]
    gram: Float[Tensor, "n d d"]
    one_step: Float[Tensor, "n d d"] | None
    power: Float[Tensor, "p d"]


def local_directions(
    dataset: Dataset, columns: tuple[int, ...], points: int, generator: torch.Generator
) -> Directions:
    """The generator's own directions along ordered factors.

    On a grid the slope along a factor is the central difference of its two neighbouring values,
    averaged over neighbouring settings of the other factors. This is the slope of a linear
    regression in a box of one step each side. Scattered values have a regression on the nearest
    rows, and what noise adds to its squared lengths is subtracted.
    """
    find = _on_grid if dataset.is_grid else _scattered
    return find(dataset, columns, points, generator)


def _on_grid(
    dataset: Dataset, columns: tuple[int, ...], points: int, generator: torch.Generator
) -> Directions:
    rows = dataset.sample(points, generator)
    averaged, plain, power = [], [], torch.zeros(math.prod(dataset.shape), len(columns))
    for place in dataset.positions(rows):
        found = [slope(dataset, place, k, columns, generator) for k in columns]
        jacobian, one_step = (torch.stack(each, 1) for each in zip(*found, strict=True))
        averaged.append(jacobian.T @ jacobian)
        plain.append(one_step.T @ one_step)
        power = power + jacobian.square() / points
    return Directions(columns, rows, torch.stack(averaged), torch.stack(plain), power)


def slope(
    dataset: Dataset,
    place: Int[Tensor, "k"],
    column: int,
    columns: tuple[int, ...],
    generator: torch.Generator,
) -> tuple[Float[Tensor, "p"], Float[Tensor, "p"]]:
    """The slope along one factor at one grid position, averaged over neighbours and plain.

    At the ends of the grid the difference is one-sided.
    """
    values = torch.tensor(dataset.factors[column].values, dtype=torch.float64)
    low = max(int(place[column]) - 1, 0)
    high = min(int(place[column]) + 1, len(values) - 1)
    around = settings(dataset, place, column, columns, generator)
    moved = change(dataset, around, column, low, high)
    scale = values.std(correction=0) / (values[high] - values[low])
    return moved.mean(0) * scale, moved[0] * scale


def change(
    dataset: Dataset, around: Int[Tensor, "m k"], column: int, low: int, high: int
) -> Float[Tensor, "m p"]:
    """How observations change when one factor goes from one grid position to another."""
    places = around.repeat(2, 1, 1)
    places[0, :, column], places[1, :, column] = low, high
    before, after = dataset.observe(dataset.index_of(places.flatten(0, 1))).double().chunk(2)
    return (after - before).flatten(1)


def settings(
    dataset: Dataset,
    place: Int[Tensor, "k"],
    column: int,
    columns: tuple[int, ...],
    generator: torch.Generator,
) -> Int[Tensor, "m k"]:
    """A grid position, then its neighbours along the other ordered factors, 27 in all at most."""
    sizes = torch.tensor(dataset.sizes)
    shifted = [k for k in columns if k != column and sizes[k] >= MANY]
    offsets = torch.tensor(list(itertools.product((0, 1, -1), repeat=len(shifted))))
    order = 1 + torch.randperm(len(offsets) - 1, generator=generator)[: NEIGHBOURS - 1]
    offsets = torch.cat([offsets[:1], offsets[order]])
    around = place.repeat(len(offsets), 1)
    around[:, shifted] += offsets.long()
    return torch.minimum(around.clamp(min=0), sizes - 1)


def _scattered(
    dataset: Dataset, columns: tuple[int, ...], points: int, generator: torch.Generator
) -> Directions:
    values = standardised(dataset, columns)
    unknowns = len(columns) + 1
    size = min(len(dataset), max(LEAST * unknowns, len(dataset) // SHARE))
    tree = KDTree(values)
    rows, grams, powers = [], [], []
    for row in torch.randperm(len(dataset), generator=generator).tolist():
        distance, near = tree.query(values[row], size)
        near = near[distance < APART / 2]  # of the same classes
        w = np.c_[np.ones(len(near)), values[near][:, list(columns)]]
        if len(near) < 2 * unknowns or np.linalg.matrix_rank(w) < unknowns:
            continue
        x = dataset.observe(torch.from_numpy(near)).flatten(1).double().numpy()
        inverse = np.linalg.inv(w.T @ w)
        found = inverse @ w.T @ x
        noise = np.square(x - w @ found).sum() / max(1, len(near) - unknowns)
        grams.append(_clamped(found[1:] @ found[1:].T - noise * inverse[1:, 1:]))
        powers.append(np.square(found[1:].T))
        rows.append(row)
        if len(rows) == points:
            break
    if not rows:
        raise ValueError(
            f"local regressions on {len(columns)} factors need at least {2 * unknowns} rows of "
            f"the same classes in which all of them vary, {dataset.name} has none such"
        )
    gram, power = torch.from_numpy(np.stack(grams)), torch.from_numpy(np.mean(powers, axis=0))
    return Directions(columns, torch.tensor(rows), gram, None, power)


def standardised(dataset: Dataset, columns: tuple[int, ...]) -> Float[np.ndarray, "n k"]:
    """Factor values in units of their deviations; classes of other factors lie far apart."""
    values = dataset.factor_values(torch.arange(len(dataset))).double().numpy()
    deviation = values.std(0)
    scale = np.where(deviation > 0, deviation, 1.0)
    centred = (values - values.mean(0)) / scale
    for k in set(range(values.shape[1])) - {*columns}:
        centred[:, k] = APART * np.unique(values[:, k], return_inverse=True)[1]
    return centred


def _clamped(gram: Float[np.ndarray, "d d"]) -> Float[np.ndarray, "d d"]:
    """The nearest Gram matrix: what is left after subtraction may have negative squares."""
    squares, v = np.linalg.eigh(gram)
    return (v * np.clip(squares, 0, math.inf)) @ v.T
