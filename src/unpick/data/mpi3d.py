"""MPI3D, from its npz files."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from unpick.data.containers import npz_array
from unpick.data.dataset import ArrayStore, Dataset, Factor
from unpick.data.files import DataFile, find_file, grid_sizes, numbered_factor
from unpick.names import check_choices

Variant = Literal["toy", "realistic", "real", "complex"]

SOURCE = "get it from github.com/rr-learning/disentanglement_dataset"


def arm_factors(colours: int, shapes: int) -> tuple[Factor, ...]:
    """Factors of MPI3D in the order of the file, for so many colours and shapes of the object."""
    return (
        numbered_factor("object colour", colours, categorical=True),
        numbered_factor("object shape", shapes, categorical=True),
        numbered_factor("object size", 2),
        numbered_factor("camera height", 3),
        numbered_factor("background colour", 3, categorical=True),
        numbered_factor("horizontal axis", 40),
        numbered_factor("vertical axis", 40),
    )


@dataclass(frozen=True)
class MPI3D:
    """A robot arm that holds an object (Gondal et al. 2019), 64x64 colour images.

    The first three variants have 1036800 images of the same scene: rendered simply, rendered
    realistically, photographed. `complex` has 460800 photographs of four everyday objects in
    four colours. The files have no labels; their authors document the order.

    The images of an uncompressed npz file (12.7 GB) are memory-mapped in place; those of a
    compressed one are unpacked once. `load` hashes the file when it is first read and when it has
    changed; only `unpick data check` compares the published checksum.
    """

    name: ClassVar[str] = "mpi3d"
    factors: ClassVar[dict[Variant, tuple[Factor, ...]]] = {
        "toy": arm_factors(6, 6),
        "realistic": arm_factors(6, 6),
        "real": arm_factors(6, 6),
        "complex": arm_factors(4, 4),
    }
    checksums: ClassVar[dict[Variant, str]] = {
        "toy": "md5:55889cb7c7dfc655d6e0277beee88868",
        "realistic": "md5:59a6225b88b635365f70c91b3e52f70f",
        "real": "md5:0f33f609918fb5c97996692f91129802",
    }
    variant: Variant = "toy"
    path: str = ""  # the file or its folder; '' is the folder `unpick data get` fills

    def __post_init__(self) -> None:
        check_choices(self)

    def files(self) -> tuple[DataFile, ...]:
        """The npz file of the variant."""
        choices: tuple[str, ...] = (f"mpi3d_{self.variant}.npz",)
        how = SOURCE
        if self.variant == "real":
            choices += ("real.npz",)
        elif self.variant == "complex":
            choices = ("real3d_complicated_shapes_ordered.npz",)
        else:
            how = f"run `unpick data get mpi3d-{self.variant}`, or {SOURCE}"
        path = find_file(self.name, self.path, choices, how)
        return (DataFile(path, self.checksums.get(self.variant, "")),)

    def load(self) -> Dataset:
        """Memory-map the images, or unpack them."""
        (file,) = self.files()
        factors = self.factors[self.variant]
        shape = (math.prod(grid_sizes(factors)), 64, 64, 3)
        images = npz_array(self.name, file, "images", shape)
        return Dataset(self.name, ArrayStore(images.transpose(0, 3, 1, 2)), factors)
