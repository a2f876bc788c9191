"""Read large arrays from npz and hdf5 files, block by block and without unpickling."""

import math
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import h5py
import numpy as np
from jaxtyping import Num, UInt8
from numpy.lib import format as npy

from unpick.data.dataset import DataDamaged
from unpick.data.files import DataFile, convert_once, expect, report_damage, same_as_before

ROWS = 4096  # rows per block: 50 MB of 64x64 colour images
RATIO = 400  # to which an npz may expand; the file of dSprites expands 116-fold
FLOOR = 2**20  # bytes; a smaller file may expand to as much as one of this size


class Member(NamedTuple):
    """An open array of an npz file: its header, and a stream that starts at its first element."""

    shape: tuple[int, ...]
    dtype: np.dtype
    fortran: bool  # whether the first index runs fastest
    offset: int | None  # offset of the first element in the file; None if compressed
    stream: IO[bytes]


def npz_keys(path: Path) -> tuple[str, ...]:
    """The names of the arrays in an npz file."""
    with report_damage(path), zipfile.ZipFile(path) as archive:
        return tuple(name.removesuffix(".npy") for name in archive.namelist())


@contextmanager
def npz_member(path: Path, key: str) -> Iterator[Member]:
    """Open one array of an npz file without reading its data. Never unpickles.

    Raises if the size that the archive announces is not that of the array, or is a bomb's.
    """
    with report_damage(path):
        archive = zipfile.ZipFile(path)
    with archive:
        if f"{key}.npy" not in archive.namelist():
            found = ", ".join(npz_keys(path)) or "none"
            raise DataDamaged(f"{path} has no array {key!r}; it has {found}")
        info = archive.getinfo(f"{key}.npy")
        with report_damage(path):
            stream = archive.open(info)
        with stream:
            with report_damage(path):
                old = npy.read_magic(stream) == (1, 0)
                header = npy.read_array_header_1_0 if old else npy.read_array_header_2_0
                shape, fortran, dtype = header(stream)
                start = stream.tell()
                offset = _data_offset(path, info) + start
            if not dtype.hasobject:
                announced = math.prod(shape) * dtype.itemsize
                expect(path, f"the number of bytes of {key!r}", info.file_size - start, announced)
            if min(shape, default=1) < 0:
                raise DataDamaged(f"{path}: the shape of {key!r} is {shape}")
            if info.file_size > RATIO * max(FLOOR, path.stat().st_size):
                raise DataDamaged(
                    f"{path}: {key!r} expands to {info.file_size / 1e6:.0f} MB, more than {RATIO} "
                    "times the file; save it uncompressed if that is meant"
                )
            stored = info.compress_type == zipfile.ZIP_STORED
            yield Member(shape, dtype, fortran, offset if stored else None, stream)


def _data_offset(path: Path, info: zipfile.ZipInfo) -> int:
    """Offset of a member's bytes in the zip file: after its local header of variable length."""
    with path.open("rb") as file:
        file.seek(info.header_offset + 26)
        name, extra = struct.unpack("<HH", file.read(4))
    return info.header_offset + 30 + name + extra


def expect_bytes(
    path: Path, key: str, array: Member | h5py.Dataset, shape: tuple[int, ...]
) -> None:
    """Raise unless the array has type uint8, this shape, and its last index runs fastest."""
    if isinstance(array, Member):
        expect(path, f"the element order of {key!r}", "F" if array.fortran else "C", "C")
    expect(path, f"the type of {key!r}", str(array.dtype), "uint8")
    expect(path, f"the shape of {key!r}", array.shape, shape)


def npz_blocks(
    path: Path, key: str, shape: tuple[int, ...]
) -> Iterator[UInt8[np.ndarray, "rows ..."]]:
    """Blocks of rows of a uint8 array in an npz file."""
    with npz_member(path, key) as member:
        expect_bytes(path, key, member, shape)
        for start in range(0, shape[0], ROWS):
            block = (min(ROWS, shape[0] - start), *shape[1:])
            with report_damage(path):
                pixels = np.frombuffer(member.stream.read(math.prod(block)), np.uint8)
                pixels = pixels.reshape(block)
            yield pixels


def npz_array(
    name: str, file: DataFile, key: str, shape: tuple[int, ...]
) -> UInt8[np.ndarray, "n ..."]:
    """A large uint8 array of an npz file: memory-mapped, or unpacked once if compressed.

    A mapped file is hashed when it is first read and when it has changed. The first time, it is
    compared with the checksum (CRC-32) in the archive, too.
    """
    path = file.path
    with npz_member(path, key) as member:
        expect_bytes(path, key, member, shape)
        offset = member.offset
    if offset is None:
        return convert_once(name, (file,), shape, npz_blocks(path, key, shape))
    with same_as_before((file,)) as first:
        if first:
            for _ in npz_blocks(path, key, shape):
                pass  # zipfile compares the checksum at the end
        with report_damage(path):
            return np.memmap(path, np.uint8, "r", offset, shape)


def npz_labels(path: Path, key: str, shape: tuple[int, ...]) -> Num[np.ndarray, "..."]:
    """A small array of numbers in an npz file."""
    with npz_member(path, key) as member, report_damage(path):
        expect_labels(path, key, member, shape)
        return np.frombuffer(member.stream.read(), member.dtype).reshape(shape)


@contextmanager
def h5_dataset(path: Path, key: str) -> Iterator[h5py.Dataset]:
    """Open one array of an hdf5 file."""
    with report_damage(path):
        file = h5py.File(path, "r")
    with file:
        with report_damage(path):
            array, keys = file.get(key), ", ".join(file) or "none"
        if not isinstance(array, h5py.Dataset):
            raise DataDamaged(f"{path} has no array {key!r}; it has {keys}")
        yield array


def h5_blocks(
    path: Path, key: str, shape: tuple[int, ...]
) -> Iterator[UInt8[np.ndarray, "rows ..."]]:
    """Blocks of rows of a uint8 array in an hdf5 file, in multiples of its chunks.

    Every read that touches a compressed chunk decompresses all of it. A chunk of dSprites covers
    23040 images, eight pixels of each.
    """
    with h5_dataset(path, key) as array:
        expect_bytes(path, key, array, shape)
        chunk = array.chunks[0] if array.chunks else 1
        rows = chunk * math.ceil(ROWS / chunk)
        for start in range(0, shape[0], rows):
            with report_damage(path):
                block = array[start : start + rows]
            yield block


def h5_labels(path: Path, key: str, shape: tuple[int, ...]) -> Num[np.ndarray, "..."]:
    """A small array of numbers in an hdf5 file."""
    with h5_dataset(path, key) as array, report_damage(path):
        expect_labels(path, key, array, shape)
        return array[()]


def expect_labels(
    path: Path, key: str, array: Member | h5py.Dataset, shape: tuple[int, ...]
) -> None:
    """Raise unless the array holds numbers and has this shape, before it is read."""
    if array.dtype.kind not in "iuf":
        raise DataDamaged(f"{path}: the type of {key!r} is {array.dtype}, not a number's")
    if isinstance(array, Member):
        expect(path, f"the element order of {key!r}", "F" if array.fortran else "C", "C")
    expect(path, f"the shape of its labels {key!r}", array.shape, shape)
