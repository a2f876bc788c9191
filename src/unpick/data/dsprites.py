"""dSprites, from its npz or hdf5 file."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import UInt8

from unpick.data.containers import h5_blocks, h5_labels, npz_blocks, npz_labels
from unpick.data.dataset import DataDamaged, Dataset, Factor, PackedStore
from unpick.data.files import DataFile, convert_once, expect_grid, find_file, grid_sizes
from unpick.data.sprites import FACTORS

STEM = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64"
HOW = "run `unpick data get dsprites`, or get it from github.com/google-deepmind/dsprites-dataset"


@dataclass(frozen=True)
class DSprites:
    """Squares, ellipses and hearts (Matthey et al. 2017): 737280 binary images of 64x64 pixels.

    The constant colour is dropped. The first and the last orientation are the same angle. The
    pickled metadata of the npz file is never read. The first load packs the images, eight pixels
    per byte.
    """

    name: ClassVar[str] = "dsprites"
    factors: ClassVar[tuple[Factor, ...]] = FACTORS
    checksums: ClassVar[dict[str, str]] = {
        ".npz": "md5:7da33b31b13a06f4b04a70402ce90c2e",
        ".hdf5": "sha256:729fa22e884c9c500e1f17415d580746b4c5894fbbb780a1319bbcfa39a745bb",
    }
    path: str = ""  # the file or its folder; '' is the folder `unpick data get` fills

    def files(self) -> tuple[DataFile, ...]:
        """The npz file, or else the hdf5 file."""
        choices = (f"{STEM}.npz", f"{STEM}.hdf5")
        path = find_file(self.name, self.path, choices, HOW)
        if path.suffix not in (".npz", ".hdf5"):
            raise DataDamaged(f"{path}: the suffix must be .npz or .hdf5, got {path.suffix!r}")
        return (DataFile(path, self.checksums.get(path.suffix, "")),)

    def load(self) -> Dataset:
        """Pack the images, or map them if they were packed before."""
        (file,) = self.files()
        shape = (math.prod(grid_sizes(self.factors)), 64 * 64 // 8)
        bits = convert_once(self.name, (file,), shape, self._packed(file))
        return Dataset(self.name, PackedStore(bits, (1, 64, 64)), self.factors)

    def _packed(self, file: DataFile) -> Iterator[UInt8[np.ndarray, "rows bytes"]]:
        file.verify()
        path, sizes = file.path, (1, *grid_sizes(self.factors))
        npz = path.suffix == ".npz"
        labels, blocks = (npz_labels, npz_blocks) if npz else (h5_labels, h5_blocks)
        shape = (math.prod(sizes), len(sizes))
        for key in ("latents_classes", "latents_values"):
            found = labels(path, key if npz else key.replace("_", "/"), shape)
            expect_grid(path, found, sizes)
        for images in blocks(path, "imgs", (math.prod(sizes), 64, 64)):
            if images.max() > 1:
                raise DataDamaged(f"{path}: a pixel is {images.max()}, not 0 or 1")
            yield np.packbits(images.reshape(len(images), -1), axis=1)
