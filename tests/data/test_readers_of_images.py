"""MNIST, CelebA, smallNORB and Cars3D on small files: read, or refused in one sentence."""

import gzip
import io
import math
import struct
import tarfile

import numpy as np
import pytest
import scipy.io
from PIL import Image

from sample_files import cut, flip, grid, noise, pixels, refused, sha256, small
from unpick.data import DataMissing
from unpick.data import idx as idx_module
from unpick.data.cars3d import ARCHIVE, Cars3D
from unpick.data.celeba import CelebA
from unpick.data.files import check, grid_sizes
from unpick.data.idx import FILES, MNIST, FashionMNIST
from unpick.data.smallnorb import BYTES, HALVES, INTEGERS, SmallNORB

pytestmark = pytest.mark.usefixtures("folder")

# MNIST and Fashion-MNIST


def idx_bytes(array, kind=8):
    header = struct.pack(">HBB", 0, kind, array.ndim) + struct.pack(
        f">{array.ndim}I", *array.shape
    )
    return header + array.tobytes()


@pytest.fixture(params=[MNIST, FashionMNIST])
def digits(request, folder, monkeypatch):
    monkeypatch.setattr(idx_module, "COUNTS", (6, 4))
    labels = np.arange(10, dtype=np.uint8)
    arrays = (noise(6, 28, 28), labels[:6], noise(4, 28, 28), labels[6:])
    contents = [idx_bytes(array) for array in arrays]
    monkeypatch.setattr(request.param, "checksums", tuple(map(sha256, contents)))
    for name, content in zip(FILES, contents, strict=True):
        (folder / name).write_bytes(content)
    return request.param


def unchecked(config, monkeypatch):
    monkeypatch.setattr(config, "checksums", ("",) * 4)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dotted", [False, True])
def test_idx_files_are_joined_whatever_their_names(digits, folder, packed, dotted):
    for name in FILES:
        content = (folder / name).read_bytes()
        (folder / name).unlink()
        name = name.replace("-idx", ".idx") if dotted else name
        if packed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (folder / name).write_bytes(content)
    dataset = digits(str(folder)).load()
    assert dataset.shape == (1, 28, 28)
    assert dataset.values[:, 0].tolist() == list(range(10))
    assert dataset.factors[0].categorical
    assert not dataset.is_grid
    images = np.concatenate([noise(6, 28, 28), noise(4, 28, 28)])
    assert np.array_equal(pixels(dataset)[:, 0], images)
    assert "4 of 4 files" in check(digits(str(folder)))


def test_idx_files_that_are_not_right_are_refused(digits, folder, monkeypatch):
    config, images, labels = digits(str(folder)), folder / FILES[0], folder / FILES[1]
    right = images.read_bytes()
    flip(images)
    refused(config, images, "sha256")
    unchecked(digits, monkeypatch)
    images.write_bytes(labels.read_bytes())
    refused(config, images, "magic number is 00000801, not 00000803")
    images.write_bytes(idx_bytes(noise(6, 28, 28), kind=9))
    refused(config, images, "magic number")
    images.write_bytes(idx_bytes(noise(5, 28, 28)))
    refused(config, images, "is (5, 28, 28), not (6, 28, 28)")
    images.write_bytes(right[:-1])
    refused(config, images, "bytes after its header is 4703, not 4704")
    for stump in (b"", right[:3], right[:9]):
        images.write_bytes(stump)
        refused(config, images)
    images.write_bytes(right)
    labels.write_bytes(idx_bytes(np.full(6, 11, np.uint8)))
    refused(config, labels, "a label is 11")


def test_a_cut_gzip_is_refused(digits, folder, monkeypatch):
    unchecked(digits, monkeypatch)
    packed = folder / f"{FILES[0]}.gz"
    packed.write_bytes(gzip.compress((folder / FILES[0]).read_bytes()))
    (folder / FILES[0]).unlink()
    cut(packed)
    refused(digits(str(folder)), packed)
    packed.write_bytes(b"<html>not found</html>")
    refused(digits(str(folder)), packed)


# CelebA


@pytest.fixture
def people(folder, monkeypatch):
    monkeypatch.setattr(CelebA, "images", 3)
    place = folder / "img_align_celeba"
    place.mkdir()
    for number in (1, 2, 3):
        flat = np.full((218, 178, 3), (40 * number, 0, 255), np.uint8)
        flat[:50, :, 1] = 255  # the top, which a crop cuts off
        Image.fromarray(flat).save(place / f"{number:06d}.jpg", quality=95)
    return place


def test_celeba_is_resized_in_order(people, folder):
    for place in (folder, people):
        images = pixels(CelebA(path=str(place)).load())
        assert images.shape == (3, 3, 64, 64)
        assert images[:, 0, 40, 32] == pytest.approx([40, 80, 120], abs=3)
        assert images[:, 1, 2, 32].min() > 250


def test_celeba_crop_takes_the_middle(people):
    images = pixels(CelebA(crop=100, path=str(people)).load())
    assert images[:, 1].max() < 5
    with pytest.raises(ValueError, match=r"crop must lie in 0\.\.178 pixels, got 179"):
        CelebA(crop=179)


def test_celeba_that_is_not_right_is_refused(people):
    config = CelebA(path=str(people))
    third = people / "000003.jpg"
    right = third.read_bytes()
    cut(third)
    refused(config, third)
    Image.new("RGB", (64, 64)).save(third)
    refused(config, third, "its size is (64, 64), not (178, 218)")
    third.write_bytes(b"no image")
    refused(config, third)
    third.unlink()
    refused(config, people, "the number of its jpg files is 2, not 3")
    (people / "000004.jpg").write_bytes(right)
    refused(config, people, "000004.jpg")


# smallNORB


def matrix_bytes(array):
    magic = BYTES if array.dtype == np.uint8 else INTEGERS
    sizes = (*array.shape, 1, 1)[: max(array.ndim, 3)]
    return struct.pack(f"<{2 + len(sizes)}i", magic, array.ndim, *sizes) + array.tobytes()


@pytest.fixture
def toys(folder, monkeypatch):
    """Flat pictures whose brightness is their place on the grid, in random order."""
    sizes = (2, 2, 2, 3, 2)
    monkeypatch.setattr(SmallNORB, "factors", small(*sizes))
    monkeypatch.setattr(SmallNORB, "checksums", ("",) * 6)
    labels = grid(*sizes).astype(np.int32)
    order = np.random.default_rng(0).permutation(48)
    for half, name in enumerate(HALVES):
        rows = order[labels[order, 1] == half]  # instance 0 for training, 1 for testing
        info = labels[rows, 1:] * np.array([1, 1, 2, 1], np.int32)
        dat = np.zeros((24, 2, 96, 96), np.uint8)
        dat[:, 0] = rows[:, None, None]
        dat[:, 1] = 255
        (folder / f"{name}-dat.mat").write_bytes(matrix_bytes(dat))
        (folder / f"{name}-cat.mat").write_bytes(matrix_bytes(labels[rows, 0].copy()))
        (folder / f"{name}-info.mat").write_bytes(matrix_bytes(info))
    return folder


@pytest.mark.parametrize("packed", [False, True])
def test_smallnorb_is_sorted_into_its_grid(toys, packed):
    if packed:
        for path in list(toys.iterdir()):
            (toys / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
    images = pixels(SmallNORB(str(toys)).load())
    assert images.shape == (48, 1, 64, 64)
    assert (images == np.arange(48)[:, None, None, None]).all()


def test_smallnorb_has_the_full_grid():
    assert math.prod(grid_sizes(SmallNORB.factors)) == 48_600


def test_smallnorb_that_is_not_right_is_refused(toys, monkeypatch):
    config = SmallNORB(str(toys))
    dat, cat, info = (toys / f"{HALVES[1]}-{matrix}.mat" for matrix in ("dat", "cat", "info"))
    right = {path: path.read_bytes() for path in (dat, cat, info)}

    def why(path, content):
        path.write_bytes(content)
        message = refused(config, path.parent)
        path.write_bytes(right[path])
        return message

    for path in (dat, cat, info):
        assert path.name in why(path, right[path][: len(right[path]) // 2])
        assert path.name in why(path, right[path] + b"1")
        assert path.name in why(path, b"")
    assert "magic number is 0x1e3d4c54, not 0x1e3d4c55" in why(dat, right[cat])
    short = matrix_bytes(np.zeros((23, 2, 96, 96), np.uint8))
    assert "(23, 2, 96, 96), not (24, 2, 96, 96)" in why(dat, short)
    assert "every value of the grid once" in why(cat, matrix_bytes(np.zeros(24, np.int32)))
    assert "a label is outside (2, 2, 2, 3, 2)" in why(cat, matrix_bytes(np.full(24, 7, np.int32)))
    sums = [sha256(file.path.read_bytes()) for file in config.files()]
    monkeypatch.setattr(SmallNORB, "checksums", tuple(sums))
    flip(dat)
    refused(config, dat, "sha256")


# Cars3D


@pytest.fixture
def cars(folder, monkeypatch):
    """Three cars, named in an order that is not the alphabet's, as a folder."""
    monkeypatch.setattr(Cars3D, "factors", small(2, 3, 3))
    monkeypatch.setattr(Cars3D, "checksum", "")
    place = folder / "data" / "cars"
    place.mkdir(parents=True)
    (place / "list.txt").write_text("car_b\ncar_a\ncar_c\n")
    for number, name in enumerate(("car_b", "car_a", "car_c")):
        im = np.zeros((128, 128, 3, 3, 2), np.uint8)
        for azimuth in range(3):
            for elevation in range(2):
                im[..., azimuth, elevation] = 100 * elevation + 10 * azimuth + number
        scipy.io.savemat(place / f"{name}.mat", {"im": im, "mask": 0}, do_compression=True)
    return place


def pack(place, folder):
    path = folder / ARCHIVE
    with tarfile.open(path, "w:gz") as archive:
        for name in ("car_a.mat", "car_b.mat", "car_c.mat", "list.txt"):
            archive.add(place / name, f"data/cars/{name}")
        archive.addfile(tarfile.TarInfo("data/sprites/readme.txt"), io.BytesIO())
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_cars_are_ordered_by_elevation_azimuth_and_list(cars, folder, packed):
    images = pixels(Cars3D(str(pack(cars, folder) if packed else folder)).load())
    assert images.shape == (18, 3, 64, 64)
    expected = [100 * e + 10 * a + car for e in range(2) for a in range(3) for car in range(3)]
    assert images[:, 1, 30, 30].tolist() == expected


def test_cars_that_are_not_right_are_refused(cars, folder):
    config = Cars3D(str(folder))
    car = cars / "car_c.mat"
    scipy.io.savemat(car, {"image": np.zeros(1)})
    refused(config, car, "has no array 'im'; it has image")
    scipy.io.savemat(car, {"im": np.zeros((128, 128, 3, 2, 2), np.uint8)})
    refused(config, car, "is (128, 128, 3, 2, 2), not (128, 128, 3, 3, 2)")
    scipy.io.savemat(car, {"im": np.zeros((128, 128, 3, 3, 2))})
    refused(config, car, "is double, not uint8")
    cut(car)
    refused(config, car)
    (cars / "list.txt").write_text("car_b\ncar_a\n")
    refused(config, cars / "list.txt", "names 2 cars")
    (cars / "list.txt").write_text("car_b\ncar_a\ncar_d\n")
    with pytest.raises(DataMissing, match=r"names car_d\.mat"):
        config.load()


def test_a_car_archive_that_is_not_right_is_refused(cars, folder, monkeypatch):
    path = pack(cars, folder)
    config = Cars3D(str(path))
    monkeypatch.setattr(Cars3D, "checksum", sha256(path.read_bytes()))
    flip(path)
    refused(config, path, "sha256")
    monkeypatch.setattr(Cars3D, "checksum", "")
    cut(path)
    refused(config, path)
    path.write_bytes(b"<html>")
    refused(config, path)
