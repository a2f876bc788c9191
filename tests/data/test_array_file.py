"""Arrays in .npy and .npz files."""

import numpy as np
import pytest
import torch

from unpick.data import from_torch, own_data


def load(path, **options):
    dataset = own_data(path, **options).load()
    return dataset, dataset.observe(torch.arange(len(dataset))).numpy()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, ">f4", np.float16])
def test_numbers_are_used_as_they_are(folder, rng, dtype):
    x = (100 * rng.normal(size=(30, 4))).astype(dtype)
    np.save(folder / "x.npy", np.asfortranarray(x))
    dataset, got = load(folder / "x.npy")
    assert np.array_equal(got, x.astype(np.float32))
    assert dataset.factors == ()


@pytest.mark.parametrize("dtype", [np.uint8, bool])
def test_masks_of_zeros_and_ones_are_not_divided(folder, rng, dtype):
    x = rng.integers(2, size=(20, 1, 8, 8)).astype(dtype)
    np.save(folder / "x.npy", x)
    assert np.array_equal(load(folder / "x.npy")[1], x.astype(np.float32))


@pytest.mark.parametrize("shape", [(20, 3, 8, 9), (20, 8, 9, 3), (20, 8, 8)])
def test_images_have_their_channels_first(folder, rng, shape):
    x = rng.integers(256, size=shape).astype(np.uint8)
    np.save(folder / "x.npy", x)
    config = own_data(folder / "x.npy")
    got = config.load().observe(torch.arange(20)).numpy()
    first = x[:, None] if x.ndim == 3 else x if shape[1] == 3 else np.moveaxis(x, 3, 1)
    assert np.allclose(got, first / 255)
    assert len(config.notes()["remarks"]) == (1 if shape == (20, 3, 8, 9) else 2)
    assert config.notes()["range"] == [x.min() / 255, x.max() / 255]


def test_factors_lie_beside_the_observations_in_an_npz(folder, rng):
    x, z = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    words = np.array(["b", "a"] * 10)
    np.savez(folder / "d.npz", x=x, factors=z, kind=words)
    dataset, got = load(folder / "d.npz")
    assert np.array_equal(got, x.astype(np.float32))
    assert [factor.name for factor in dataset.factors] == ["factor 0", "factor 1"]
    dataset, _ = load(folder / "d.npz", factors="kind,factors")
    assert [factor.categorical for factor in dataset.factors] == [True, False, False]
    assert dataset.factor_values(torch.arange(2))[:, 0].tolist() == [1, 0]
    dataset, got = load(folder / "d.npz", key="factors")
    assert np.array_equal(got, z.astype(np.float32))
    assert not dataset.factors


def test_factors_in_grid_order_make_a_grid(folder, rng):
    grid = np.array([[a, b] for a in range(3) for b in range(4)])
    np.savez(folder / "d.npz", x=rng.normal(size=(12, 2)), factors=grid)
    assert load(folder / "d.npz")[0].sizes == (3, 4)


class Bomb:
    def __reduce__(self):
        return (exec, ("raise SystemExit('unpickled')",))


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (
            np.array([Bomb()] * 20, dtype=object)[:, None],
            "pickled objects can run code and are never read",
        ),
        (np.zeros(20), r"must have shape \(n, ...\), got shape \(20,\)"),
        (np.zeros((20, 0)), "must have shape"),
        (np.zeros((9, 2)), "at least 10 rows, .* got 9"),
        (np.zeros((20, 2), complex), "must hold real numbers, got type complex128"),
        (np.array([["a"]] * 20), "must hold real numbers, got type <U1"),
        (np.zeros(20, [("a", "f4")])[:, None], "must hold real numbers"),
        (np.where(np.arange(40).reshape(20, 2) == 25, np.nan, 0), r"got nan at index \(12, 1\)"),
        (np.where(np.arange(40).reshape(20, 2) == 0, 1e300, 0), r"got 1e\+300 at index \(0, 0\)"),
    ],
)
def test_arrays_that_cannot_be_observations(folder, array, message, cache_folder):
    np.save(folder / "x.npy", array)
    with pytest.raises(ValueError, match=message):
        own_data(folder / "x.npy").load()
    np.savez(folder / "x.npz", x=array)
    with pytest.raises(ValueError, match=message):
        own_data(folder / "x.npz").load()
    assert not list(cache_folder.glob("own/*.npy"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"d\.npz has the arrays a, b, c: name the observations with key"),
        ({"key": "z"}, "has the arrays a, b, c, and not z"),
        ({"key": "a", "factors": "b"}, r"array 'b' .* must have shape \(20,\) or \(20, k\)"),
        ({"key": "a", "factors": "c"}, "factor 'c' .* is constant: every row has 1"),
        ({"key": "a", "factors": "a"}, "array 'a' .* must not be both key and factor"),
    ],
)
def test_several_arrays_need_names(folder, options, message):
    np.savez(folder / "d.npz", a=np.zeros((20, 2)), b=np.zeros(3), c=np.ones(20))
    with pytest.raises(ValueError, match=message):
        own_data(folder / "d.npz", **options).load()


@pytest.mark.parametrize("suffix", ["npy", "npz"])
@pytest.mark.parametrize("content", [b"", b"junk" * 50, b"PK\x03\x04junk", b"\x93NUMPY\x01\x00"])
def test_files_that_are_no_arrays_are_named(folder, suffix, content):
    path = folder / f"x.{suffix}"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"x\.{suffix} "):
        own_data(path).load()


def test_two_factors_of_one_name_are_refused(folder, rng):
    arrays = {"x": rng.normal(size=(20, 2)), "factors": rng.normal(size=(20, 2))}
    np.savez(folder / "d.npz", **arrays, **{"factor 0": np.arange(20)})
    with pytest.raises(ValueError, match=r"two factors of .*d\.npz are called 'factor 0'"):
        own_data(folder / "d.npz", factors="factors,factor 0").load()


def test_damage_inside_a_file_is_named(folder, rng):
    """Where the parsers of the header and of the compressed numbers raise types of their own."""
    np.savez_compressed(folder / "x.npz", x=rng.normal(size=(200, 3)))
    np.save(folder / "x.npy", rng.normal(size=(200, 3)))
    packed, plain = ((folder / name).read_bytes() for name in ("x.npz", "x.npy"))
    (folder / "x.npz").write_bytes(packed[:200] + bytes(400) + packed[600:])
    (folder / "x.npy").write_bytes(plain.replace(b"}", b"("))
    for path in (folder / "x.npz", folder / "x.npy"):
        with pytest.raises(ValueError, match=rf"{path.name} (cannot be read|is truncated)"):
            own_data(path).load()


def test_half_a_file_is_named(folder, rng):
    np.savez(folder / "x.npz", x=rng.normal(size=(50, 3)))
    np.save(folder / "x.npy", rng.normal(size=(50, 3)))
    for path in (folder / "x.npz", folder / "x.npy"):
        path.write_bytes(path.read_bytes()[:-200])
        with pytest.raises(ValueError, match=rf"{path.name} cannot be read"):
            own_data(path).load()


def test_torch_datasets(rng):
    images = torch.randint(256, (12, 1, 4, 4), dtype=torch.uint8)
    data = from_torch(torch.utils.data.TensorDataset(images, torch.arange(12) % 3))
    rows = torch.arange(12)
    assert torch.allclose(data.observe(rows), images.float() / 255)
    assert data.factors[0].categorical
    assert data.factor_values(rows)[:, 0].tolist() == [0, 1, 2] * 4
    z = torch.rand(12, 2)
    data = from_torch([(x, label) for x, label in zip(images.float(), z, strict=True)])
    assert [(f.name, f.categorical) for f in data.factors] == [
        ("label 0", False),
        ("label 1", False),
    ]
    assert torch.equal(data.factor_values(rows), z)
    assert not from_torch(list(images)).factors


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([], "at least 2 items, got 0"),
        ([torch.zeros(2), torch.zeros(3)], r"got \(3,\) as item 1 and \(2,\) as item 0"),
        ([torch.zeros(2), (torch.zeros(2), 1)], r"got \(Tensor, int\) as item 1 and Tensor as"),
        ([(torch.zeros(2), 1, 2)] * 3, r"got \(Tensor, int, int\) as item 0"),
        (["a"] * 3, "got str as item 0; a transform, such as torchvision's ToTensor"),
        (iter([torch.zeros(2)]), "dataset must be map-style"),
    ],
)
def test_torch_datasets_with_mistakes(items, message):
    with pytest.raises(ValueError, match=message):
        from_torch(items)
