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

from unpick.data.dataset import ArrayStore, DataDamaged, DataMissing, Dataset, Factor
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

ARCHIVE = "nips2015-analogy-data.tar.gz"
LIST = "list.txt"
LARGEST = 2**26  # bytes of a file; the images of a car take 4.7 million
HOW = f"run `unpick data get cars3d`, or get {ARCHIVE} from www.scottreed.info"


@dataclass(frozen=True)
class Cars3D:
    """Rendered cars (Reed et al. 2015): 17568 colour images, resized to 64x64 pixels.

    Cars are numbered in the order of the file list.txt. Code that numbers them in the order of a
    folder listing gets a different third factor.
    """

    name: ClassVar[str] = "cars3d"
    factors: ClassVar[tuple[Factor, ...]] = (
        numbered_factor("elevation", 4),
        numbered_factor("azimuth", 24),
        numbered_factor("car", 183, categorical=True),
    )
    checksum: ClassVar[str] = "md5:4e866a7919c1beedf53964e6f7a23686"  # of the archive
    path: str = ""  # the archive, or the extracted folder data/cars, or a folder with either

    def files(self) -> tuple[DataFile, ...]:
        """The archive, or else list.txt and the files that it names; these have no checksums."""
        choices = (LIST, f"cars/{LIST}", f"data/cars/{LIST}", ARCHIVE)
        path = find_file(self.name, self.path, choices, HOW)
        if path.name != LIST:
            return (DataFile(path, self.checksum),)
        with report_damage(path):
            listed = path.read_text().split()
        files = tuple(path.parent / f"{name.removesuffix('.mat')}.mat" for name in listed)
        for file in files:
            if not file.is_file():
                raise DataMissing(f"cars3d: {path} names {file.name}, which is not beside it")
        return tuple(DataFile(file) for file in (path, *files))

    def load(self) -> Dataset:
        """Resize the images, or map them if they were resized before."""
        files = self.files()
        shape = (math.prod(grid_sizes(self.factors)), 3, 64, 64)
        images = convert_once(self.name, files, shape, self._in_grid_order(files))
        return Dataset(self.name, ArrayStore(images), self.factors)

    def _in_grid_order(
        self, files: tuple[DataFile, ...]
    ) -> Iterator[UInt8[np.ndarray, "rows 3 64 64"]]:
        files[0].verify()
        elevations, azimuths, number = grid_sizes(self.factors)
        order: list[str] = []
        cars = {}
        for path, content in read_members(files):
            if path.name == LIST:
                with report_damage(path):
                    order = [name.removesuffix(".mat") for name in content.decode().split()]
            else:
                cars[path.stem] = resized_views(path, content, azimuths, elevations)
        if len(order) != number or set(order) - set(cars):
            raise DataDamaged(
                f"{files[0].path}: {LIST} names {len(order)} cars, of which "
                f"{len(set(order) & set(cars))} are there, not {number}"
            )
        for elevation in range(elevations):
            for azimuth in range(azimuths):
                yield np.stack([cars[name][elevation, azimuth] for name in order])


def read_members(files: tuple[DataFile, ...]) -> Iterator[tuple[Path, bytes]]:
    """Path and content of list.txt and of each car, from the archive or the folder."""
    if files[0].path.name == LIST:
        for file in files:
            with report_damage(file.path), file.path.open("rb") as opened:
                content = opened.read(LARGEST)
            yield file.path, content
        return
    path = files[0].path
    with report_damage(path), tarfile.open(path, "r:gz") as archive:
        for member in archive:
            name = Path(member.name)
            if name.parent.name == "cars" and (name.name == LIST or name.suffix == ".mat"):
                stream = archive.extractfile(member)
                if member.size > LARGEST:
                    raise DataDamaged(f"{path}: {name} must have at most {LARGEST} bytes")
                if stream is not None:  # a folder or a link
                    yield path / name, stream.read()


def resized_views(
    path: Path, content: bytes, azimuths: int, elevations: int
) -> UInt8[np.ndarray, "elevations azimuths 3 64 64"]:
    """All images of one car, resized."""
    with report_damage(path):  # shape and type before anything is unpacked
        found = {key: (shape, kind) for key, shape, kind in scipy.io.whosmat(io.BytesIO(content))}
    if "im" not in found:
        raise DataDamaged(f"{path} has no array 'im'; it has {', '.join(found) or 'none'}")
    shape, kind = found["im"]
    expect(path, "the type of 'im'", kind, "uint8")
    expect(path, "the shape of 'im'", shape, (128, 128, 3, azimuths, elevations))
    with report_damage(path):
        images = scipy.io.loadmat(io.BytesIO(content), variable_names=["im"])["im"]
    expect(path, "the type of 'im'", str(images.dtype), "uint8")
    flat = images.transpose(4, 3, 0, 1, 2).reshape(-1, 128, 128, 3)
    small = np.stack([resize(Image.fromarray(image)) for image in flat])
    return small.reshape(elevations, azimuths, 3, 64, 64)
