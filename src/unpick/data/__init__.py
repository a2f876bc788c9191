"""Data sets: observations with the generative factors behind them."""

from difflib import get_close_matches
from typing import get_args

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
from unpick.data.synthetic import Circles, LinearGaussian, SynthLin, SynthNonlin

__all__ = [
    "DATASETS",
    "DataConfig",
    "DataDamaged",
    "DataMissing",
    "Dataset",
    "Dense",
    "Factor",
    "Packed",
    "Split",
    "load",
    "split",
]

# Every data set is a frozen dataclass: its fields are the options, `load()` makes the data.
DataConfig = SynthLin | SynthNonlin | Circles | LinearGaussian

DATASETS = {config.name: config for config in get_args(DataConfig)}


def load(name: str, **options: object) -> Dataset:
    """The data set of that name.

    Args:
        name: One of `DATASETS`.
        options: Fields of its dataclass, such as `ratio` of `synth-lin`.

    Example:
        >>> load("synth-lin", ratio=1.5, points=1000).shape
        (3,)
    """
    if name not in DATASETS:
        near = get_close_matches(name, DATASETS, n=3) or list(DATASETS)
        raise ValueError(f"unknown data set {name!r}; did you mean {' or '.join(near)}?")
    return DATASETS[name](**options).load()
