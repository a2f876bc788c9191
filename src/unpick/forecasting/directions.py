"""Local directions of the data: how an observation moves when one factor moves."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from unpick.data import Dataset
from unpick.forecasting.regressions import MANY, correlations, counted, regress

NEIGHBOURS = 27  # settings of the other factors over which a difference is averaged, at most
TOLD = 3.0  # times what noise adds to a squared length: below it the factor is not told from noise


@dataclass(frozen=True, eq=False)
class Directions:
    """The Jacobian of the generator at some points, in units of the factors' deviations.

    Attributes:
        columns: The factors that it is taken along, by their place in the data set.
        rows: The observations where it is taken.
        gram: J^T J of local regressions: its diagonal holds squared lengths.
        one_step: The same of plain differences over one grid step each side; None without a grid.
        power: Mean squared entries of J: where in an observation each factor acts.
        correlation: Of the factors with directions; the identity on a grid.
        lost: Factors whose directions are not told from noise; they have no column.
    """

    columns: tuple[int, ...]
    rows: Int[Tensor, "n"]
    gram: Float[Tensor, "n d d"]
    one_step: Float[Tensor, "n d d"] | None
    power: Float[Tensor, "p d"]
    correlation: Float[Tensor, "d d"]
    lost: tuple[int, ...] = ()

    @property
    def judged(self) -> Float[Tensor, "n d d"]:
        """The Gram matrices along uncorrelated combinations of the factors, R G R with R^2 = C.

        Latents are uncorrelated, so a VAE can only take such combinations; those nearest to the
        factors are C^(-1/2) times the factors.
        """
        root = matrix_power(self.correlation, 0.5)
        return root @ self.gram @ root

    def of_pair(self, pair: tuple[int, int]) -> "Directions":
        """The directions of two of the factors, by their columns."""
        at = list(pair)
        return replace(
            self,
            columns=tuple(self.columns[k] for k in at),
            gram=self.gram[:, at][:, :, at],
            one_step=None,
            power=self.power[:, at],
            correlation=self.correlation[at][:, at],
        )


NO_DIRECTIONS = Directions(
    (), torch.zeros(0).long(), torch.zeros(0, 0, 0), None, torch.zeros(0, 0), torch.eye(0)
)


def matrix_power(matrix: Float[Tensor, "d d"], exponent: float) -> Float[Tensor, "d d"]:
    """A power of a positive definite matrix.

    Example:
        >>> matrix_power(torch.tensor([[5.0, 4.0], [4.0, 5.0]]), 0.5)
        tensor([[2.0000, 1.0000],
                [1.0000, 2.0000]])
    """
    squares, v = torch.linalg.eigh(matrix)
    return (v * squares**exponent) @ v.T


def local_directions(
    dataset: Dataset,
    columns: tuple[int, ...],
    points: int,
    generator: torch.Generator,
    on_progress: Callable[[str], object] = lambda _: None,
) -> Directions:
    """The generator's own directions along ordered factors.

    On a grid the slope along a factor is the central difference of its two neighbouring values,
    averaged over neighbouring settings of the other factors. This is the slope of a linear
    regression in a box of one step each side. Scattered values have regressions on the nearest
    rows. What noise adds to their squared lengths is subtracted; if less than three times that
    is left of a factor, it has no direction.
    """
    if not columns:
        return NO_DIRECTIONS
    find = _on_grid if dataset.is_grid else _scattered
    return find(dataset, columns, points, generator, on_progress)


def _on_grid(
    dataset: Dataset,
    columns: tuple[int, ...],
    points: int,
    generator: torch.Generator,
    on_progress: Callable[[str], object],
) -> Directions:
    rows = dataset.sample(points, generator)
    places = dataset.positions(rows)
    averaged, plain, power = [], [], torch.zeros(math.prod(dataset.shape), len(columns))
    for row in counted(points, on_progress):
        found = [slope(dataset, places[row], k, columns, generator) for k in columns]
        jacobian, one_step = (torch.stack(each, 1) for each in zip(*found, strict=True))
        averaged.append(jacobian.T @ jacobian)
        plain.append(one_step.T @ one_step)
        power = power + jacobian.square() / points
    identity = torch.eye(len(columns), dtype=torch.float64)
    return Directions(columns, rows, torch.stack(averaged), torch.stack(plain), power, identity)


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
    dataset: Dataset,
    columns: tuple[int, ...],
    points: int,
    generator: torch.Generator,
    on_progress: Callable[[str], object],
) -> Directions:
    found = regress(dataset, columns, points, generator, on_progress)
    squares = found.gram.diagonal(axis1=1, axis2=2).mean(0)
    told = squares > TOLD * found.noise.mean(0)
    if not told.any():
        return replace(NO_DIRECTIONS, lost=columns)
    kept = tuple(k for k, sure in zip(columns, told, strict=True) if sure)
    gram = _nearest_grams(found.gram[:, told][:, :, told])
    # Each Gram matrix gained what its negative squares lost; their mean must not.
    gain = np.sqrt(squares[told] / gram.diagonal(axis1=1, axis2=2).mean(0))
    values = dataset.factor_values(torch.arange(len(dataset))).double().numpy()
    return Directions(
        kept,
        torch.tensor(found.rows),
        torch.from_numpy(gram * np.outer(gain, gain)),
        None,
        torch.from_numpy(found.power[:, told]).clamp(min=0),
        torch.from_numpy(correlations(values[:, list(kept)])),
        tuple(k for k in columns if k not in kept),
    )


def _nearest_grams(gram: Float[np.ndarray, "n d d"]) -> Float[np.ndarray, "n d d"]:
    """The nearest Gram matrices: after subtraction there may be negative squares."""
    squares, v = np.linalg.eigh(gram)
    return np.asarray((v * np.clip(squares, 0, math.inf)[:, None]) @ v.swapaxes(1, 2))
