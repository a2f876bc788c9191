"""All data sets by name."""

from typing import get_args

from unpick.data.bent import Bent
from unpick.data.cars3d import Cars3D
from unpick.data.celeba import CelebA
from unpick.data.dsprites import DSprites
from unpick.data.faces import Faces
from unpick.data.heads import Heads
from unpick.data.idx import MNIST, FashionMNIST
from unpick.data.mpi3d import MPI3D
from unpick.data.numerals import Numerals
from unpick.data.shapes3d import Shapes3D
from unpick.data.shapes3d_file import Shapes3DFile
from unpick.data.smallnorb import SmallNORB
from unpick.data.sprites import Sprites
from unpick.data.synthetic import Circles, LinearGaussian, SynthLin, SynthNonlin

# Every data set is a frozen dataclass: its fields are the options, `load()` makes the data.
Embedded = (
    SynthLin
    | SynthNonlin
    | Bent
    | Circles
    | LinearGaussian
    | Sprites
    | Shapes3D
    | Heads
    | Numerals
)
FromFiles = (
    DSprites | Shapes3DFile | MPI3D | MNIST | FashionMNIST | CelebA | Faces | SmallNORB | Cars3D
)
Original = Embedded | FromFiles

DATASETS = {config.name: config for config in get_args(Original)}
