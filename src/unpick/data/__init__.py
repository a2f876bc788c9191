"""Data sets: observations with the generative factors behind them."""

from pathlib import Path

from unpick.data.catalogue import DATASETS, Original
from unpick.data.dataset import (
    DataDamaged,
    DataMissing,
    Dataset,
    Dense,
    Factor,
    Packed,
    Split,
    split,
)
from unpick.data.transitions import (
    PAIRS,
    LaplacePairs,
    PairConfig,
    SharePairs,
    UniformPairs,
    pairs,
)
from unpick.data.twins import Noisy, Perturbed, twin
from unpick.names import pick

__all__ = [
    "DATASETS",
    "PAIRS",
    "DataConfig",
    "DataDamaged",
    "DataMissing",
    "Dataset",
    "Dense",
    "Factor",
    "LaplacePairs",
    "Noisy",
    "Original",
    "Packed",
    "PairConfig",
    "Perturbed",
    "SharePairs",
    "Split",
    "UniformPairs",
    "load",
    "pairs",
    "split",
    "twin",
]

DataConfig = Original | Noisy | Perturbed


def load(
    name: str, *, perturbed: str | Path = "", noisy: float = 0.0, **options: object
) -> Dataset:
    """The data set of that name.

    Args:
        name: One of `DATASETS`.
        perturbed: The folder of a perturbed twin, to be read in place of the original.
        noisy: Or its noisy twin: every pixel is off by a fixed number, uniform within +- this.
        options: Fields of its dataclass, such as `ratio` of `synth-lin`.

    Example:
        >>> load("synth-lin", ratio=1.5, points=1000).shape
        (3,)
    """
    return twin(pick(DATASETS, name, "data set")(**options), perturbed, noisy).load()
