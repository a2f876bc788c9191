"""Laws of the rendered data sets: what a factor does to an image, and what it leaves alone."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from unpick.data import heads, shapes3d, sprites
from unpick.data.cache import atomic_write, cached_array, data_folder
from unpick.data.dataset import DataDamaged, Dataset, PackedStore, Store
from unpick.data.heads import Heads, LitStore
from unpick.data.shapes3d import ColouredStore, Shapes3D
from unpick.data.sprites import Sprites


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("UNPICK_DATA", str(tmp_path))
    return tmp_path


# Cache


def rows(start, stop):
    return np.arange(start, stop, dtype=np.uint8)[:, None] * np.ones(3, np.uint8)


def never():
    raise AssertionError("rendered again")
    yield


def test_array_is_rendered_once_and_mapped_read_only(folder):
    first = cached_array("a", (5, 3), iter([rows(0, 2), rows(2, 5)]))
    again = cached_array("a", (5, 3), never())
    assert isinstance(again, np.memmap)
    assert np.array_equal(first, rows(0, 5))
    assert np.array_equal(again, rows(0, 5))
    with pytest.raises(ValueError, match="read-only"):
        again[0] = 1
    assert [path.name for path in folder.iterdir()] == ["a.npy"]


def test_half_an_array_never_stands_under_its_name(folder):
    def interrupted():
        yield rows(0, 2)
        assert not (folder / "a.npy").exists()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cached_array("a", (5, 3), interrupted())
    assert list(folder.iterdir()) == []


def test_of_two_writers_at_once_each_leaves_a_whole_file(folder):
    path = folder / "deeper" / "a"
    with atomic_write(path) as one, atomic_write(path) as other:
        one.write(b"one")
        other.write(b"other")
    assert path.read_bytes() == b"one"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("blocks", [[rows(0, 4)], [rows(0, 6)], [rows(0, 5)[:, :2]]])
def test_blocks_that_do_not_make_the_array_are_refused(folder, blocks):
    with pytest.raises(ValueError, match="a: "):
        cached_array("a", (5, 3), iter(blocks))
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("damage", ["cut", "empty", "junk", "shape", "dtype"])
def test_damaged_file_is_named_and_refused(folder, damage):
    path = folder / "a.npy"
    cached_array("a", (5, 3), iter([rows(0, 5)]))
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-1])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "junk":
        path.write_bytes(b"no array at all, whatever its name says" * 10)
    elif damage == "shape":
        np.save(path, rows(0, 4))
    else:
        np.save(path, rows(0, 5).astype(np.int32))
    with pytest.raises(DataDamaged, match=r"a\.npy .*delete it"):
        cached_array("a", (5, 3), never())


def test_folder_defaults_to_the_users_cache(monkeypatch):
    monkeypatch.delenv("UNPICK_DATA", raising=False)
    assert data_folder().is_absolute()
    assert "unpick" in str(data_folder())


# Sprites


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


def test_sprites_are_read_from_the_packed_cache(folder, monkeypatch):
    shape, scale, orientation, x, y = sprites.FACTORS
    few = (shape, replace(scale, values=(0.5,)), replace(orientation, values=(0.0,)), x, y)
    monkeypatch.setattr(sprites, "FACTORS", few)
    data = Sprites(size=32).load()
    indices = torch.tensor([0, 1500, 3071])
    expected = sprites.render(data.positions(indices).numpy(), 32)
    assert np.array_equal(data.observe(indices)[:, 0].numpy(), expected)
    assert [path.suffix for path in folder.iterdir()] == [".npy"]


def test_fewer_rows_are_the_middle_ones_of_all(folder, monkeypatch):
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


# Shapes3D


def view(scale=4, shape=0, orientation=7, size=32):
    columns = torch.broadcast_tensors(*map(torch.as_tensor, (scale, shape, orientation)))
    return shapes3d.render(torch.stack([c.reshape(-1) for c in columns], dim=1), size)


@pytest.fixture(scope="module")
def rooms():
    every = torch.cartesian_prod(*(torch.arange(size) for size in shapes3d.VIEWS))
    views = shapes3d.render(every, 8).mul(255).byte()
    return Dataset("shapes3d", ColouredStore(views), shapes3d.FACTORS)


def test_shapes3d_is_a_grid_in_the_order_of_3d_shapes(rooms):
    assert isinstance(rooms.store, Store)
    assert rooms.sizes == (10, 10, 10, 8, 4, 15)
    assert rooms.shape == (3, 8, 8)
    assert rooms.factor_values(torch.tensor([479999]))[0].tolist() == pytest.approx(
        [0.9, 0.9, 0.9, 1.25, 3, 30]
    )


@pytest.mark.parametrize("layer", range(3))
def test_a_hue_changes_its_own_surface_and_nothing_else(rooms, layer):
    generator = torch.Generator().manual_seed(layer)
    indices = rooms.sample(40, generator, fixed={shapes3d.FACTORS[layer].name: 1})
    moved = rooms.positions(indices)
    moved[:, layer] = 6
    changed = (rooms.observe(indices) != rooms.observe(rooms.index_of(moved))).any(1)
    share = rooms.store.views[indices % 480, layer] > 0
    assert torch.equal(changed, share)


def test_pixels_lie_between_zero_and_one(rooms):
    images = rooms.observe(rooms.sample(2000, torch.Generator().manual_seed(0)))
    assert images.min() >= 0
    assert images.max() <= 1
    assert (rooms.store.views.int().sum(1) <= 255).all()


def test_every_pixel_shows_something():
    layers = view(shape=torch.arange(4))
    assert (layers.sum(1) > 0.2).all()
    assert (layers >= 0).all()


@pytest.mark.parametrize("shape", range(4))
def test_object_grows_with_scale(shape):
    covered = (view(scale=torch.arange(8), shape=shape)[:, 2] > 0).sum((1, 2))
    assert (covered.diff() > 0).all()
    assert covered[-1] / covered[0] == pytest.approx((1.25 / 0.75) ** 2, rel=0.25)


def test_orientation_turns_the_cube_but_not_the_outline_of_round_bodies():
    turned = view(shape=torch.tensor([0, 1, 2, 3])[:, None], orientation=torch.tensor([0, 7]))
    outline = (turned[:, 2] > 0).reshape(4, 2, 32, 32)
    differs = (outline[:, 0] != outline[:, 1]).sum((1, 2))
    assert differs[0] > 10
    assert (differs[1:] <= 4).all()  # rounding at the rim
    assert (turned[0::2, 1] - turned[1::2, 1]).abs().amax((1, 2)).min() > 0.1  # the room turns


def test_walls_and_object_are_mirrored_from_either_side():
    left, right = ((layer > 0) for layer in view(orientation=torch.tensor([2, 12])))
    assert (left != right.flip(2)).float().mean() < 0.01


def test_shapes3d_loads_what_it_rendered(folder, monkeypatch):
    data = Shapes3D(size=8).load()
    monkeypatch.setattr(shapes3d, "render", never)
    again = Shapes3D(size=8).load()
    indices = data.sample(10, torch.Generator().manual_seed(0))
    assert torch.equal(data.observe(indices), again.observe(indices))


# Heads


@pytest.fixture(scope="module", autouse=True)
def coarse_heads():
    """A quarter of the voxels: the laws are the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heads, "VOXELS", 44)
        yield
    heads.head.cache_clear()


def coded(person, angles, size=24):
    return heads.render(person, torch.tensor(angles), size)


def degrees(*values):
    return torch.deg2rad(torch.tensor(values))


def test_heads_are_mirror_symmetric():
    left, right = coded(3, [[-36.0, 12.0], [36.0, 12.0]])
    flip = torch.tensor([-1.0, 1.0, 1.0, 1.0])[:, None, None]
    assert (left.flip(2) * flip - right).abs().mean() < 2e-3
    lit = heads.shade(torch.stack([left, right]), degrees(45.0, -45.0))
    assert (lit[0].flip(2) - lit[1]).abs().mean() < 2e-3


@pytest.fixture(scope="module")
def crowd():
    """The grid of heads, with the same two people again and again to save time."""
    angles = torch.cartesian_prod(
        torch.tensor(heads.FACTORS[1].values[10:]), torch.tensor(heads.FACTORS[2].values)
    )
    two = torch.cat([heads.render(person, angles, 12) for person in (0, 1)])
    views = two.mul(127).add(128).round().byte().numpy()
    return Dataset("heads", LitStore(np.tile(views, (25, 1, 1, 1))), heads.FACTORS)


def test_turning_the_other_way_with_the_lamp_mirrors_the_image(crowd):
    assert isinstance(crowd.store, Store)
    positions = crowd.positions(crowd.sample(50, torch.Generator().manual_seed(0)))
    mirrored = positions.clone()
    mirrored[:, 1] = 20 - positions[:, 1]
    mirrored[:, 3] = 10 - positions[:, 3]
    there, back = (crowd.observe(crowd.index_of(p)) for p in (positions, mirrored))
    turned = positions[:, 1] != 10  # the frontal view is its own mirror image, see below
    assert turned.sum() > 30
    assert torch.equal(there[turned], back[turned].flip(3))


def test_the_two_sides_meet_at_the_frontal_view(crowd):
    frontal = crowd.index_of(torch.tensor([[1, 10, 5, 2], [1, 10, 5, 8]]))
    one, other = crowd.observe(frontal)
    assert (one - other.flip(2)).abs().max() < 0.03


def test_stored_views_are_those_rendered(crowd):
    position = torch.tensor([[1, 14, 7, 9]])
    angles = [heads.FACTORS[k].values[position[0, k]] for k in (1, 2, 3)]
    direct = heads.shade(coded(1, [angles[:2]], 12), degrees(angles[2]))
    assert (crowd.observe(crowd.index_of(position)) - direct).abs().max() < 0.02


def test_the_side_of_the_lamp_is_the_bright_one():
    frontal = coded(0, [[0.0, 0.0]]).expand(3, -1, -1, -1)
    left, middle, right = heads.shade(frontal, degrees(-60.0, 0.0, 60.0))[:, 0]
    assert left[:, :12].mean() > 2 * left[:, 12:].mean()
    assert right[:, 12:].mean() > 2 * right[:, :12].mean()
    assert middle.mean() > left.mean()


def test_the_nose_points_where_the_head_turns():
    """The silhouette reaches further to the side the face looks to, at half height."""
    left, right = (image[3] > 0 for image in coded(2, [[-90.0, 0.0], [90.0, 0.0]], 32))
    rows_of_the_face = slice(17, 26)
    columns = torch.arange(32.0)
    centre = [
        (mask[rows_of_the_face] * columns).sum() / mask[rows_of_the_face].sum()
        for mask in (left, right)
    ]
    assert centre[0] < 15 < 16 < centre[1]


def test_people_differ_and_stay_inside_the_frame():
    images = [coded(person, [[0.0, 0.0]])[0, 3] for person in range(4)]
    for k, image in enumerate(images):
        assert image[:2].max() == 0  # above
        assert image[:, :2].max() == image[:, -2:].max() == 0  # beside
        assert image[-1].max() > 0.1  # the neck goes on below
        assert all((image - other).abs().mean() > 0.005 for other in images[:k])


def test_a_head_turns_right_and_then_up():
    angles = torch.tensor([[0.0, 0.0], [90.0, 0.0], [0.0, 30.0], [40.0, 20.0]])
    turns = heads.to_camera(angles)
    assert torch.allclose(turns @ turns.mT, torch.eye(3).expand(4, 3, 3), atol=1e-6)
    assert torch.allclose(torch.linalg.det(turns), torch.ones(4))
    nose = turns[:, :, 2]  # where the camera sees the z axis of the head
    assert torch.allclose(nose[0], torch.tensor([0.0, 0.0, 1.0]), atol=1e-6)
    assert torch.allclose(nose[1], torch.tensor([1.0, 0.0, 0.0]), atol=1e-6)
    assert nose[2, 1] == pytest.approx(0.5)
    ear = turns[3, :, 0]
    assert ear[0] == pytest.approx(math.cos(math.radians(40)))  # raising leaves it where it is
