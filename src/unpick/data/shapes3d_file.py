"""3D Shapes, from its hdf5 file."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import UInt8

from unpick.data.containers import h5_blocks, h5_labels
from unpick.data.dataset import ArrayStore, Dataset, Factor
from unpick.data.files import DataFile, convert_once, expect_grid, find_file, grid_sizes
from unpick.data.shapes3d import FACTORS

HOW = "run `unpick data get shapes3d-file`, or get it from github.com/google-deepmind/3d-shapes"


@dataclass(frozen=True)
class Shapes3DFile:
    """An object in a room (Burgess and Kim 2018): 480000 colour images of 64x64 pixels.

    This is the published file; `shapes3d` is our rendered look-alike on the same grid. The chunks
    of the file make random access slow, so the first load unpacks the images (5.9 GB on disk,
    memory-mapped). The labels are read only to check the order.
    """

    name: ClassVar[str] = "shapes3d-file"
    factors: ClassVar[tuple[Factor, ...]] = FACTORS
    checksum: ClassVar[str] = (
        "sha256:0a0f6ed98baff276a50f3a081a7434d788da63cb135a98189b2a5b5769be1785"
    )
    path: str = ""  # the file or its folder; '' is the folder `unpick data get` fills

    def files(self) -> tuple[DataFile, ...]:
        """The hdf5 file."""
        return (DataFile(find_file(self.name, self.path, ("3dshapes.h5",), HOW), self.checksum),)

    def load(self) -> Dataset:
        """Unpack the images, or map them if they were unpacked before."""
        (file,) = self.files()
        shape = (math.prod(grid_sizes(self.factors)), 3, 64, 64)
        images = convert_once(self.name, (file,), shape, self._unpacked(file))
        return Dataset(self.name, ArrayStore(images), self.factors)

    def _unpacked(self, file: DataFile) -> Iterator[UInt8[np.ndarray, "rows 3 64 64"]]:
        file.verify()
        sizes = grid_sizes(self.factors)
        shape = (math.prod(sizes), len(sizes))
        expect_grid(file.path, h5_labels(file.path, "labels", shape), sizes)
        for images in h5_blocks(file.path, "images", (math.prod(sizes), 64, 64, 3)):
            yield images.transpose(0, 3, 1, 2)
