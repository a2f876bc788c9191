"""Cars3D, from its MATLAB files or from the archive that holds them."""

import io
import math
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import scipy.io
from jaxtyping import UInt8
from PIL import Image

from unpick.data.dataset import DataDamaged, DataMissing, Dataset, Dense, Factor
from unpick.data.files import DataFile, converted, expect, find, indexed, reading, shrunk, sizes_of

ARCHIVE = "nips2015-analogy-data.tar.gz"
LIST = "list.txt"
HOW = f"run `unpick data get cars3d`, or get {ARCHIVE} from www.scottreed.info"


@dataclass(frozen=True)
class Cars3D:
    """Rendered cars (Reed et al. 2015): 17568 colour images, resized to 64x64 pixels.

    Cars are numbered in the order of the file list.txt; results that number them in the order of
    a folder's listing have another third factor.
    """

    name: ClassVar[str] = "cars3d"
    factors: ClassVar[tuple[Factor, ...]] = (
        indexed("elevation", 4),
        indexed("azimuth", 24),
        indexed("car", 183, categorical=True),
    )
    checksum: ClassVar[str] = "md5:4e866a7919c1beedf53964e6f7a23686"  # of the archive
    path: str = ""  # the archive, or the extracted folder data/cars, or a folder with either

    def files(self) -> tuple[DataFile, ...]:
        """The archive, or else list.txt and the files it names, which have no checksums."""
        choices = (LIST, f"cars/{LIST}", f"data/cars/{LIST}", ARCHIVE)
        path = find(self.name, self.path, choices, HOW)
        if path.name != LIST:
            return (DataFile(path, self.checksum),)
        with reading(path):
            listed = path.read_text().split()
        files = tuple(path.parent / f"{name.removesuffix('.mat')}.mat" for name in listed)
        for file in files:
            if not file.is_file():
                raise DataMissing(f"cars3d: {path} names {file.name}, which is not beside it")
        return tuple(DataFile(file) for file in (path, *files))

    def load(self) -> Dataset:
        """Resize the images, or find them resized."""
        files = self.files()
        shape = (math.prod(sizes_of(self.factors)), 3, 64, 64)
        paths = tuple(file.path for file in files)
        images = converted(self.name, paths, shape, self._sorted(files))
        return Dataset(self.name, Dense(images), self.factors)

    def _sorted(self, files: tuple[DataFile, ...]) -> Iterator[UInt8[np.ndarray, "rows 3 64 64"]]:
        files[0].verify()
        elevations, azimuths, number = sizes_of(self.factors)
        order: list[str] = []
        cars = {}
        for path, content in members(files):
            if path.name == LIST:
                with reading(path):
                    order = [name.removesuffix(".mat") for name in content.decode().split()]
            else:
                cars[path.stem] = views(path, content, azimuths, elevations)
        if len(order) != number or set(order) - set(cars):
            raise DataDamaged(
                f"{files[0].path}: {LIST} names {len(order)} cars, of which "
                f"{len(set(order) & set(cars))} are there, not {number}"
            )
        for elevation in range(elevations):
            for azimuth in range(azimuths):
                yield np.stack([cars[name][elevation, azimuth] for name in order])


def members(files: tuple[DataFile, ...]) -> Iterator[tuple[Path, bytes]]:
    """Name and content of list.txt and of each car, from the archive or the folder."""
    if files[0].path.name == LIST:
        for file in files:
            with reading(file.path):
                content = file.path.read_bytes()
            yield file.path, content
        return
    path = files[0].path
    with reading(path), tarfile.open(path, "r:gz") as archive:
        for member in archive:
            name = Path(member.name)
            if name.parent.name == "cars" and (name.name == LIST or name.suffix == ".mat"):
                stream = archive.extractfile(member)
                if stream is not None:  # a folder or a link
                    yield path / name, stream.read()


def views(
    path: Path, content: bytes, azimuths: int, elevations: int
) -> UInt8[np.ndarray, "elevations azimuths 3 64 64"]:
    """All images of one car, resized."""
    with reading(path):
        found = scipy.io.loadmat(io.BytesIO(content))
    if "im" not in found:
        keys = ", ".join(key for key in found if not key.startswith("__"))
        raise DataDamaged(f"{path} has no array 'im'; it has {keys or 'none'}")
    images = found["im"]
    expect(path, "the type of 'im'", str(images.dtype), "uint8")
    expect(path, "the shape of 'im'", images.shape, (128, 128, 3, azimuths, elevations))
    flat = images.transpose(4, 3, 0, 1, 2).reshape(-1, 128, 128, 3)
    small = np.stack([shrunk(Image.fromarray(image)) for image in flat])
    return small.reshape(elevations, azimuths, 3, 64, 64)
