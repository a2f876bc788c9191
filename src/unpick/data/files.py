"""Functions that all readers of public data files share: find, verify and convert files.

A reader is a frozen dataclass with `load()` and `files()`, which lists the files it reads with
their published checksums. Files that are slow to read are converted once into a uint8 array in
`data_folder()`. Checksums are verified before the conversion.
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

SIDE = 64  # image size to which the disentanglement literature resizes larger images


@dataclass(frozen=True)
class DataFile:
    """A file and its published checksum.

    Args:
        path: The file.
        checksum: Such as "sha256:0a0f..."; empty where none is known.
        unpacked: Whether the checksum is of the uncompressed content; the file may be gzipped.
    """

    path: Path
    checksum: str = ""
    unpacked: bool = False

    def open(self) -> BufferedIOBase:
        """Open the file; a gzipped one is decompressed if `unpacked` is set."""
        if self.unpacked and self.path.suffix == ".gz":
            return gzip.open(self.path, "rb")
        return self.path.open("rb")

    def verify(self) -> None:
        """Raise if the checksum of the file is wrong; a file without a known checksum passes."""
        if not self.checksum:
            return
        algorithm, _, expected = self.checksum.partition(":")
        with report_damage(self.path), self.open() as stream:
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
        """Find the files; raises `DataMissing` if one is not there."""

    def load(self) -> Dataset:
        """The data set."""


def check(config: FileConfig) -> str:
    """Verify all known checksums, then load the data; returns one line with the result.

    `load` skips the checksums of files that were converted before and of very large ones. This
    function verifies them all.
    """
    files = config.files()
    for file in files:
        file.verify()
    dataset = config.load()
    known = sum(bool(file.checksum) for file in files)
    sums = f"{known} of {len(files)} files by checksum" if known else "no checksum is published"
    return f"{config.name} is right: {len(dataset)} images of shape {dataset.shape} ({sums})"


def find_file(name: str, path: str, choices: tuple[str, ...], how: str) -> Path:
    """Find a file: `path` itself, or one of `choices` in the folder `path`.

    Args:
        name: Name of the data set. If `path` is empty, its folder in `data_folder()` is searched.
        path: A file, a folder, or empty.
        choices: Names that the file may have.
        how: Where to get the file, for the error message.
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
def report_damage(path: Path) -> Iterator[None]:
    """Turn any exception of a file parser into `DataDamaged`, with one sentence naming the file.

    Parsers of zip, hdf5, MATLAB and image files raise a dozen types of exception. Put only calls
    of parsers inside.
    """
    try:
        yield
    except (DataDamaged, DataMissing, MemoryError):
        raise
    except Exception as error:
        what = str(error).strip().partition("\n")[0] or type(error).__name__
        raise DataDamaged(f"{path} is truncated or no file of its kind: {what}") from error


def expect(path: Path, what: str, got: object, wanted: object) -> None:
    """Raise `DataDamaged` with "PATH: WHAT is GOT, not WANTED" unless both are equal."""
    if got != wanted:
        raise DataDamaged(f"{path}: {what} is {got}, not {wanted}")


def expect_grid(path: Path, labels: Num[np.ndarray, "..."], sizes: tuple[int, ...]) -> None:
    """Raise unless the labels enumerate the whole grid in order, the last column fastest.

    Only the order of the labels counts, so they may be class numbers or values.
    """
    expect(path, "the shape of its labels", labels.shape, (math.prod(sizes), len(sizes)))
    grid = np.unravel_index(np.arange(len(labels)), sizes)
    for k, positions in enumerate(grid):
        _, ranks = np.unique(labels[:, k], return_inverse=True)
        if not np.array_equal(ranks, positions):
            raise DataDamaged(f"{path}: column {k} of its labels is not in the order of the grid")


def numbered_factor(name: str, size: int, categorical: bool = False) -> Factor:
    """A factor with the values 0 to size - 1."""
    return Factor(name, tuple(map(float, range(size))), categorical)


def grid_sizes(factors: tuple[Factor, ...]) -> tuple[int, ...]:
    """The number of values of each factor."""
    return tuple(factor.size for factor in factors)


def convert_once(
    name: str,
    files: tuple[Path, ...],
    shape: tuple[int, ...],
    blocks: Iterator[UInt8[np.ndarray, "rows ..."]],
    options: object = None,
) -> UInt8[np.ndarray, "n ..."]:
    """A cached array that is made from files; made again if a file's size or time changes.

    Args:
        name: Name of the data set.
        files: The files that the content depends on.
        shape: Shape of the whole array.
        blocks: Consecutive rows, consumed only the first time.
        options: Anything else that the content depends on.
    """
    stats = [(str(f.absolute()), (stat := f.stat()).st_size, stat.st_mtime_ns) for f in files]
    mark = hashlib.sha256(repr((stats, shape, options)).encode()).hexdigest()[:12]
    return cached_array(f"{name}/converted-{mark}", shape, blocks)


def resize(image: Image.Image) -> UInt8[np.ndarray, "c 64 64"]:
    """Resize to 64x64 pixels with the Lanczos filter (once called ANTIALIAS in Pillow)."""
    small = np.asarray(image.resize((SIDE, SIDE), Image.Resampling.LANCZOS))
    return small.reshape(SIDE, SIDE, -1).transpose(2, 0, 1)
