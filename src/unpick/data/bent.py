"""A bent sheet in space: two directions of different variance on a curved surface."""

from dataclasses import dataclass
from math import inf, radians, sin
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.data.dataset import ArrayStore, Dataset, Factor
from unpick.data.synthetic import check_noise, check_points, rotation, unit_square

FACTORS = (Factor("along the bend"), Factor("across"))


@dataclass(frozen=True)
class Bent:
    """A strip laid on a cylinder of radius 1, with noise (after Zietlow 2022, figures 2.1 to 2.3).

    The thesis does not say which point cloud its figures show. This one has the properties that
    they need. A plane fits it badly and a curved surface fits it well. Its length and width
    differ, so variance identifies the two directions. It is centred, and rotated so that no
    principal direction is a coordinate axis.
    """

    name: ClassVar[str] = "bent"
    degrees: float = 160.0  # arc that the strip covers
    width: float = 1.2  # width of the strip
    noise: float = 0.04  # standard deviation, in each of the three coordinates
    points: int = 20_000
    data_seed: int = 0

    def __post_init__(self) -> None:
        check_points(self.points)
        if not 0 < self.degrees < 360:
            raise ValueError(f"degrees must lie between 0 and 360, got {self.degrees}")
        if not 0 < self.width < inf:
            raise ValueError(f"width must be positive and finite, got {self.width}")
        check_noise(self.noise)

    def sheet(self, square: Float[Tensor, "n 2"]) -> Float[Tensor, "n 3"]:
        """Map points of the unit square onto the sheet, without noise."""
        half = radians(self.degrees) / 2
        angle = half * (2 * square[:, 0] - 1)
        height = angle.cos() - sin(half) / half  # has mean zero
        strip = torch.stack([angle.sin(), self.width * (square[:, 1] - 0.5), height], dim=1)
        return strip @ rotation((1.0, -1.0, 1.0), torch.pi / 4).T

    def load(self) -> Dataset:
        """Draw the points."""
        square, generator = unit_square(self.points, self.data_seed)
        noise = self.noise * torch.randn(self.points, 3, generator=generator)
        return Dataset(self.name, ArrayStore(self.sheet(square) + noise), FACTORS, square)
