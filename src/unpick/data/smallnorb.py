"""Small NORB, from its six binary matrix files."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedIOBase
from typing import ClassVar

import numpy as np
from jaxtyping import Int, UInt8
from PIL import Image

from unpick.data.dataset import ArrayStore, DataDamaged, Dataset, Factor
from unpick.data.files import (
    DataFile,
    convert_once,
    expect,
    find_file,
    grid_sizes,
    numbered_factor,
    report_damage,
    resize,
)

HALVES = ("smallnorb-5x46789x9x18x6x2x96x96-training", "smallnorb-5x01235x9x18x6x2x96x96-testing")
MATRICES = ("dat", "cat", "info")
BYTES, INTEGERS = 0x1E3D4C55, 0x1E3D4C54  # magic numbers
PAIR = (2, 96, 96)  # left and right image
BLOCK = 300
HOW = "run `unpick data get smallnorb`, or get it from cs.nyu.edu/~ylclab/data/norb-v1.0-small"


@dataclass(frozen=True)
class SmallNORB:
    """Photographs of toys (LeCun et al. 2004): 48600 grey images, resized to 64x64 pixels.

    Published results differ in three choices. Here, the training and test halves, which have five
    instances of each category each, are merged, so the instance is a factor with ten values. Of
    each stereo pair the first image is used. The images, which are stored in random order, are
    sorted into the grid of the factors.
    """

    name: ClassVar[str] = "smallnorb"
    factors: ClassVar[tuple[Factor, ...]] = (
        numbered_factor("category", 5, categorical=True),  # animal, human, plane, truck, car
        numbered_factor("instance", 10, categorical=True),
        Factor("elevation", tuple(30.0 + 5 * k for k in range(9))),  # degrees
        Factor("azimuth", tuple(20.0 * k for k in range(18))),  # degrees
        numbered_factor("lighting", 6, categorical=True),
    )
    checksums: ClassVar[tuple[str, ...]] = (  # unpacked: dat, cat, info of each half
        "md5:8138a0902307b32dfa0025a36dfa45ec",
        "md5:fd5120d3f770ad57ebe620eb61a0b633",
        "md5:19faee774120001fc7e17980d6960451",
        "md5:e9920b7f7b2869a8f1a12e945b2c166c",
        "md5:fd5120d3f770ad57ebe620eb61a0b633",
        "md5:7c5b871cc69dcadec1bf6a18141f5edc",
    )
    path: str = ""  # the folder of the six files; '' is the one `unpick data get` fills

    def files(self) -> tuple[DataFile, ...]:
        """The six files, gzipped or not."""
        names = [f"{half}-{matrix}.mat" for half in HALVES for matrix in MATRICES]
        half = math.prod(grid_sizes(self.factors)) // 2
        sizes = (24 + half * math.prod(PAIR), 20 + half * 4, 20 + half * 4 * 4) * 2
        return tuple(
            DataFile(find_file(self.name, self.path, (name, f"{name}.gz"), HOW), checksum, True, n)
            for name, checksum, n in zip(names, self.checksums, sizes, strict=True)
        )

    def load(self) -> Dataset:
        """Sort and resize the images, or map them if that was done before."""
        files = self.files()
        shape = (math.prod(grid_sizes(self.factors)), 1, 64, 64)
        images = convert_once(self.name, files, shape, self._in_grid_order(files))
        return Dataset(self.name, ArrayStore(images), self.factors)

    def _in_grid_order(
        self, files: tuple[DataFile, ...]
    ) -> Iterator[UInt8[np.ndarray, "rows 1 64 64"]]:
        for file in files:
            file.verify()
        half = math.prod(grid_sizes(self.factors)) // 2
        places = np.concatenate(
            [self._grid_indices(files[k + 1], files[k + 2], half) for k in (0, 3)]
        )
        order = places.argsort()
        if not np.array_equal(places[order], np.arange(len(places))):
            raise DataDamaged(
                f"{files[2].path} and {files[5].path.name}: together their labels "
                "do not take every value of the grid once"
            )
        images = np.concatenate([read_first_images(files[k], half) for k in (0, 3)])
        for rows in np.split(order, range(BLOCK, len(order), BLOCK)):
            yield np.stack([resize(Image.fromarray(images[row])) for row in rows])

    def _grid_indices(self, cat: DataFile, info: DataFile, count: int) -> Int[np.ndarray, "n"]:
        """Grid index of each image of one half."""
        labels = np.column_stack([read_integers(cat, (count,)), read_integers(info, (count, 4))])
        labels[:, 3] //= 2  # the azimuth is stored in units of ten degrees; all are even
        sizes = grid_sizes(self.factors)
        if labels.min() < 0 or (labels >= sizes).any():
            raise DataDamaged(f"{info.path} or {cat.path.name}: a label is outside {sizes}")
        return np.ravel_multi_index(tuple(labels.T), sizes)


@contextmanager
def open_matrix(file: DataFile, magic: int, shape: tuple[int, ...]) -> Iterator[BufferedIOBase]:
    """Open a binary matrix at its first element; raises unless its header is as expected.

    The header is little-endian: a magic number for the type, the number of dimensions, and the
    sizes, padded with ones to at least three.
    """
    padded = shape + (1,) * (3 - len(shape))
    with file.open() as stream:
        with report_damage(file.path):
            header = np.frombuffer(stream.read(8 + 4 * len(padded)), "<i4")
            found, dimensions, *sizes = header.tolist()
        expect(file.path, "its magic number", f"{found:#x}", f"{magic:#x}")
        expect(file.path, "its number of dimensions", dimensions, len(shape))
        expect(file.path, "the shape in its header", tuple(sizes), padded)
        yield stream


def read_integers(file: DataFile, shape: tuple[int, ...]) -> Int[np.ndarray, "..."]:
    """A matrix of labels."""
    with open_matrix(file, INTEGERS, shape) as stream, report_damage(file.path):
        content = stream.read(4 * math.prod(shape) + 1)
        return np.frombuffer(content, "<i4").reshape(shape).astype(np.int64)


def read_first_images(file: DataFile, count: int) -> UInt8[np.ndarray, "n 96 96"]:
    """The first image of every stereo pair."""
    images = np.empty((count, *PAIR[1:]), np.uint8)
    with open_matrix(file, BYTES, (count, *PAIR)) as stream, report_damage(file.path):
        for image in images:
            pair = np.frombuffer(stream.read(math.prod(PAIR)), np.uint8)
            image[:] = pair.reshape(PAIR)[0]
        if stream.read(1):
            raise DataDamaged(f"{file.path} goes on after its last image")
    return images
