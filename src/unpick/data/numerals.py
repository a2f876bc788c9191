"""Drawn digits with known factors, which handwritten ones lack."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal, TypeAlias

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from unpick.data.dataset import ArrayStore, Dataset, Factor
from unpick.names import check_choices

Size = Literal[16, 32]
Line: TypeAlias = list[tuple[float, float]]

FACTORS = (
    Factor("digit", tuple(map(float, range(10))), categorical=True),
    Factor("slant", tuple(np.linspace(-12, 24, 13).tolist())),  # degrees; + leans to the right
    Factor("thickness", tuple(np.linspace(0.08, 0.24, 9).tolist())),  # of the pen
    Factor("width", tuple(np.linspace(0.6, 1.1, 9).tolist())),  # times that of `STROKES`
)
FRAME = 1.5  # side of the picture


def arc(x: float, y: float, across: float, up: float, start: int, end: int) -> Line:
    """Part of an ellipse about (x, y) with these half axes; degrees, anticlockwise from the right.

    A chord spans 20 degrees at most, so it is off by less than a tenth of a pixel.
    """
    chords = math.ceil(abs(end - start) / 20)
    angles = np.radians(np.linspace(start, end, chords + 1))
    return [(x + across * math.cos(a), y + up * math.sin(a)) for a in angles]


# The lines of each digit. Lengths are in heights of a digit, y points up, the middle is (0, 0).
STROKES: tuple[tuple[Line, ...], ...] = (
    (arc(0.0, 0.0, 0.32, 0.5, 0, 360),),
    ([(-0.16, 0.26), (0.07, 0.5), (0.07, -0.5)],),
    ([*arc(0.0, 0.21, 0.3, 0.29, 165, -35), (-0.32, -0.5), (0.33, -0.5)],),
    (arc(-0.02, 0.26, 0.28, 0.24, 150, -90), arc(-0.02, -0.24, 0.33, 0.26, 90, -150)),
    ([(0.13, -0.5), (0.13, 0.5), (-0.34, -0.2), (0.34, -0.2)],),
    ([(0.29, 0.5), (-0.23, 0.5), *arc(-0.02, -0.18, 0.33, 0.32, 135, -145)],),
    (arc(0.0, -0.2, 0.31, 0.3, 0, 360), arc(0.31, -0.2, 0.62, 0.7, 180, 100)),
    ([(-0.33, 0.5), (0.33, 0.5), (-0.08, -0.5)],),
    (arc(0.0, 0.26, 0.27, 0.24, 0, 360), arc(0.0, -0.24, 0.33, 0.26, 0, 360)),
    (arc(0.0, 0.2, 0.31, 0.3, 0, 360), arc(-0.31, 0.2, 0.62, 0.7, 0, -80)),  # a turned 6
)


@dataclass(frozen=True)
class Numerals:
    """The digits 0 to 9, drawn by a round pen: 10530 grey images.

    As in MNIST, all have the same height and stand in the middle. Handwriting differs in more than
    these three ordered factors. The pen is as thick on a slanted or narrow digit, so thickness
    is a factor of its own.
    """

    name: ClassVar[str] = "numerals"
    size: Size = 16  # height and width

    def __post_init__(self) -> None:
        check_choices(self)

    def load(self) -> Dataset:
        """Draw the images, in less than a second."""
        images = torch.cat([draw(lines, self.size) for lines in STROKES])
        return Dataset(self.name, ArrayStore(images), FACTORS)


def draw(lines: tuple[Line, ...], size: Size) -> UInt8[Tensor, "n 1 {size} {size}"]:
    """A digit with every slant, thickness and width, in the order of the grid.

    A pixel is as bright as the share of its side that the pen covers, if it moves along the other.
    """
    slant, thickness, width = (torch.tensor(factor.values) for factor in FACTORS[1:])
    x, y = torch.tensor([each for line in lines for each in pairwise(line)]).unbind(2)
    shear = torch.deg2rad(slant).tan()[:, None, None, None]
    leaning = width[:, None, None] * x + shear * y
    far = distances(torch.stack([leaning, y.expand_as(leaning)], dim=4), size)
    pixel = FRAME / size
    ink = 0.5 + (thickness[:, None, None, None] / 2 - far[:, None]) / pixel
    return ink.clamp(0, 1).mul(255).round().byte().reshape(-1, 1, size, size)


def distances(
    segments: Float[Tensor, "slants widths s 2 2"], size: Size
) -> Float[Tensor, "slants widths {size} {size}"]:
    """From the middle of each pixel to the nearest of the segments, which go from end to end."""
    ticks = ((torch.arange(size) + 0.5) / size - 0.5) * FRAME
    up, across = torch.meshgrid(-ticks, ticks, indexing="ij")
    start, end = segments[:, :, None, None].unbind(5)
    along = end - start
    offset = torch.stack([across, up], dim=2)[:, :, None] - start
    share = ((offset * along).sum(5) / along.square().sum(5)).clamp(0, 1)
    return (offset - share[..., None] * along).norm(dim=5).amin(4)
