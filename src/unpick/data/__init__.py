"""Data sets: observations with the generative factors behind them."""

from typing import get_args

from unpick.data.bent import Bent
from unpick.data.cars3d import Cars3D
from unpick.data.celeba import CelebA
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
from unpick.data.dsprites import DSprites
from unpick.data.faces import Faces
from unpick.data.heads import Heads
from unpick.data.idx import MNIST, FashionMNIST
from unpick.data.mpi3d import MPI3D
from unpick.data.shapes3d import Shapes3D
from unpick.data.shapes3d_file import Shapes3DFile
from unpick.data.smallnorb import SmallNORB
from unpick.data.sprites import Sprites
from unpick.data.synthetic import Circles, LinearGaussian, SynthLin, SynthNonlin
from unpick.data.transitions import PAIRS, LaplacePairs, PairConfig, UniformPairs, pairs
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
    "Packed",
    "PairConfig",
    "Split",
    "UniformPairs",
    "load",
    "pairs",
    "split",
]

# Every data set is a frozen dataclass: its fields are the options, `load()` makes the data.
Embedded = SynthLin | SynthNonlin | Bent | Circles | LinearGaussian | Sprites | Shapes3D | Heads
FromFiles = (
    DSprites | Shapes3DFile | MPI3D | MNIST | FashionMNIST | CelebA | Faces | SmallNORB | Cars3D
)
DataConfig = Embedded | FromFiles

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
    return pick(DATASETS, name, "data set")(**options).load()
