"""What kind of factor each is: ordered, periodic, or categorical."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
import torch
from jaxtyping import Int
from scipy.spatial import KDTree
from torch import Tensor

from unpick.data import Dataset
from unpick.forecasting.directions import change, settings
from unpick.forecasting.regressions import MANY, standardised
from unpick.names import pick

Kind = Literal["ordered", "periodic", "categorical"]
KINDS: tuple[Kind, ...] = get_args(Kind)
TRIES = 50  # settings of the other factors
WITHIN = 1.5  # times the square of a step: closes if the last is so near to the first,
BEYOND = 1.5  # and two values at random are so far apart
BINS = 20  # of a factor without a grid


def name_kinds(
    dataset: Dataset, periodic: Sequence[str], categorical: Sequence[str]
) -> tuple[Dataset, tuple[Kind, ...]]:
    """The data set with these factors as categories, and the kind of each factor.

    A factor is periodic if it is named so, or if its last value looks as near to its first as one
    step: the mean squared distance is at most 1.5 times that of a step, and that of two random
    values at least 1.5 times. Fewer than 5 values never close.
    """
    if (named := [*periodic, *categorical]) and not dataset.factors:
        raise ValueError(
            f"periodic and categorical are names of factors, got {', '.join(named)}, but "
            f"{dataset.name} has no factors"
        )
    names = {factor.name: factor for factor in dataset.factors}
    for name in (*periodic, *categorical):
        pick(names, name, f"factor of {dataset.name}")
    if both := {*periodic} & {*categorical}:
        raise ValueError(f"periodic and categorical exclude each other, got {sorted(both)}")
    factors = tuple(
        replace(each, categorical=each.categorical or each.name in categorical)
        for each in dataset.factors
    )
    dataset = replace(dataset, factors=factors)
    columns = ordered_columns(dataset) if factors else ()
    kinds: list[Kind] = []
    for k, factor in enumerate(factors):
        if factor.categorical:
            kinds.append("categorical")
        else:
            closed = factor.name in periodic or closes(dataset, k, columns)
            kinds.append("periodic" if closed else "ordered")
    return dataset, tuple(kinds)


def ordered_columns(dataset: Dataset) -> tuple[int, ...]:
    """The factors that have an order, periodic ones included, and more than one value."""
    if dataset.is_grid:
        varies = [size > 1 for size in dataset.sizes]
    else:
        values = dataset.factor_values(torch.arange(len(dataset)))
        varies = [bool((column != column[0]).any()) for column in values.T]
    kept = zip(dataset.factors, varies, strict=True)
    return tuple(k for k, (f, moves) in enumerate(kept) if moves and not f.categorical)


def closes(dataset: Dataset, column: int, columns: tuple[int, ...]) -> bool:
    """Whether the last value of a factor looks as near to its first as one step."""
    size = dataset.factors[column].size if dataset.is_grid else BINS
    if column not in columns or _count_values(dataset, column) < MANY:
        return False
    generator = torch.Generator().manual_seed(0)
    squares = _on_grid if dataset.is_grid else _scattered
    step, wrap, far = squares(dataset, column, columns, size, generator)
    return wrap <= WITHIN * step and far >= BEYOND * step


def _count_values(dataset: Dataset, column: int) -> int:
    if dataset.is_grid:
        return dataset.factors[column].size
    return len(dataset.factor_values(torch.arange(len(dataset)))[:, column].unique())


def _moves(size: int, generator: torch.Generator) -> list[tuple[int, int]]:
    """A random step, from the last value to the first, and between two random values."""
    start = int(torch.randint(size - 1, (1,), generator=generator))
    one, other = torch.randperm(size, generator=generator)[:2].tolist()
    return [(start, start + 1), (size - 1, 0), (one, other)]


def _on_grid(
    dataset: Dataset,
    column: int,
    columns: tuple[int, ...],
    size: int,
    generator: torch.Generator,
) -> list[float]:
    """Mean squared distances of the three moves; noise is averaged over neighbours."""
    total = np.zeros(3)
    for place in dataset.positions(dataset.sample(TRIES, generator)):
        around: Int[Tensor, "m k"] = settings(dataset, place, column, columns, generator)
        for k, (low, high) in enumerate(_moves(size, generator)):
            total[k] += float(change(dataset, around, column, low, high).mean(0).square().sum())
    return total.tolist()


def _scattered(
    dataset: Dataset,
    column: int,
    columns: tuple[int, ...],
    size: int,
    generator: torch.Generator,
) -> list[float]:
    """The same between rows that are nearest to the wanted values."""
    values = standardised(dataset, columns)
    tree = KDTree(values)
    edges = np.linspace(values[:, column].min(), values[:, column].max(), size + 1)
    centres = (edges[1:] + edges[:-1]) / 2
    total = np.zeros(3)
    for row in torch.randint(len(dataset), (TRIES,), generator=generator).tolist():
        for k, move in enumerate(_moves(size, generator)):
            wanted = values[[row, row]]
            wanted[:, column] = centres[list(move)]
            near = torch.from_numpy(tree.query(wanted)[1])
            before, after = dataset.observe(near).flatten(1).double()
            total[k] += float((after - before).square().sum())
    return total.tolist()
