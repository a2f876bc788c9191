from math import inf, nan

import numpy as np
import pytest
import torch

from unpick.data import ArrayStore, Dataset, Factor, LaplacePairs, PackedStore, load, split
from unpick.data.bent import Bent
from unpick.data.synthetic import Circles, LinearGaussian, SynthLin, SynthNonlin


@pytest.fixture
def grid():
    factors = (Factor("a", (0.0, 1.0)), Factor("b", (5.0, 6.0, 7.0)), Factor("c", (0.1, 0.2)))
    return Dataset("toy", ArrayStore(torch.arange(12.0)[:, None]), factors)


def test_last_factor_runs_fastest(grid):
    assert grid.positions(torch.tensor([0, 1, 2, 6])).tolist() == [
        [0, 0, 0],
        [0, 0, 1],
        [0, 1, 0],
        [1, 0, 0],
    ]


def test_index_of_inverts_positions(grid):
    everything = torch.arange(12)
    assert torch.equal(grid.index_of(grid.positions(everything)), everything)


def test_factor_values_are_those_of_the_grid(grid):
    assert grid.factor_values(torch.tensor([11])).tolist()[0] == pytest.approx([1.0, 7.0, 0.2])


def test_fixed_factors_stay_and_the_others_move(grid):
    drawn = grid.sample(500, torch.Generator().manual_seed(0), fixed={"b": 2})
    positions = grid.positions(drawn)
    assert (positions[:, 1] == 2).all()
    assert [len(positions[:, k].unique()) for k in (0, 2)] == [2, 2]


def test_unknown_factor_and_bad_index_are_named(grid):
    with pytest.raises(ValueError, match="no factor 'd'; it has a, b, c"):
        grid.sample(3, torch.Generator(), fixed={"d": 0})
    with pytest.raises(IndexError, match=r"0\.\.11"):
        grid.observe(torch.tensor([12]))
    with pytest.raises(IndexError, match="3 columns"):
        grid.index_of(torch.tensor([[0, 3, 0]]))


def test_continuous_factors_have_no_grid():
    data = load("synth-lin", points=100)
    with pytest.raises(ValueError, match="not a full grid"):
        data.positions(torch.tensor([0]))


def test_a_grid_of_the_wrong_size_is_refused():
    with pytest.raises(ValueError, match="4 observations but 3 points"):
        Dataset("toy", ArrayStore(torch.zeros(4, 1)), (Factor("a", (0.0, 1.0, 2.0)),))


def test_observe_keeps_the_shape_of_the_indices(grid):
    assert torch.equal(grid.observe(torch.tensor([[3, 4], [5, 6]]))[1, 0], torch.tensor([5.0]))


def test_packed_images_come_back_as_they_were():
    images = np.random.default_rng(0).integers(0, 2, (20, 1, 5, 5), dtype=np.uint8)
    store = PackedStore(np.packbits(images.reshape(20, -1), axis=1), (1, 5, 5))
    which = torch.tensor([7, 0, 19, 7])
    assert np.array_equal(store.read(which).numpy(), images[which.numpy()])


def test_split_is_a_partition_and_depends_on_the_seed_only():
    data = load("synth-lin", points=1003)
    parts = split(data)
    assert torch.equal(torch.cat(parts).sort().values, torch.arange(1003))
    assert torch.equal(parts.test, split(data).test)
    assert not torch.equal(parts.test, split(data, seed=1).test)


@pytest.mark.parametrize("ratio", [1.0, 2.0])
def test_synth_lin_is_an_isometry_of_the_stretched_square(ratio):
    data = load("synth-lin", ratio=ratio, points=300)
    x, square = data.observe(torch.arange(300)), data.values
    flat = square * torch.tensor([ratio, 1.0])
    exact = "donot_use_mm_for_euclid_dist"
    there, here = (torch.cdist(y, y, compute_mode=exact) for y in (x, flat))
    torch.testing.assert_close(there, here, atol=1e-5, rtol=0)
    axis = torch.tensor([1.0, -1.0, 1.0])  # the rotation leaves its axis alone
    projected = flat @ axis[:2]
    torch.testing.assert_close(x @ axis, projected, atol=1e-5, rtol=0)


def test_centring_moves_synth_lin_and_nothing_else():
    x, moved = (
        load("synth-lin", points=500, centred=centred).observe(torch.arange(500))
        for centred in (False, True)
    )
    torch.testing.assert_close(moved.mean(0), torch.zeros(3), atol=1e-6, rtol=0)
    torch.testing.assert_close(x - x.mean(0), moved)


def test_linear_gaussian_has_the_planted_spectrum():
    data = load("linear-gaussian", points=200_000)
    spectrum = torch.linalg.eigvalsh(torch.cov(data.observe(torch.arange(len(data))).T)).flip(0)
    expected = torch.tensor([9.01, 4.01, 1.01] + [0.01] * 7)
    torch.testing.assert_close(spectrum, expected, rtol=0.02, atol=0)


def test_circles_lie_where_their_factors_say():
    data = load("circles", points=500)
    x = data.observe(torch.arange(500))
    group = 2 * torch.pi * data.values[:, 0] / 3
    centre = 3 * torch.stack([group.cos(), group.sin()], 1)
    distance = (x - centre).norm(dim=1)
    assert ((distance > 0.69) & (distance < 1.31)).all()


def test_unknown_data_set_suggests_the_nearest():
    with pytest.raises(ValueError, match="did you mean synth-lin"):
        load("synth-ln")


def test_options_that_cannot_be_are_refused_with_the_field_and_the_value():
    wrong = {
        "points must be at least 10, got 9": [
            lambda: Bent(points=9),
            lambda: SynthLin(points=9),
            lambda: SynthNonlin(points=9),
            lambda: Circles(points=9),
            lambda: LinearGaussian(points=9),
        ],
        "ratio must be positive and finite, got nan": [lambda: SynthLin(ratio=nan)],
        "ratio must be positive and finite, got inf": [lambda: SynthLin(ratio=inf)],
        "degrees must lie between 0 and 360, got 360": [lambda: Bent(degrees=360.0)],
        "width must be positive and finite, got 0": [lambda: Bent(width=0.0)],
        "noise must be finite and not negative, got -1": [
            lambda: Bent(noise=-1.0),
            lambda: LinearGaussian(noise=-1.0),
        ],
        r"singular_values must be finite and not negative, got \(1.0, nan\)": [
            lambda: LinearGaussian((1.0, nan))
        ],
        "singular_values must have 1 to 10 entries": [lambda: LinearGaussian(())],
        "groups and circles must be at least 1, got 0 and 4": [lambda: Circles(groups=0)],
        "transition_rate must be positive and finite, got inf": [lambda: LaplacePairs(inf)],
    }
    for message, makers in wrong.items():
        for make in makers:
            with pytest.raises(ValueError, match=message):
                make()


def test_an_unknown_option_of_a_data_set_suggests_the_nearest():
    with pytest.raises(ValueError, match="option of synth-lin 'ration'; did you mean ratio"):
        load("synth-lin", ration=2.0)


def test_values_must_have_a_column_per_factor_and_names_must_differ():
    store, two = ArrayStore(torch.zeros(4, 1)), (Factor("a"), Factor("b"))
    with pytest.raises(ValueError, match="toy: 1 columns of values, 2 factors"):
        Dataset("toy", store, two, torch.zeros(4, 1))
    with pytest.raises(ValueError, match="toy: names of factors must differ, got a, a"):
        Dataset("toy", store, (two[0], two[0]), torch.zeros(4, 2))


def test_too_few_observations_are_not_split():
    with pytest.raises(ValueError, match="toy: split needs 10 observations, got 9"):
        split(Dataset("toy", ArrayStore(torch.zeros(9, 1))))


def test_pixels_are_divided_by_255_and_other_numbers_are_not():
    everything = torch.arange(2)
    for pixels in (np.array([[0], [255]], np.uint8), torch.tensor([[0], [255]]).byte()):
        assert ArrayStore(pixels).read(everything).tolist() == [[0.0], [1.0]]
    for numbers in (np.array([[0], [255]], np.float32), torch.tensor([[0.0], [255.0]])):
        assert ArrayStore(numbers).read(everything).tolist() == [[0.0], [255.0]]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("kind", [np.int64, np.uint16, bool])
def test_an_array_that_does_not_say_what_it_is_is_refused(kind):
    message = f"uint8 pixels or floating-point numbers, got {np.dtype(kind).name}"
    with pytest.raises(ValueError, match=message):
        ArrayStore(np.zeros((2, 1), kind))
