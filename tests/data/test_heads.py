"""Laws of the rendered heads: what a factor does to an image, and what it leaves alone."""

import math

import numpy as np
import pytest
import torch

from unpick.data import heads
from unpick.data.dataset import Dataset, Store
from unpick.data.heads import LitStore


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
