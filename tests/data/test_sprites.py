"""Laws of the rendered sprites: what a factor does to an image, and what it leaves alone."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from unpick.data import sprites
from unpick.data.dataset import Dataset, PackedStore
from unpick.data.heads import Heads
from unpick.data.shapes3d import Shapes3D
from unpick.data.sprites import Sprites


def draw(shape=0, scale=5, orientation=0, x=16, y=16, size=64):
    columns = np.broadcast_arrays(shape, scale, orientation, x, y)
    positions = np.stack([np.atleast_1d(column) for column in columns], axis=1)
    return sprites.render(positions, size)


def area(images):
    return images.sum((1, 2))


def test_sprite_factors_are_those_of_dsprites():
    names = [factor.name for factor in sprites.FACTORS]
    assert names == ["shape", "scale", "orientation", "x", "y"]
    assert [factor.size for factor in sprites.FACTORS] == [3, 6, 40, 32, 32]
    assert [factor.values[-1] for factor in sprites.FACTORS] == [3, 1, 2 * math.pi, 1, 1]


@pytest.mark.parametrize("shape", range(3))
def test_area_and_form_do_not_change_with_position(shape):
    x, y = (axis.ravel() for axis in np.meshgrid([0, 1, 17, 31], [0, 13, 30, 31]))
    images = draw(shape, scale=3, orientation=7, x=x, y=y)
    home = draw(shape, scale=3, orientation=7, x=0, y=0)[0]
    for image, dx, dy in zip(images, x, y, strict=True):
        assert np.array_equal(image, np.roll(home, (dy, dx), axis=(0, 1)))


def test_area_wavers_little_with_position_at_32_pixels():
    x, y = (axis.ravel() for axis in np.meshgrid(range(4), range(4)))
    for shape in range(3):
        areas = area(draw(shape, orientation=5, x=x, y=y, size=32))
        assert np.ptp(areas) <= 0.1 * areas.mean()


@pytest.mark.parametrize("shape", range(3))
def test_area_grows_with_the_square_of_scale(shape):
    turns = np.arange(39)
    areas = [area(draw(shape, scale, turns)).mean() for scale in range(6)]
    squares = np.array(sprites.FACTORS[1].values) ** 2
    assert areas / areas[-1] == pytest.approx(squares, rel=0.03)


@pytest.mark.parametrize("size", [64, 32])
def test_mean_pixel_is_that_of_dsprites(size):
    looks = np.stack(np.unravel_index(np.arange(720), (3, 6, 40)), axis=1)
    looks = looks[looks[:, 2] % 3 == 0]  # of a third of all orientations
    images = draw(*looks.T, x=16, y=15, size=size)
    assert images.mean() == pytest.approx(0.0425, rel=0.02)


def test_first_and_last_orientation_are_the_same_image():
    looks = np.arange(18)
    first, last = (draw(looks // 6, looks % 6, turn) for turn in (0, 39))
    assert np.array_equal(first, last)


def overlap(one, other):
    return (one & other).sum() / (one | other).sum()


def test_symmetries_of_the_shapes():
    quarter, half = 39 / 4, 39 / 2
    near_quarter, near_half = round(quarter), round(half)  # 92 and 185 degrees
    square, ellipse, heart = (draw(shape, 5, [0, near_quarter, near_half]) for shape in range(3))
    assert overlap(square[0], square[1]) > 0.9
    assert overlap(square[0], draw(0, 5, 5)[0]) < 0.85  # 46 degrees
    assert overlap(ellipse[0], ellipse[2]) > 0.85
    assert overlap(ellipse[0], ellipse[1]) < 0.5
    assert overlap(heart[0], heart[2]) < 0.85
    assert np.array_equal(heart[0][:, 1:], heart[0][:, :0:-1])  # upright, centred on a pixel


def test_sprite_never_touches_the_border():
    looks = np.arange(120)
    for x, y in ((0, 0), (31, 31)):
        images = draw(looks // 40, 5, looks % 40, x, y)
        assert images.any((1, 2)).all()
        inner = images[:, 1:-1, 1:-1].sum()
        assert images.sum() == inner


def test_x_goes_right_and_y_goes_down_and_y_runs_fastest():
    packed = np.zeros((737280, 1), np.uint8)  # the grid alone is asked for
    grid = Dataset("sprites", PackedStore(packed, (1, 2, 4)), sprites.FACTORS)
    steps = grid.positions(torch.tensor([0, 1, 32])).numpy()
    home, down, right = sprites.render(steps)
    assert np.array_equal(down, np.roll(home, 1, axis=0))
    assert np.array_equal(right, np.roll(home, 1, axis=1))


@pytest.mark.parametrize("size", [64, 32])
def test_all_positions_at_once_are_those_drawn_one_by_one(size):
    look, some = (2, 4, 11), np.r_[0:1024:13, 1023]  # 13: every x and every y
    x, y = np.divmod(some, 32)
    assert {*x} == {*y} == {*range(32)}
    assert np.array_equal(
        sprites.render_at_all_positions(look, size).reshape(1024, size, size)[some],
        draw(*look, x=x, y=y, size=size),
    )


def test_sprites_are_read_from_the_packed_cache(cache_folder, monkeypatch):
    shape, scale, orientation, x, y = sprites.FACTORS
    few = (shape, replace(scale, values=(0.5,)), replace(orientation, values=(0.0,)), x, y)
    monkeypatch.setattr(sprites, "FACTORS", few)
    data = Sprites(size=32).load()
    indices = torch.tensor([0, 1500, 3071])
    expected = sprites.render(data.positions(indices).numpy(), 32)
    assert np.array_equal(data.observe(indices)[:, 0].numpy(), expected)
    assert {path.suffix for path in cache_folder.iterdir()} == {".npy", ".sha256"}


def test_fewer_rows_are_the_middle_ones_of_all(cache_folder, monkeypatch):
    shape, scale, orientation, x, y = sprites.FACTORS
    few = (shape, replace(scale, values=(0.5, 1.0)), replace(orientation, values=(0.0,)), x, y)
    monkeypatch.setattr(sprites, "FACTORS", few)
    whole, part = Sprites(32).load(), Sprites(32, rows=5).load()
    assert part.factors == (*few[:4], replace(y, values=y.values[13:18]))
    assert len(part) == len(whole) * 5 // 32
    places = whole.positions(torch.arange(len(whole)))[:, 4]
    middle = ((places >= 13) & (places < 18)).nonzero()[:, 0]
    assert torch.equal(part.observe(torch.arange(len(part))), whole.observe(middle))


@pytest.mark.parametrize("rows", [0, 33])
def test_rows_that_cannot_be_are_refused(rows):
    with pytest.raises(ValueError, match=f"rows must lie in 1..32, got {rows}"):
        Sprites(32, rows)


@pytest.mark.parametrize("make", [lambda: Sprites(48), lambda: Shapes3D(4), lambda: Heads(0)])
def test_sizes_that_cannot_be_are_refused(make):
    with pytest.raises((ValueError, TypeError), match="size"):  # TypeError: under type checks
        make()
