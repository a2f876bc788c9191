"""What all readers of public data files share: finding them, checking them, saying what is wrong.

A reader is a frozen dataclass with `files()`, the files it reads with their published checksums,
and `load()`. What is slow to read is converted once into an array of bytes in `data_folder()`;
the checksum is verified before that, so the converted array stands for the verdict too.
"""

import gzip
import hashlib
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Num, UInt8
from PIL import Image

from unpick.data.cache import cached_array, data_folder
from unpick.data.dataset import DataDamaged, DataMissing, Dataset, Factor

SIDE = 64  # what the disentanglement literature resizes larger images to


@dataclass(frozen=True)
class DataFile:
    """A file, and the checksum it was published with.

    Args:
        path: Where it lies.
        checksum: Such as "sha256:0a0f..."; empty where none is known.
        unpacked: The checksum is that of the content, so the file may be gzipped or not.
    """

    path: Path
    checksum: str = ""
    unpacked: bool = False

    def open(self) -> BufferedIOBase:
        """The content as it is, or unpacked."""
        if self.unpacked and self.path.suffix == ".gz":
            return gzip.open(self.path, "rb")
        return self.path.open("rb")

    def verify(self) -> None:
        """Read the whole file and compare its checksum; one without a known checksum passes."""
        if not self.checksum:
            return
        algorithm, _, expected = self.checksum.partition(":")
        with reading(self.path), self.open() as stream:
            got = hashlib.file_digest(stream, algorithm).hexdigest()
        if got != expected:
            raise DataDamaged(
                f"{self.path} is truncated or altered: its {algorithm} is {got}, not {expected}"
            )


@runtime_checkable
class FileConfig(Protocol):
    """A data set that is read from files."""

    name: ClassVar[str]

    def files(self) -> tuple[DataFile, ...]:
        """The files, found; DataMissing if one is not there."""

    def load(self) -> Dataset:
        """The data set."""


def check(config: FileConfig) -> str:
    """Verify every checksum that is known, then the structure; says in one line what was found.

    `load` skips the checksum of a file of many gigabytes and of one already converted; this
    does not.
    """
    files = config.files()
    for file in files:
        file.verify()
    dataset = config.load()
    known = sum(bool(file.checksum) for file in files)
    sums = f"{known} of {len(files)} files by checksum" if known else "no checksum is published"
    return f"{config.name} is right: {len(dataset)} images of shape {dataset.shape} ({sums})"


def find(name: str, path: str, choices: tuple[str, ...], how: str) -> Path:
    """The file at `path`, or under one of its usual names in the folder `path`.

    Args:
        name: Of the data set; its own folder is searched where `path` is empty.
        path: A file, a folder, or empty.
        choices: Usual names of the file.
        how: Where to get it, for the message.
    """
    place = Path(path).expanduser() if path else data_folder() / name
    if place.is_file():
        return place
    for choice in choices:
        if (place / choice).is_file():
            return place / choice
    wanted = " or ".join(choices)
    raise DataMissing(f"{name}: no {wanted} found at {place}; {how}")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """What a parser raises on a broken file, whatever it is, becomes one sentence naming the file.

    Parsers of zip, hdf5, MATLAB and image files raise a dozen types; put only their calls inside.
    """
    try:
        yield
    except (DataDamaged, DataMissing, MemoryError):
        raise
    except Exception as error:
        what = str(error).strip().partition("\n")[0] or type(error).__name__
        raise DataDamaged(f"{path} is truncated or no file of its kind: {what}") from error


def expect(path: Path, what: str, got: object, wanted: object) -> None:
    """Raise unless both are equal; `what` completes "the file's ... is"."""
    if got != wanted:
        raise DataDamaged(f"{path}: {what} is {got}, not {wanted}")


def expect_grid(path: Path, labels: Num[np.ndarray, "..."], sizes: tuple[int, ...]) -> None:
    """Raise unless the labels run through the whole grid in order, the last column fastest.

    Only their order counts, so labels may be class numbers or values.
    """
    expect(path, "the shape of its labels", labels.shape, (math.prod(sizes), len(sizes)))
    grid = np.unravel_index(np.arange(len(labels)), sizes)
    for k, positions in enumerate(grid):
        _, ranks = np.unique(labels[:, k], return_inverse=True)
        if not np.array_equal(ranks, positions):
            raise DataDamaged(f"{path}: column {k} of its labels is not in the order of the grid")


def indexed(name: str, size: int, categorical: bool = False) -> Factor:
    """A factor whose values are just numbered."""
    return Factor(name, tuple(map(float, range(size))), categorical)


def sizes_of(factors: tuple[Factor, ...]) -> tuple[int, ...]:
    """The number of values of each factor."""
    return tuple(factor.size for factor in factors)


def converted(
    name: str,
    files: tuple[Path, ...],
    shape: tuple[int, ...],
    blocks: Iterator[UInt8[np.ndarray, "rows ..."]],
    options: object = None,
) -> UInt8[np.ndarray, "n ..."]:
    """An array made once from files; another size or time of a file makes another array.

    Args:
        name: Of the data set.
        files: What decides the content.
        shape: Of the whole array.
        blocks: Consecutive rows, consumed only the first time.
        options: What else decides the content.
    """
    stats = [(str(f.absolute()), (stat := f.stat()).st_size, stat.st_mtime_ns) for f in files]
    mark = hashlib.sha256(repr((stats, shape, options)).encode()).hexdigest()[:12]
    return cached_array(f"{name}/converted-{mark}", shape, blocks)


def shrunk(image: Image.Image) -> UInt8[np.ndarray, "c 64 64"]:
    """64x64 pixels, smoothed before thinning out (Lanczos, which Pillow once called antialias)."""
    small = np.asarray(image.resize((SIDE, SIDE), Image.Resampling.LANCZOS))
    return small.reshape(SIDE, SIDE, -1).transpose(2, 0, 1)
