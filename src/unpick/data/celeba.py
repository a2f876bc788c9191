"""CelebA, from the folder of its aligned images."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from unpick.data.cache import data_folder
from unpick.data.dataset import ArrayStore, DataDamaged, DataMissing, Dataset
from unpick.data.files import DataFile, convert_once, expect, report_damage, resize

BLOCK = 256  # images resized per step of the progress bar
FOLDER = "img_align_celeba"


@dataclass(frozen=True)
class CelebA:
    """Faces of celebrities (Liu et al. 2015): 202599 colour images, resized to 64x64 pixels.

    The images have 178x218 pixels. Without a crop, resizing changes their aspect ratio; a crop
    cuts a square out of the middle first. There are no generative factors. The first load resizes
    all images. This takes some minutes and 2.5 GB on disk.
    """

    name: ClassVar[str] = "celeba"
    images: ClassVar[int] = 202_599
    crop: int = 0  # side of the square in the middle; 0 takes the whole image
    path: str = ""  # the folder of the jpg files; '' is celeba/img_align_celeba in the data folder

    def __post_init__(self) -> None:
        if not 0 <= self.crop <= 178:
            raise ValueError(f"crop must lie in 0..178 pixels, got {self.crop}")

    def folder(self) -> Path:
        """The folder of the jpg files."""
        place = Path(self.path).expanduser() if self.path else data_folder() / self.name
        for folder in (place / FOLDER, place):
            if (folder / "000001.jpg").is_file():
                return folder
        raise DataMissing(
            f"celeba: no 000001.jpg found at {place} or in its folder {FOLDER}; get {FOLDER}.zip "
            "from mmlab.ie.cuhk.edu.hk/projects/CelebA.html and unpack it there"
        )

    def files(self) -> tuple[DataFile, ...]:
        """The jpg files, which have no published checksums."""
        folder = self.folder()
        entries = (entry for entry in os.scandir(folder) if entry.is_file())
        there = sorted(entry.name for entry in entries if entry.name.endswith(".jpg"))
        expect(folder, "the number of its jpg files", len(there), self.images)
        names = [f"{number:06d}.jpg" for number in range(1, self.images + 1)]
        if there != names:
            odd = min(set(there) - set(names))
            raise DataDamaged(f"{folder}: {odd} is not among 000001.jpg to {names[-1]}")
        return tuple(DataFile(folder / name) for name in names)

    def load(self) -> Dataset:
        """Resize the images, or map them if they were resized before."""
        files = self.files()
        shape = (len(files), 3, 64, 64)
        images = convert_once(self.name, files, shape, self._resized(files), options=self.crop)
        return Dataset(self.name, ArrayStore(images))

    def _resized(self, files: tuple[DataFile, ...]) -> Iterator[UInt8[np.ndarray, "rows 3 64 64"]]:
        for start in range(0, len(files), BLOCK):
            yield np.stack([self._read_image(file.path) for file in files[start : start + BLOCK]])

    def _read_image(self, path: Path) -> UInt8[np.ndarray, "3 64 64"]:
        with report_damage(path), Image.open(path, formats=("JPEG",)) as opened:
            expect(path, "its size", opened.size, (178, 218))
            image = opened.convert("RGB")
        if self.crop:
            left, top = (178 - self.crop) // 2, (218 - self.crop) // 2
            image = image.crop((left, top, left + self.crop, top + self.crop))
        return resize(image)
