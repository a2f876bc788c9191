"""White sprites on black: a rendered look-alike of dSprites."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8
from numpy.lib.stride_tricks import sliding_window_view

from unpick.data.cache import cached_array
from unpick.data.dataset import Dataset, Factor, PackedStore
from unpick.names import check_choices

Size = Literal[64, 32]

# The factors of dSprites, in its order and with its values, without the constant colour. As in
# dSprites, the first and the last orientation are the same angle.
FACTORS = (
    Factor("shape", (1.0, 2.0, 3.0), categorical=True),  # square, ellipse, heart
    Factor("scale", tuple(np.linspace(0.5, 1, 6).tolist())),
    Factor("orientation", tuple(np.linspace(0, 2 * math.pi, 40).tolist())),
    Factor("x", tuple(np.linspace(0, 1, 32).tolist())),
    Factor("y", tuple(np.linspace(0, 1, 32).tolist())),
)

# Lengths are in pixels of the 64-pixel canvas. A position step is exactly one pixel, as in
# dSprites, so a moved sprite is a shifted image. The sizes are such that the mean pixel is that of
# dSprites, 0.0425.
CANVAS = 64
FIRST = 16.5  # centre of the sprite at position 0; the last position mirrors it
STEPS = 32
SQUARE = 9.2  # half a side, at scale 1
ELLIPSE = (12.4, 6.2)  # half axes
HEART = 9.1  # unit of length of the sextic curve in `is_inside`
HEART_CENTRE = 0.12  # vertical centre of the heart, in that unit


@dataclass(frozen=True)
class Sprites:
    """Squares, ellipses and hearts on the grid of dSprites (Matthey et al. 2017).

    The first load renders all 737280 images and stores them bit-packed on disk (377 MB at 64
    pixels, 94 MB at 32). At 32 pixels a position step is half a pixel. The sprites are rendered at
    that size, not subsampled, so their area varies by a few pixels with the position.

    On the whole grid x and y have the same variance, so variance does not identify these two
    directions (the degenerate case of Zietlow 2022, section 3.3.4). With fewer `rows` x varies
    more than y.
    """

    name: ClassVar[str] = "sprites"
    size: Size = 64  # height and width
    rows: int = STEPS  # number of y values, taken from the middle

    def __post_init__(self) -> None:
        check_choices(self)
        if not 1 <= self.rows <= STEPS:
            raise ValueError(f"rows must lie in 1..{STEPS}, got {self.rows}")

    def load(self) -> Dataset:
        """Render the images, or map them if they were rendered before."""
        *others, y = FACTORS
        factors = (*others, Factor("y", y.values[self._middle]))
        shape = (math.prod(factor.size for factor in factors), self.size**2 // 8)
        fewer = "" if self.rows == STEPS else f"-{self.rows}rows"
        bits = cached_array(f"sprites-{self.size}{fewer}-v1", shape, self._blocks())
        return Dataset(self.name, PackedStore(bits, (1, self.size, self.size)), factors)

    @property
    def _middle(self) -> slice:
        first = (STEPS - self.rows) // 2
        return slice(first, first + self.rows)

    def _blocks(self) -> Iterator[UInt8[np.ndarray, "rows bytes"]]:
        for look in np.ndindex(*(factor.size for factor in FACTORS[:3])):
            images = render_at_all_positions(look, self.size)[:, self._middle]
            yield np.packbits(images.reshape(STEPS * self.rows, -1), axis=1)


def render(
    positions: Int[np.ndarray, "n 5"], size: Size = 64
) -> Bool[np.ndarray, "n {size} {size}"]:
    """Render images at these grid positions, one by one."""
    pixel = CANVAS / size
    centres = FIRST + positions[:, 3:, None]
    across, down = np.moveaxis((np.arange(size) + 0.5) * pixel - centres, 1, 0)
    return is_inside(positions[:, :3], across[:, None, :], down[:, :, None])


def render_at_all_positions(
    look: tuple[int, ...], size: Size
) -> Bool[np.ndarray, "32 32 {size} {size}"]:
    """Render one shape, scale and orientation at all positions, as windows of one large image."""
    pixel = CANVAS // size
    span = CANVAS - pixel + 1
    offsets = np.arange(span + STEPS - 1) - (STEPS - 1) + pixel / 2 - FIRST
    drawing = is_inside(np.array([look]), offsets[None, None, :], offsets[None, :, None])[0]
    windows = sliding_window_view(drawing, (span, span))[::-1, ::-1, ::pixel, ::pixel]
    return windows.swapaxes(0, 1)  # x before y


def is_inside(
    looks: Int[np.ndarray, "n 3"],
    across: Float[np.ndarray, "n 1 w"],
    down: Float[np.ndarray, "n h 1"],
) -> Bool[np.ndarray, "n h w"]:
    """Whether points lie inside a sprite; the points are offsets from its centre.

    Args:
        looks: Grid positions of shape, scale and orientation.
        across: Offsets to the right.
        down: Offsets downwards.
    """
    shape, scale, angle = (
        np.array(factor.values)[looks[:, k], None, None] for k, factor in enumerate(FACTORS[:3])
    )
    # The last orientation gets angle 0, so that rounding cannot make it differ from the first.
    turn = np.where(looks[:, 2, None, None] == FACTORS[2].size - 1, 0, angle)
    u = (np.cos(turn) * across + np.sin(turn) * down) / scale
    v = (np.cos(turn) * down - np.sin(turn) * across) / scale
    square = np.maximum(abs(u), abs(v)) <= SQUARE
    ellipse = (u / ELLIPSE[0]) ** 2 + (v / ELLIPSE[1]) ** 2 <= 1
    p, q = u / HEART, HEART_CENTRE - v / HEART
    heart = (p**2 + q**2 - 1) ** 3 <= p**2 * q**3
    return np.select([shape == 1, shape == 2], [square, ellipse], heart)
