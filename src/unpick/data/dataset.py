"""The `Dataset` class: observations and their generative factors."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int, Num, UInt8
from torch import Tensor


class DataMissing(FileNotFoundError):
    """A data file is missing. The message names the file and where to get it."""


class DataDamaged(ValueError):
    """A data file is damaged or of the wrong format. The message says how in one sentence."""


@dataclass(frozen=True)
class Factor:
    """One generative factor: a name and the values it takes on the grid.

    A continuous factor has no `values`. The values of a categorical factor have no order
    (a shape, an identity), so methods that move a factor by small steps skip it.
    """

    name: str
    values: tuple[float, ...] = ()
    categorical: bool = False

    @property
    def size(self) -> int:
        """The number of values on the grid."""
        if not self.values:
            raise ValueError(f"factor {self.name!r} is continuous: it has no grid")
        return len(self.values)


@runtime_checkable
class Store(Protocol):
    """Storage of the observations. `read` takes many indices at once."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one observation; images are (channels, height, width)."""

    def __len__(self) -> int: ...

    def read(self, indices: Int[Tensor, "n"]) -> Float[Tensor, "n ..."]:
        """Observations as float32; pixels lie in [0, 1]."""


@dataclass(frozen=True, eq=False)
class ArrayStore:
    """Observations in one array, which may be memory-mapped.

    uint8 numbers are pixels and are divided by 255. Floating-point numbers are used as they are,
    in float32. Other types are refused.
    """

    array: Num[Tensor, "n ..."] | Num[np.ndarray, "n ..."]

    def __post_init__(self) -> None:
        kind = str(self.array.dtype).removeprefix("torch.")
        if kind != "uint8" and "float" not in kind:
            raise ValueError(f"array must hold uint8 pixels or floating-point numbers, got {kind}")

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one observation."""
        return tuple(self.array.shape[1:])

    def __len__(self) -> int:
        return self.array.shape[0]

    def read(self, indices: Int[Tensor, "n"]) -> Float[Tensor, "n ..."]:
        """Observations as float32."""
        if isinstance(self.array, Tensor):
            rows = self.array.index_select(0, indices)
        else:
            rows = torch.from_numpy(self.array[indices.numpy()])
        return rows.float().div_(255) if rows.dtype == torch.uint8 else rows.float()


@dataclass(frozen=True, eq=False)
class PackedStore:
    """Binary images at eight pixels per byte. All of dSprites takes 377 MB."""

    bits: UInt8[np.ndarray, "n bytes"]
    shape: tuple[int, ...]

    def __len__(self) -> int:
        return self.bits.shape[0]

    def read(self, indices: Int[Tensor, "n"]) -> Float[Tensor, "n ..."]:
        """Images as float32 zeros and ones."""
        pixels = np.unpackbits(self.bits[indices.numpy()], axis=1, count=math.prod(self.shape))
        return torch.from_numpy(pixels).float().reshape(-1, *self.shape)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Observations and their generative factors.

    There are three cases. On a full grid every combination of factor values occurs once, the last
    factor changes fastest, and `values` is None. Otherwise `values` has one row per observation
    (continuous factors, or labels without a grid). A data set without known factors has neither.

    Args:
        name: As in `load(name)`.
        store: Storage of the observations.
        factors: The generative factors. On a grid the first changes slowest.
        values: Factor values, one row per observation; None for a full grid.
        columns: Names of the values of an observation, if it is a row of a table.
    """

    name: str
    store: Store
    factors: tuple[Factor, ...] = ()
    values: Float[Tensor, "n k"] | None = None
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = [factor.name for factor in self.factors]
        if len({*names}) < len(names):
            raise ValueError(f"{self.name}: names of factors must differ, got {', '.join(names)}")
        if self.columns and self.shape != (len(self.columns),):
            raise ValueError(f"{self.name}: {len(self.columns)} columns, but shape {self.shape}")
        if self.values is not None:
            if self.values.shape[1] != len(names):
                columns = self.values.shape[1]
                raise ValueError(f"{self.name}: {columns} columns of values, {len(names)} factors")
            expected, what = self.values.shape[0], "rows of factor values"
        elif self.factors:
            expected, what = math.prod(self.sizes), "points of the factor grid"
        else:
            return
        if expected != len(self.store):
            raise ValueError(f"{self.name}: {len(self.store)} observations but {expected} {what}")

    def __len__(self) -> int:
        return len(self.store)

    def __repr__(self) -> str:
        names = ", ".join(factor.name for factor in self.factors)
        factors = f"factors {names}{' on a grid' * self.is_grid}" if names else "no factors"
        return f"Dataset({self.name}: {len(self)} observations of shape {self.shape}, {factors})"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one observation."""
        return self.store.shape

    @property
    def is_grid(self) -> bool:
        """Whether every combination of factor values occurs exactly once, in order."""
        return bool(self.factors) and self.values is None

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each factor."""
        return tuple(factor.size for factor in self.factors)

    def observe(self, indices: Int[Tensor, "*n"]) -> Float[Tensor, "..."]:
        """Observations by index, for indices of any shape."""
        flat = indices.reshape(-1)
        if flat.numel() and not (int(flat.min()) >= 0 and int(flat.max()) < len(self)):
            raise IndexError(f"{self.name}: indices must lie in 0..{len(self) - 1}")
        return self.store.read(flat).reshape(*indices.shape, *self.shape)

    def positions(self, indices: Int[Tensor, "n"]) -> Int[Tensor, "n k"]:
        """Grid position of each observation: the index of its value, for every factor."""
        self._need_grid("positions")
        return torch.stack(torch.unravel_index(indices, self.sizes), dim=1)

    def index_of(self, positions: Int[Tensor, "n k"]) -> Int[Tensor, "n"]:
        """Index of the observation at each grid position. Inverts `positions`."""
        self._need_grid("index_of")
        sizes = torch.tensor(self.sizes)
        if positions.shape[1] != len(sizes) or ((positions < 0) | (positions >= sizes)).any():
            raise IndexError(
                f"{self.name}: positions must have {len(sizes)} columns below {self.sizes}"
            )
        strides = sizes.flip(0).cumprod(0).roll(1)
        strides[0] = 1
        return (positions * strides.flip(0)).sum(1)

    def factor_values(self, indices: Int[Tensor, "n"]) -> Float[Tensor, "n k"]:
        """The value of every factor, in the units of `Factor.values`."""
        if self.values is not None:
            return self.values[indices]
        positions = self.positions(indices)
        columns = [torch.tensor(f.values)[positions[:, k]] for k, f in enumerate(self.factors)]
        return torch.stack(columns, dim=1).float()

    def sample(
        self, n: int, generator: torch.Generator, fixed: Mapping[str, int] | None = None
    ) -> Int[Tensor, "n"]:
        """Indices of n observations, drawn uniformly with replacement.

        Args:
            n: Number of observations.
            generator: Source of randomness.
            fixed: Factors that are held fixed: grid position by name. Needs a full grid.
        """
        if not fixed:
            return torch.randint(len(self), (n,), generator=generator)
        self._need_grid("sample with fixed factors")
        names = [factor.name for factor in self.factors]
        positions = torch.stack(
            [torch.randint(size, (n,), generator=generator) for size in self.sizes], dim=1
        )
        for name, position in fixed.items():
            if name not in names:
                raise ValueError(f"{self.name} has no factor {name!r}; it has {', '.join(names)}")
            positions[:, names.index(name)] = position
        return self.index_of(positions)

    def _need_grid(self, what: str) -> None:
        if not self.is_grid:
            raise ValueError(f"{what}: {self.name} is not a full grid of discrete factors")


class Split(NamedTuple):
    """Indices of the three parts. Reported numbers use `test`."""

    train: Int[Tensor, "a"]
    validation: Int[Tensor, "b"]
    test: Int[Tensor, "c"]


def split(dataset: Dataset, seed: int = 0) -> Split:
    """Split a data set 80 / 10 / 10 by a seeded permutation (Zietlow 2022, section 3.3.1).

    Example:
        >>> from unpick.data import load
        >>> [len(part) for part in split(load("synth-lin"))]
        [40000, 5000, 5000]
    """
    if len(dataset) < 10:
        raise ValueError(f"{dataset.name}: split needs 10 observations, got {len(dataset)}")
    order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(seed))
    tenth = len(dataset) // 10
    return Split(order[2 * tenth :], order[:tenth], order[tenth : 2 * tenth])
