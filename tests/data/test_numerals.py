"""Laws of the drawn digits: what each factor does to an image, and that they can be read."""

import numpy as np
import pytest
import torch
from sklearn.neighbors import KNeighborsClassifier
from torch.nn.functional import avg_pool2d

from unpick.data.numerals import FRAME, Numerals
from unpick.training import preset

DIGIT, SLANT, THICKNESS, WIDTH = range(4)
UPRIGHT, MIDDLE = 4, 4  # places on the grid: slant 0; thickness 0.16 and width 0.85


@pytest.fixture(scope="module")
def data():
    return Numerals().load()


@pytest.fixture(scope="module")
def images(data):
    """By digit, slant, thickness, width; rows from the top."""
    return data.observe(torch.arange(len(data))).double().reshape(*data.sizes, 16, 16)


def moments(images):
    """Second moments of the ink about its centre: across, up, and both, in heights of a digit."""
    ticks = ((torch.arange(16) + 0.5) / 16 - 0.5) * FRAME
    ink = images / images.sum((-2, -1), keepdim=True)
    x, y = (ink * ticks).sum((-2, -1)), (ink * -ticks[:, None]).sum((-2, -1))
    u, v = ticks - x[..., None, None], -ticks[:, None] - y[..., None, None]
    return [(ink * each).sum((-2, -1)) for each in (u * u, v * v, u * v)]


def test_numerals_lie_on_a_grid(data, images):
    assert data.shape == (1, 16, 16)
    assert [factor.name for factor in data.factors] == ["digit", "slant", "thickness", "width"]
    assert data.sizes == (10, 13, 9, 9)
    assert [factor.categorical for factor in data.factors] == [True, False, False, False]
    assert data.factors[SLANT].values[UPRIGHT] == 0
    assert images.min() == 0
    assert images.max() == 1


def test_a_thicker_pen_darkens_no_pixel_and_brightens_the_mean(images):
    assert (images.diff(dim=THICKNESS) >= 0).all()
    assert (images.mean((-2, -1)).diff(dim=THICKNESS) > 0.005).all()


def test_ink_is_the_length_of_the_stroke_times_its_thickness(data, images):
    seven = images[7, UPRIGHT, :, MIDDLE]
    width = data.factors[WIDTH].values[MIDDLE]
    length = 0.66 * width + np.hypot(0.41 * width, 1)
    pen = np.array(data.factors[THICKNESS].values)
    ends = (
        np.pi * pen**2 / 4
    )  # half a disc each; the corner is covered twice, which the law leaves out
    area = seven.sum((-2, -1)).numpy() * (FRAME / 16) ** 2
    assert area == pytest.approx(length * pen + ends, rel=0.05)


def test_slant_shears(data, images):
    """Ink at height y moves by y times the tangent, so the mixed moment grows by that of y^2."""
    _, up, both = moments(images)
    sheared = (both / up)[:, [0, -1]].diff(dim=1)[:, 0]
    tangents = np.tan(np.radians([data.factors[SLANT].values[k] for k in (0, -1)]))
    assert sheared.mean() == pytest.approx(np.diff(tangents)[0], rel=0.1)
    assert ((both / up).diff(dim=SLANT) > 0).all()


@pytest.mark.parametrize("digit", [0, 8])
def test_slant_to_the_left_mirrors_slant_to_the_right(images, digit):
    right, left = images[digit, UPRIGHT:9], images[digit, : UPRIGHT + 1].flip(0)
    assert (right - left.flip(-1)).abs().max() < 0.02


def test_width_stretches_across_and_not_up(data, images):
    across, up, _ = moments(images[:, UPRIGHT])
    assert (across.diff(dim=2) > 0).all()
    assert (up[..., -1] / up[..., 0]).sqrt().numpy() == pytest.approx(1, abs=0.1)
    bar = images[7, UPRIGHT, MIDDLE, :, 2].sum(-1).numpy() * FRAME / 16  # the top of a 7
    assert np.polyfit(data.factors[WIDTH].values, bar, 1)[0] == pytest.approx(0.66, rel=0.05)


def test_a_nine_is_a_turned_six(images):
    assert (images[9] - images[6].flip(-2, -1)).abs().max() < 0.02


def test_digits_can_be_told_by_their_pixels(data, images):
    pixels = images.reshape(len(data), -1).numpy()
    digits = data.factor_values(torch.arange(len(data)))[:, DIGIT].numpy()
    some = np.random.default_rng(0).permutation(len(data))[:1500]
    seen, fresh = some[:1000], some[1000:]
    model = KNeighborsClassifier(1).fit(pixels[seen], digits[seen])
    assert model.score(pixels[fresh], digits[fresh]) > 0.97


def test_no_digit_is_cut_and_sizes_agree(images):
    fine = Numerals(32).load()
    some = torch.arange(0, len(fine), 7)
    large = fine.observe(some)
    frame = torch.ones(32, 32, dtype=torch.bool)
    frame[1:-1, 1:-1] = False
    assert large[..., frame].max() < 0.1
    small = images.reshape(len(fine), 1, 16, 16)[some]
    assert (avg_pool2d(large.double(), 2) - small).abs().mean() < 0.01


def test_other_sizes_are_refused_and_a_set_up_is_ready():
    with pytest.raises((ValueError, TypeError), match="size"):  # TypeError: under type checks
        Numerals(20)
    assert preset("numerals").model.network.encoder == (128, 128)
