"""What is read from somebody's own files, before it is cached: numbers, factors and remarks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Float32

from unpick.data.arrays import describe_factors
from unpick.data.cache import Block
from unpick.data.dataset import ArrayStore, Dataset

LEAST = 10  # observations that can be split into training, validation and test parts


@dataclass(frozen=True, eq=False)
class Labels:
    """Observed factors: one column each.

    Attributes:
        names: Of the factors.
        values: One row an observation. A word is the number of its place among the sorted words.
        words: For each factor its words in that order, or nothing if it has numbers.
    """

    names: tuple[str, ...]
    values: Float32[np.ndarray, "n k"]
    words: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class Contents:
    """All observations of a file or folder, in the order in which they are read.

    Attributes:
        what: Such as "a table with 11 columns".
        shape: Of the whole array, (n, ...).
        dtype: uint8 for pixels, which are divided by 255 when they are read; else float32.
        blocks: Consecutive rows.
        labels: The observed factors, if there are any.
        remarks: What was done to the data, a sentence each.
        columns: Names of the columns of a table that are observations.
    """

    what: str
    shape: tuple[int, ...]
    dtype: Literal["uint8", "float32"]
    blocks: Iterator[Block]
    labels: Labels | None = None
    remarks: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


def to_dataset(
    name: str, array: Block, labels: Labels | None, columns: tuple[str, ...] = ()
) -> Dataset:
    """A data set of an array that may be memory-mapped; factors in grid order make a grid."""
    if labels is None:
        return Dataset(name, ArrayStore(array), columns=columns)
    values = torch.from_numpy(np.array(labels.values))
    categorical = [bool(words) for words in labels.words]
    factors, known = describe_factors(values, labels.names, categorical)
    return Dataset(name, ArrayStore(array), factors, known, columns)


def number_labels(source: str, columns: Mapping[str, np.ndarray]) -> Labels | None:
    """The labels in these columns of numbers or words; words are numbered in sorted order.

    Args:
        source: Name of the file, for errors.
        columns: An array (n,) for each factor. A word may be of any type that has a text.
    """
    if not columns:
        return None
    values, words = [], []
    for name, column in columns.items():
        own: list[str] = []
        if column.dtype.kind in "biuf":
            numbers = column.astype(np.float64)
        else:
            found, places = np.unique([str(word) for word in column], return_inverse=True)
            own, numbers = [str(word) for word in found], places.astype(np.float64)
        if numbers.min() == numbers.max():
            alone = repr(own[0]) if own else f"{numbers[0]:g}"
            raise ValueError(f"factor {name!r} of {source} is constant: every row has {alone}")
        short = to_float32(f"factor {name!r} of {source}", numbers)
        whole = bool((numbers == numbers.round()).all())
        if len(np.unique(short)) < (len(np.unique(numbers)) if whole else 2):
            raise ValueError(
                f"factor {name!r} of {source} has values that are equal in float32, such as "
                f"{numbers[0]:.17g} and its neighbours; subtract their least, or number them"
            )
        values.append(short)
        words.append(tuple(own))
    return Labels(tuple(columns), np.stack(values, 1), tuple(words))


def to_float32(what: str, numbers: np.ndarray, first: int = 0) -> Float[np.ndarray, "..."]:
    """The numbers as float32; raises if one is not finite.

    Args:
        what: Name of the array, for the error.
        numbers: Any real numbers.
        first: Row of the whole array at which they begin.
    """
    with np.errstate(over="ignore"):
        converted = numbers.astype(np.float32)
    if not np.isfinite(converted).all():
        where = np.argwhere(~np.isfinite(converted))[0]
        got, index = numbers[tuple(where)], (first + int(where[0]), *map(int, where[1:]))
        place = f"row {index[0]}" if len(index) == 1 else f"index {index}"
        raise ValueError(f"{what} must be finite in float32, got {got} at {place} (from 0)")
    return converted


def check_rows(source: str, n: int, things: str) -> None:
    """Raise if there are too few observations for three parts."""
    if n < LEAST:
        raise ValueError(
            f"{source} must have at least {LEAST} {things}, to be split into training, "
            f"validation and test parts, got {n}"
        )
