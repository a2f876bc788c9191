"""Laws of the rendered rooms: what a factor does to an image, and what it leaves alone."""

import pytest
import torch

from unpick.data import shapes3d
from unpick.data.dataset import Dataset, Store
from unpick.data.shapes3d import ColouredStore, Shapes3D


def never():
    raise AssertionError("rendered again")
    yield


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


def test_shapes3d_loads_what_it_rendered(cache_folder, monkeypatch):
    data = Shapes3D(size=8).load()
    monkeypatch.setattr(shapes3d, "render", never)
    again = Shapes3D(size=8).load()
    indices = data.sample(10, torch.Generator().manual_seed(0))
    assert torch.equal(data.observe(indices), again.observe(indices))
