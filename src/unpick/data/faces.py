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
from unpick.data.dataset import DataDamaged, Dataset, Dense, Factor
from unpick.data.files import DataFile, expect, find, indexed, reading, sizes_of

HOW = (
    "the renders of the Basel face model may not be distributed: render them yourself, "
    "or use the data set heads"
)


@dataclass(frozen=True)
class Faces:
    """Renders of the Basel face model (Paysan et al. 2009): 127050 grey images, 64x64 pixels.

    One array of bytes, the images in the order of the factors, as used by Chen et al. 2018: in an
    npy file, alone in an npz file, or as a tensor in a pth file, which is read without running
    any code it may hold.
    """

    name: ClassVar[str] = "faces"
    factors: ClassVar[tuple[Factor, ...]] = (
        indexed("identity", 50, categorical=True),
        indexed("azimuth", 21),
        indexed("elevation", 11),
        indexed("lighting", 11),
    )
    path: str = ""  # the file or its folder; '' is the folder faces in the data folder

    def files(self) -> tuple[DataFile, ...]:
        """The array file, which has no published checksum."""
        choices = ("basel_face_renders.pth", "faces.npz", "faces.npy")
        return (DataFile(find(self.name, self.path, choices, HOW)),)

    def load(self) -> Dataset:
        """Map or read the array."""
        (file,) = self.files()
        images = self._array(file.path)
        count = math.prod(sizes_of(self.factors))
        expect(file.path, "the type of its array", str(images.dtype), "uint8")
        if images.shape not in ((count, 64, 64), (count, 1, 64, 64)):
            expect(file.path, "the shape of its array", images.shape, (count, 64, 64))
        return Dataset(self.name, Dense(images.reshape(count, 1, 64, 64)), self.factors)

    def _array(self, path: Path) -> np.ndarray:
        if path.suffix == ".npz":
            expect(path, "the number of its arrays", len(keys := npz_keys(path)), 1)
            with npz_member(path, keys[0]) as member:
                shape = member.shape
            return npz_array(self.name, path, keys[0], shape)
        if path.suffix == ".npy":
            with reading(path):
                return np.load(path, mmap_mode="r", allow_pickle=False)
        if path.suffix == ".pth":
            return tensor(path).numpy()
        raise DataDamaged(f"{path}: the suffix must be .npz, .npy or .pth, got {path.suffix!r}")


def tensor(path: Path) -> UInt8[Tensor, "..."]:
    """The one tensor in a file of torch.save; anything else in it is refused, not unpickled."""
    with reading(path):
        try:
            found = torch.load(path, map_location="cpu", weights_only=True)
        except pickle.UnpicklingError as error:  # its text advises to unpickle all the same
            raise DataDamaged(f"{path} is truncated or holds more than a tensor") from error
    if not isinstance(found, Tensor) or found.dtype != torch.uint8:
        what = f"{found.dtype} tensor" if isinstance(found, Tensor) else type(found).__name__
        raise DataDamaged(f"{path} holds a {what}, not a uint8 tensor")
    return found
