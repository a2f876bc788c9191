"""Data sets: observations, with generative factors where they are known."""

import functools
from dataclasses import fields
from pathlib import Path

from unpick.data.arrays import from_arrays, from_torch
from unpick.data.cache import sums_of
from unpick.data.catalogue import DATASETS, Original
from unpick.data.dataset import (
    ArrayStore,
    DataDamaged,
    DataMissing,
    Dataset,
    Factor,
    PackedStore,
    Split,
    split,
)
from unpick.data.own import OwnData, from_folder, from_table, own_data
from unpick.data.transitions import (
    PAIRS,
    LaplacePairs,
    PairConfig,
    SharePairs,
    UniformPairs,
    pairs,
)
from unpick.data.twins import Noisy, Perturbed, select_twin
from unpick.names import pick

__all__ = [
    "DATASETS",
    "PAIRS",
    "ArrayStore",
    "DataConfig",
    "DataDamaged",
    "DataMissing",
    "Dataset",
    "Factor",
    "LaplacePairs",
    "Noisy",
    "Original",
    "OwnData",
    "PackedStore",
    "PairConfig",
    "Perturbed",
    "SharePairs",
    "Split",
    "UniformPairs",
    "checksums",
    "from_arrays",
    "from_folder",
    "from_table",
    "from_torch",
    "load",
    "own_data",
    "pairs",
    "select_twin",
    "split",
]

DataConfig = Original | Noisy | Perturbed | OwnData


def load(
    name: str, *, perturbed: str | Path = "", noisy: float = 0.0, **options: object
) -> Dataset:
    """Load a data set by name: the original, or a twin of it.

    Args:
        name: One of `DATASETS`.
        perturbed: Folder of a perturbed twin to load instead of the original.
        noisy: Epsilon of a noisy twin to load instead: fixed uniform noise in [-epsilon, epsilon]
            on every pixel. 0 loads the original.
        options: Fields of the data set's dataclass, such as `ratio` of `synth-lin`.

    Example:
        >>> load("synth-lin", ratio=1.5, points=1000).shape
        (3,)
    """
    kind = pick(DATASETS, name, "data set")
    allowed = {field.name: field for field in fields(kind)}
    for option in options:
        pick(allowed, option, f"option of {name}")
    return select_twin(kind(**options), perturbed, noisy).load()


@functools.cache
def checksums(config: DataConfig) -> dict[str, str]:
    """Name and checksum of every file that a data set is read from, for the record of a run.

    Published checksums of files that were read just now; the sha256 of cached arrays, and of files
    without a published checksum. A data set that is computed in memory has none.
    """
    return sums_of(config.load)
