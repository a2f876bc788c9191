"""A table as the training loop takes it: centred, in one scale, with some rows held out."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from unpick.data import Dataset, split

HELD_OUT = 2000  # rows, at most; a fifth of the table, if that is less
FEW = 25  # with fewer rows than this none is held out
CHUNK = 2**22  # numbers at a time


@dataclass(frozen=True, eq=False)
class Scale:
    """How a table is centred and scaled: by one number, as PCA's directions must not change.

    Attributes:
        mean: Of each column.
        spread: Root mean square of the columns' deviations: the mean variance becomes 1.
    """

    mean: Float[np.ndarray, "p"]
    spread: float

    def apply(self, x: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n p"]:
        """Centred rows in units of the spread, as doubles."""
        return (x - self.mean) / self.spread

    def undo(self, x: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n p"]:
        """The inverse of `apply`."""
        return x * self.spread + self.mean


def measure_scale(x: Float[np.ndarray, "n p"]) -> Scale:
    """Measure mean and spread in portions of rows, so that nothing as large as the table is made.

    Example:
        >>> scale = measure_scale(np.array([[1.0, 5.0], [3.0, 5.0]]))
        >>> scale.mean.tolist(), round(scale.spread, 4)
        ([2.0, 5.0], 0.7071)
    """
    parts = portions(len(x), x.shape[1])
    largest = max(float(np.abs(x[part]).max()) for part in parts)
    size = largest if largest > 0 else 1.0  # squares neither overflow nor vanish
    sums = [(x[part] / size).sum(0, dtype=np.float64) for part in parts]
    mean = np.sum(sums, axis=0) / len(x)
    # Of a constant column the mean may differ in the last digit.
    constant = np.ptp(x, axis=0) == 0
    mean[constant] = np.asarray(x[0, constant], dtype=np.float64) / size
    squares = [np.square(x[part] / size - mean).sum(dtype=np.float64) for part in parts]
    spread = float(np.sqrt(np.sum(squares) / x.size))
    if spread == 0:
        raise ValueError("X must vary, got columns that are all constant")
    # beta is in squared units.
    with np.errstate(over="ignore", under="ignore"):
        unit = np.square(spread * size)
    if not np.finfo(np.float64).tiny < unit < np.inf:
        raise ValueError(
            "X must have a variance that double precision can hold, got deviations of about "
            f"{spread:.1e} times {size:.1e}; multiply X by a number"
        )
    return Scale(mean * size, spread * size)


def portions(rows: int, columns: int) -> list[slice]:
    """Slices of rows that together are all of them, none with too many numbers."""
    step = max(1, CHUNK // max(1, columns))
    return [slice(start, start + step) for start in range(0, rows, step)]


@dataclass(frozen=True, eq=False)
class Rows:
    """A store of rows of a table; it scales the rows that are read and copies no others.

    Attributes:
        x: The table; it may be memory-mapped.
        scale: How it is centred and scaled.
        table: The row that stands at each index.
    """

    x: Float[np.ndarray, "n p"]
    scale: Scale
    table: Int[np.ndarray, "m"]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one row."""
        return self.x.shape[1:]

    def __len__(self) -> int:
        return len(self.table)

    def read(self, indices: Int[Tensor, "b"]) -> Float[Tensor, "b p"]:
        """Scaled rows as float32."""
        rows = self.scale.apply(self.x[self.table[indices.numpy()]])
        return torch.from_numpy(rows.astype(np.float32))


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A table in two parts.

    Attributes:
        dataset: Its training part in the order of `unpick.data.split` is the rows to train on.
        rows: The number of rows to train on.
        held: Scaled rows that are not trained on, as float32; all rows if there are few.
        some: Scaled rows of the whole table, as doubles, to measure on.
        scale: Of the table.
    """

    dataset: Dataset
    rows: int
    held: Float[Tensor, "h p"]
    some: Float[np.ndarray, "m p"]
    scale: Scale

    @property
    def training_rows(self) -> Int[Tensor, "n"]:
        """Indices into the data set of rows to train on, at most 20 000."""
        return split(self.dataset).train[: min(self.rows, 20_000)]

    @property
    def every(self) -> Float[Tensor, "n p"]:
        """Scaled rows to train on, and those that were held out."""
        rows = self.dataset.observe(self.training_rows)
        return rows if len(self.held) == self.rows else torch.cat([rows, self.held])

    @property
    def variances(self) -> Float[np.ndarray, "p"]:
        """Principal variances, the largest first, from at most `HELD_OUT` rows."""
        x = self.some - self.some.mean(0)
        values = np.linalg.svd(x, compute_uv=False) ** 2 / len(x)
        return np.concatenate([values, np.zeros(x.shape[1] - len(values))])


def hold_out(x: Float[np.ndarray, "n p"], seed: int) -> HeldOut:
    """Hold a fifth of the rows out, at most 2000; of fewer than 25 rows none.

    The training loop trains on the training part of a data set, four fifths of it. The data set
    made here is larger than the table: it has every row to train on in that part, some twice
    where the sizes do not match.
    """
    scale = measure_scale(x)
    order = np.random.default_rng(seed).permutation(len(x))
    count = 0 if len(x) < FEW else min(len(x) // 5, HELD_OUT)
    train, held = order[count:], order[:count] if count else order
    length = next(m for m in range(max(10, len(train)), 2 * len(train) + 10) if fits(m, train))
    table = np.full(length, train[0])
    places = split(Dataset("table", Rows(x, scale, table))).train.numpy()
    table[places] = np.resize(train, len(places))
    some = np.sort(order[-HELD_OUT:])
    return HeldOut(
        Dataset("table", Rows(x, scale, table)),
        len(train),
        torch.from_numpy(scale.apply(x[np.sort(held)]).astype(np.float32)),
        scale.apply(x[some]).astype(np.float64),
        scale,
    )


def fits(length: int, train: Int[np.ndarray, "n"]) -> bool:
    """Whether the training part of a data set of this length has room for these rows."""
    return length - 2 * (length // 10) >= len(train)
