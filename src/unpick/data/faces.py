"""Rendered 3D faces, from an array file."""

import math
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from unpick.data.containers import npz_array, npz_keys, npz_member
from unpick.data.dataset import ArrayStore, DataDamaged, Dataset, Factor
from unpick.data.files import (
    DataFile,
    expect,
    find_file,
    grid_sizes,
    numbered_factor,
    report_damage,
    same_as_before,
)

HOW = (
    "the renders of the Basel face model may not be distributed: render them yourself, "
    "or use the data set heads"
)


@dataclass(frozen=True)
class Faces:
    """Renders of the Basel face model (Paysan et al. 2009): 127050 grey images, 64x64 pixels.

    The file holds one uint8 array with the images in the order of the factors, as used by Chen et
    al. 2018. It may be an npy file, an npz file with one array, or a pth file with one tensor,
    which is read without executing pickled code.
    """

    name: ClassVar[str] = "faces"
    factors: ClassVar[tuple[Factor, ...]] = (
        numbered_factor("identity", 50, categorical=True),
        numbered_factor("azimuth", 21),
        numbered_factor("elevation", 11),
        numbered_factor("lighting", 11),
    )
    path: str = ""  # the file or its folder; '' is the folder faces in the data folder

    def files(self) -> tuple[DataFile, ...]:
        """The array file, which has no published checksum."""
        choices = ("basel_face_renders.pth", "faces.npz", "faces.npy")
        return (DataFile(find_file(self.name, self.path, choices, HOW)),)

    def load(self) -> Dataset:
        """Memory-map or read the array."""
        (file,) = self.files()
        if file.path.suffix == ".npz":
            images = self._read_npz(file)
        else:
            with same_as_before((file,)):
                images = self._read_array(file.path)
                self._check(file.path, images.dtype, images.shape)
        return Dataset(self.name, ArrayStore(images.reshape(-1, 1, 64, 64)), self.factors)

    def _check(self, path: Path, dtype: np.dtype, shape: tuple[int, ...]) -> None:
        count = math.prod(grid_sizes(self.factors))
        expect(path, "the type of its array", str(dtype), "uint8")
        if shape not in ((count, 64, 64), (count, 1, 64, 64)):
            expect(path, "the shape of its array", shape, (count, 64, 64))

    def _read_npz(self, file: DataFile) -> np.ndarray:
        keys = npz_keys(file.path)
        expect(file.path, "the number of its arrays", len(keys), 1)
        with npz_member(file.path, keys[0]) as member:
            self._check(file.path, member.dtype, member.shape)
            shape = member.shape
        return npz_array(self.name, file, keys[0], shape)

    def _read_array(self, path: Path) -> np.ndarray:
        if path.suffix == ".npy":
            with report_damage(path):
                return np.load(path, mmap_mode="r", allow_pickle=False)
        if path.suffix == ".pth":
            return load_tensor(path).numpy()
        raise DataDamaged(f"{path}: the suffix must be .npz, .npy or .pth, got {path.suffix!r}")


def load_tensor(path: Path) -> UInt8[Tensor, "..."]:
    """Load one uint8 tensor written by `torch.save`; anything else is refused, not unpickled."""
    with report_damage(path):
        try:
            found = torch.load(path, map_location="cpu", weights_only=True)
        except pickle.UnpicklingError as error:  # its text advises to unpickle anyway
            raise DataDamaged(f"{path} is truncated or holds more than a tensor") from error
    if not isinstance(found, Tensor) or found.dtype != torch.uint8:
        what = f"{found.dtype} tensor" if isinstance(found, Tensor) else type(found).__name__
        raise DataDamaged(f"{path} holds a {what}, not a uint8 tensor")
    return found
