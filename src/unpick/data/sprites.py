"""White sprites on black: a look-alike of dSprites, drawn here."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8
from numpy.lib.stride_tricks import sliding_window_view

from unpick.data.cache import cached_array
from unpick.data.dataset import Dataset, Factor, Packed
from unpick.names import check_choices

Size = Literal[64, 32]

# dSprites without its one colour: the same order, the same values. The first and the last
# orientation are the same angle, there as here.
FACTORS = (
    Factor("shape", (1.0, 2.0, 3.0), categorical=True),  # square, ellipse, heart
    Factor("scale", tuple(np.linspace(0.5, 1, 6).tolist())),
    Factor("orientation", tuple(np.linspace(0, 2 * math.pi, 40).tolist())),
    Factor("x", tuple(np.linspace(0, 1, 32).tolist())),
    Factor("y", tuple(np.linspace(0, 1, 32).tolist())),
)

# Lengths are in pixels of the 64 pixel canvas. A step of position is exactly one of them, so that
# a sprite moves without being drawn anew, as in the original. Sizes are such that the mean pixel
# is that of dSprites, 0.0425.
CANVAS = 64
FIRST = 16.5  # centre of the sprite at position 0; the last is as far from the other border
STEPS = 32
SQUARE = 9.2  # half a side, at scale 1
ELLIPSE = (12.4, 6.2)  # half axes
HEART = 9.1  # the unit of the sextic below
HEART_CENTRE = 0.12  # the middle of the heart's height in that unit


@dataclass(frozen=True)
class Sprites:
    """Squares, ellipses and hearts on the grid of dSprites (Matthey et al. 2017).

    All 737280 images lie bit-packed on disk (377 MB at 64 pixels, 94 MB at 32), drawn once. At 32
    pixels a step of position is half a pixel and the sprites are drawn at that size, not thinned
    out from the larger ones; their area then wavers by a few pixels with the position.

    On the whole grid x and y vary alike, so that nothing but its square outline tells a VAE which
    two directions they are (the degenerate case of Zietlow 2022, section 3.3.4). With fewer `rows`
    x varies more than y.
    """

    name: ClassVar[str] = "sprites"
    size: Size = 64  # height and width
    rows: int = STEPS  # values of y: the middle ones

    def __post_init__(self) -> None:
        check_choices(self)
        if not 1 <= self.rows <= STEPS:
            raise ValueError(f"rows must lie in 1..{STEPS}, got {self.rows}")

    def load(self) -> Dataset:
        """Draw the images, or find them drawn."""
        *others, y = FACTORS
        factors = (*others, Factor("y", y.values[self._middle]))
        shape = (math.prod(factor.size for factor in factors), self.size**2 // 8)
        fewer = "" if self.rows == STEPS else f"-{self.rows}rows"
        bits = cached_array(f"sprites-{self.size}{fewer}-v1", shape, self._blocks())
        return Dataset(self.name, Packed(bits, (1, self.size, self.size)), factors)

    @property
    def _middle(self) -> slice:
        first = (STEPS - self.rows) // 2
        return slice(first, first + self.rows)

    def _blocks(self) -> Iterator[UInt8[np.ndarray, "rows bytes"]]:
        for look in np.ndindex(*(factor.size for factor in FACTORS[:3])):
            images = everywhere(look, self.size)[:, self._middle]
            yield np.packbits(images.reshape(STEPS * self.rows, -1), axis=1)


def render(
    positions: Int[np.ndarray, "n 5"], size: Size = 64
) -> Bool[np.ndarray, "n {size} {size}"]:
    """The images at these places of the factor grid, drawn one by one."""
    pixel = CANVAS / size
    centres = FIRST + positions[:, 3:, None]
    across, down = np.moveaxis((np.arange(size) + 0.5) * pixel - centres, 1, 0)
    return inside(positions[:, :3], across[:, None, :], down[:, :, None])


def everywhere(look: tuple[int, ...], size: Size) -> Bool[np.ndarray, "32 32 {size} {size}"]:
    """One shape, scale and orientation at all positions: windows of a single large drawing."""
    pixel = CANVAS // size
    span = CANVAS - pixel + 1
    offsets = np.arange(span + STEPS - 1) - (STEPS - 1) + pixel / 2 - FIRST
    drawing = inside(np.array([look]), offsets[None, None, :], offsets[None, :, None])[0]
    windows = sliding_window_view(drawing, (span, span))[::-1, ::-1, ::pixel, ::pixel]
    return windows.swapaxes(0, 1)  # x before y


def inside(
    looks: Int[np.ndarray, "n 3"],
    across: Float[np.ndarray, "n 1 w"],
    down: Float[np.ndarray, "n h 1"],
) -> Bool[np.ndarray, "n h w"]:
    """Whether points lie in a sprite, given as offsets from its centre.

    Args:
        looks: Grid positions of shape, scale and orientation.
        across: Offsets to the right.
        down: Offsets downwards.
    """
    shape, scale, angle = (
        np.array(factor.values)[looks[:, k], None, None] for k, factor in enumerate(FACTORS[:3])
    )
    # The angle modulo 2 pi, as rounding must not tell the last orientation from the first.
    turn = np.where(looks[:, 2, None, None] == FACTORS[2].size - 1, 0, angle)
    u = (np.cos(turn) * across + np.sin(turn) * down) / scale
    v = (np.cos(turn) * down - np.sin(turn) * across) / scale
    square = np.maximum(abs(u), abs(v)) <= SQUARE
    ellipse = (u / ELLIPSE[0]) ** 2 + (v / ELLIPSE[1]) ** 2 <= 1
    p, q = u / HEART, HEART_CENTRE - v / HEART
    heart = (p**2 + q**2 - 1) ** 3 <= p**2 * q**3
    return np.select([shape == 1, shape == 2], [square, ellipse], heart)
