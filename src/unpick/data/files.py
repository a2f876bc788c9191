"""Functions that all readers of public data files share: find, verify and convert files.

A reader is a frozen dataclass with `load()` and `files()`, which lists the files it reads with
their published checksums. Files that are slow to read are converted once into a uint8 array in
`data_folder()`. Checksums are verified before the conversion. The sha256 of files without a
published checksum is recorded when they are first read, and a change is refused.
"""

import contextlib
import gzip
import hashlib
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Num, UInt8
from PIL import Image

from unpick.data.cache import (
    atomic_write,
    cached_array,
    data_folder,
    note_use,
    sha256_of,
    sums_of,
    with_progress,
)
from unpick.data.dataset import DataDamaged, DataMissing, Dataset, Factor

BLOCK = 2**20  # bytes hashed at once
SIDE = 64  # image size to which the disentanglement literature resizes larger images


@dataclass(frozen=True)
class DataFile:
    """A file and its published checksum.

    Args:
        path: The file.
        checksum: Such as "sha256:0a0f..."; empty where none is known.
        unpacked: Whether the checksum is of the uncompressed content; the file may be gzipped.
        size: Bytes of that content, where they are known: no more are decompressed.
    """

    path: Path
    checksum: str = ""
    unpacked: bool = False
    size: int = 0

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
        digest, have = hashlib.new(algorithm, usedforsecurity=False), 0
        with report_damage(self.path), self.open() as stream:
            while block := stream.read(BLOCK):
                digest.update(block)
                have += len(block)
                if self.size and have > self.size:
                    raise DataDamaged(f"{self.path} holds more than {self.size} bytes")
        if (got := digest.hexdigest()) != expected:
            raise DataDamaged(
                f"{self.path} is truncated or altered: its {algorithm} is {got}, not {expected}"
            )
        note_use(self.path.name, self.checksum)


@runtime_checkable
class FileConfig(Protocol):
    """A data set that is read from files."""

    name: ClassVar[str]

    def files(self) -> tuple[DataFile, ...]:
        """Find the files; raises `DataMissing` if one is not there."""

    def load(self) -> Dataset:
        """The data set."""


def check(config: FileConfig) -> str:
    """Verify all checksums, then load the data; returns one line with the result.

    `load` skips the published checksums of files that were converted before and of very large
    ones, and takes the sha256 of large cached arrays only if they have changed. This function
    verifies them all.
    """
    files = config.files()
    for file in files:
        file.verify()
    unknown = [file for file in files if not file.checksum]
    loaded: list[Dataset] = []
    with same_as_before(unknown):
        arrays = sums_of(lambda: loaded.append(config.load()), afresh=True)
    (dataset,) = loaded
    what = f"{len(dataset)} images of shape {dataset.shape}"
    sums = f"{len(files) - len(unknown)} of {len(files)} files by checksum"
    if any(name.endswith(".npy") for name in arrays):
        sums += ", and the array made of them"
    if not unknown:
        return f"{config.name} is right: {what} ({sums})"
    if len(unknown) == len(files):
        sums = "no checksum is published"
    return f"{config.name} is as it was when first read here: {what} ({sums})"


@contextmanager
def same_as_before(files: Sequence[DataFile]) -> Iterator[bool]:
    """Around the reading of files without a published checksum; yields whether it is the first.

    Raises if their content differs from what was read first; after the first reading its sha256
    is recorded.
    """
    if not files:
        yield False
        return
    sums = []
    for ((file,),) in with_progress("hashing", ([(f,)] for f in files), len(files)):
        sums.append(sha256_of(file.path))
    got = sums[0] if len(sums) == 1 else hashlib.sha256("\n".join(sums).encode()).hexdigest()
    first = files[0].path.absolute()
    places = hashlib.sha256(repr([str(file.path.absolute()) for file in files]).encode())
    record = data_folder() / "first-read" / f"{first.name}-{places.hexdigest()[:12]}"
    wanted = ascii(record.read_text(errors="replace").strip()) if record.is_file() else ""
    if wanted not in ("", repr(got)):
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        raise DataDamaged(
            f"{first}{more} changed since it was first read here: its sha256 is {got[:12]}..., "
            f"not {wanted[1:13]}...; bring the old content back, or delete {record} to take "
            "the new"
        )
    yield (unknown := not record.is_file())
    note_use(first.name, f"sha256:{got}")
    if unknown:
        with contextlib.suppress(OSError), atomic_write(record) as out:  # or it is read-only
            out.write(f"{got}\n".encode())


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
    files: tuple[DataFile, ...],
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
    stats = [
        (str(f.path.absolute()), (stat := f.path.stat()).st_size, stat.st_mtime_ns) for f in files
    ]
    mark = hashlib.sha256(repr((stats, shape, options)).encode()).hexdigest()[:12]

    def converted() -> Iterator[UInt8[np.ndarray, "rows ..."]]:
        with same_as_before([file for file in files if not file.checksum]):
            yield from blocks

    return cached_array(f"{name}/converted-{mark}", shape, converted())


def resize(image: Image.Image) -> UInt8[np.ndarray, "c 64 64"]:
    """Resize to 64x64 pixels with the Lanczos filter (once called ANTIALIAS in Pillow)."""
    small = np.asarray(image.resize((SIDE, SIDE), Image.Resampling.LANCZOS))
    return small.reshape(SIDE, SIDE, -1).transpose(2, 0, 1)
