"""Every reader on a small file of its format: read if right, refused in one sentence if not."""

import gzip
import hashlib
import io
import math
import struct
import tarfile

import h5py
import numpy as np
import pytest
import scipy.io
import torch
from PIL import Image

from unpick.data import DataDamaged, DataMissing, Dataset
from unpick.data import idx as idx_module
from unpick.data.cars3d import ARCHIVE, Cars3D
from unpick.data.celeba import CelebA
from unpick.data.dsprites import STEM, DSprites
from unpick.data.faces import Faces
from unpick.data.files import DataFile, check, grid_sizes, numbered_factor
from unpick.data.idx import FILES, MNIST, FashionMNIST
from unpick.data.mpi3d import MPI3D
from unpick.data.shapes3d_file import Shapes3DFile
from unpick.data.smallnorb import BYTES, HALVES, INTEGERS, SmallNORB


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The data folder; files of a test go to a folder of their own in it."""
    monkeypatch.setenv("UNPICK_DATA", str(tmp_path / "cache"))
    (tmp_path / "files").mkdir()
    return tmp_path / "files"


def noise(*shape, top=256):
    return np.random.default_rng(0).integers(0, top, shape, np.uint8)


def small(*sizes):
    return tuple(numbered_factor(f"factor {k}", size) for k, size in enumerate(sizes))


def grid(*sizes):
    return np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1)


def pixels(dataset: Dataset):
    """All images as the bytes they were."""
    return (dataset.observe(torch.arange(len(dataset))) * 255).round().byte().numpy()


def refused(config, *words, load=None):
    """The file is called damaged in one line that has these words."""
    with pytest.raises(DataDamaged) as caught:
        (load or config.load)()
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert str(word) in message
    return message


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path, place=0.5):
    content = bytearray(path.read_bytes())
    content[int(len(content) * place)] ^= 1
    path.write_bytes(content)


def sha256(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


# dSprites


SPRITE_SIZES = (2, 1, 3, 2, 2)


@pytest.fixture
def sprites(folder, monkeypatch):
    """A way to write a file of 24 sprites, with what is asked for changed."""
    monkeypatch.setattr(DSprites, "factors", small(*SPRITE_SIZES))
    monkeypatch.setattr(DSprites, "checksums", {})

    def write(suffix=".npz", compressed=True, **changed):
        classes = grid(1, *SPRITE_SIZES)
        arrays = {
            "imgs": noise(24, 64, 64, top=2),
            "latents_classes": classes,
            "latents_values": classes / 7.0,
            "metadata": np.array({"author": "somebody"}, dtype=object),
        } | changed
        arrays = {key: array for key, array in arrays.items() if array is not None}
        path = folder / f"{STEM}{suffix}"
        if suffix == ".npz":
            (np.savez_compressed if compressed else np.savez)(path, **arrays)
            return path
        with h5py.File(path, "w") as file:
            for key, array in arrays.items():
                if key == "imgs":
                    file.create_dataset(key, data=array, chunks=(5, 2, 4), compression="gzip")
                elif key != "metadata":
                    file[key.replace("_", "/")] = array
        return path

    return write


@pytest.mark.parametrize("suffix", [".npz", ".hdf5"])
def test_dsprites_are_packed_without_loss(sprites, suffix, folder):
    path = sprites(suffix)
    for place in (path, folder):
        dataset = DSprites(str(place)).load()
        assert dataset.shape == (1, 64, 64)
        assert dataset.is_grid
        images = dataset.observe(torch.arange(24)).numpy()
        assert np.array_equal(images[:, 0], noise(24, 64, 64, top=2))


def test_dsprites_metadata_are_never_unpickled(sprites, tmp_path):
    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "ran"), "w"))

    path = sprites(metadata=np.array(Evil(), dtype=object))
    DSprites(str(path)).load()
    assert not (tmp_path / "ran").exists()


def test_dsprites_images_that_are_pickled_are_refused(sprites):
    path = sprites(imgs=np.array([None] * 24, dtype=object))
    refused(DSprites(str(path)), path, "'imgs' is object, not uint8")


@pytest.mark.parametrize("suffix", [".npz", ".hdf5"])
def test_dsprites_that_are_not_right_are_refused(sprites, suffix):
    def why(**changed):
        return refused(DSprites(str(sprites(suffix, **changed))), STEM)

    assert "has no array 'imgs'" in why(imgs=None)
    assert "'imgs' is (24, 32, 32)" in why(imgs=noise(24, 32, 32, top=2))
    assert "'imgs' is float32, not uint8" in why(imgs=np.zeros((24, 64, 64), np.float32))
    assert "not 0 or 1" in why(imgs=noise(24, 64, 64))
    assert "column 1 of its labels is not in the order" in why(
        latents_classes=grid(1, *SPRITE_SIZES)[::-1].copy()
    )
    assert "labels is (12, 6)" in why(latents_values=grid(1, 1, 1, 3, 2, 2))
    cut(path := sprites(suffix))
    refused(DSprites(str(path)), path)


@pytest.mark.parametrize("suffix", [".npz", ".hdf5"])
def test_a_wrong_checksum_is_refused_and_a_right_one_is_not(sprites, suffix, monkeypatch):
    path = sprites(suffix)
    monkeypatch.setattr(DSprites, "checksums", {suffix: sha256(path.read_bytes())})
    assert check(DSprites(str(path))).startswith("dsprites is right: 24 images")
    flip(path)
    refused(DSprites(str(path)), path, "sha256")
    refused(None, path, "sha256", load=lambda: check(DSprites(str(path))))


def test_dsprites_of_another_suffix_are_refused(sprites):
    """Neither format nor checksum would be known."""
    other = (path := sprites()).with_suffix(".zip")
    path.rename(other)
    refused(DSprites(str(other)), other, "must be .npz or .hdf5, got '.zip'")


def test_a_converted_file_is_read_again_only_if_it_changes(sprites, monkeypatch):
    read = []
    monkeypatch.setattr(DataFile, "verify", lambda file: read.append(file))
    config = DSprites(str(sprites()))
    config.load()
    config.load()
    assert len(read) == 1
    sprites(imgs=1 - noise(24, 64, 64, top=2))
    images = config.load().observe(torch.arange(24)).numpy()
    assert np.array_equal(images[:, 0], 1 - noise(24, 64, 64, top=2))
    assert len(read) == 2


def test_a_refused_file_leaves_nothing_behind(sprites, tmp_path):
    cut(path := sprites())
    refused(DSprites(str(path)), path)
    assert not [p for p in (tmp_path / "cache").rglob("*") if p.is_file()]


def test_a_missing_file_is_named_with_its_place_and_its_source(tmp_path):
    with pytest.raises(DataMissing, match="unpick data get dsprites") as caught:
        DSprites().load()
    assert f"{STEM}.npz" in str(caught.value)
    assert str(tmp_path / "cache" / "dsprites") in str(caught.value)


@pytest.mark.parametrize(
    "config",
    [DSprites, Shapes3DFile, MPI3D, MNIST, FashionMNIST, CelebA, Faces, SmallNORB, Cars3D],
)
def test_every_reader_says_what_is_missing(config, tmp_path):
    with pytest.raises(DataMissing) as caught:
        config(path=str(tmp_path / "nowhere")).load()
    assert str(caught.value).startswith(f"{config.name}: no ")
    assert str(tmp_path / "nowhere") in str(caught.value)
    assert "\n" not in str(caught.value)


# 3D Shapes


@pytest.fixture
def rooms(folder, monkeypatch):
    monkeypatch.setattr(Shapes3DFile, "factors", small(2, 1, 2, 3, 1, 2))
    monkeypatch.setattr(Shapes3DFile, "checksum", "")

    def write(**changed):
        arrays = {"images": noise(24, 64, 64, 3), "labels": grid(2, 1, 2, 3, 1, 2) / 3.0} | changed
        with h5py.File(folder / "3dshapes.h5", "w") as file:
            for key, array in arrays.items():
                if array is not None:
                    file.create_dataset(key, data=array, compression="gzip")
        return folder / "3dshapes.h5"

    return write


def test_shapes3d_images_get_their_channels_first(rooms):
    dataset = Shapes3DFile(str(rooms())).load()
    assert dataset.shape == (3, 64, 64)
    assert np.array_equal(pixels(dataset), noise(24, 64, 64, 3).transpose(0, 3, 1, 2))


def test_shapes3d_that_are_not_right_are_refused(rooms, monkeypatch):
    def why(**changed):
        return refused(Shapes3DFile(str(rooms(**changed))), "3dshapes.h5")

    assert "has no array 'images'; it has labels" in why(images=None)
    assert "has no array 'labels'; it has images" in why(labels=None)
    assert "'images' is (12, 64, 64, 3), not (24, 64, 64, 3)" in why(images=noise(12, 64, 64, 3))
    assert "not in the order" in why(labels=np.roll(grid(2, 1, 2, 3, 1, 2), 1, axis=0))
    path = rooms()
    monkeypatch.setattr(Shapes3DFile, "checksum", sha256(path.read_bytes()))
    flip(path)
    refused(Shapes3DFile(str(path)), path, "sha256")
    monkeypatch.setattr(Shapes3DFile, "checksum", "")
    cut(path)
    refused(Shapes3DFile(str(path)), path)


# MPI3D


@pytest.fixture
def arms(folder, monkeypatch):
    monkeypatch.setattr(MPI3D, "factors", {"toy": small(2, 3, 2), "complex": small(1, 3, 2)})
    monkeypatch.setattr(MPI3D, "checksums", {})

    def write(save=np.savez, name="mpi3d_toy.npz", key="images", images=None):
        save(folder / name, **{key: noise(12, 64, 64, 3) if images is None else images})
        return folder / name

    return write


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_mpi3d_is_mapped_or_unpacked(arms, save, tmp_path):
    path = arms(save)
    dataset = MPI3D(path=str(path)).load()
    assert dataset.sizes == (2, 3, 2)
    assert np.array_equal(pixels(dataset), noise(12, 64, 64, 3).transpose(0, 3, 1, 2))
    unpacked = list((tmp_path / "cache").rglob("*.npy"))
    assert len(unpacked) == (save is np.savez_compressed)


def test_mpi3d_variants_have_their_files_and_sizes(arms, folder):
    arms(name="real3d_complicated_shapes_ordered.npz", images=noise(6, 64, 64, 3))
    assert len(MPI3D(variant="complex", path=str(folder)).load()) == 6
    with pytest.raises((ValueError, TypeError), match="'fake'"):  # the latter from the type checks
        MPI3D(variant="fake")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_mpi3d_that_is_not_right_is_refused(arms, save, monkeypatch):
    def why(**changed):
        return refused(MPI3D(path=str(arms(save, **changed))), "mpi3d_toy.npz")

    assert "has no array 'images'; it has pictures" in why(key="pictures")
    assert "is (6, 64, 64, 3), not (12, 64, 64, 3)" in why(images=noise(6, 64, 64, 3))
    assert "is int64, not uint8" in why(images=np.zeros((12, 64, 64, 3), np.int64))
    assert "element order" in why(images=np.asfortranarray(noise(12, 64, 64, 3)))
    path = arms(save)
    monkeypatch.setattr(MPI3D, "checksums", {"toy": sha256(path.read_bytes())})
    flip(path)
    refused(None, path, "sha256", load=lambda: check(MPI3D(path=str(path))))
    cut(path)
    refused(MPI3D(path=str(path)), path)


def test_a_changed_byte_in_a_compressed_array_is_found_without_a_checksum(arms):
    path = arms(np.savez_compressed)
    flip(path)
    refused(MPI3D(path=str(path)), path)


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


# Faces


@pytest.fixture
def faces(monkeypatch):
    monkeypatch.setattr(Faces, "factors", small(2, 3, 1, 2))


def save_face(folder, suffix, images):
    path = folder / f"faces{suffix}"
    if suffix == ".npz":
        np.savez(path, renders=images)
    elif suffix == ".npy":
        np.save(path, images)
    else:
        torch.save(torch.from_numpy(images), path)
    return path


@pytest.mark.parametrize("shape", [(12, 64, 64), (12, 1, 64, 64)])
@pytest.mark.parametrize("suffix", [".npz", ".npy", ".pth"])
@pytest.mark.usefixtures("faces")
def test_faces_are_read_from_any_array_file(folder, suffix, shape):
    dataset = Faces(str(save_face(folder, suffix, noise(*shape)))).load()
    assert dataset.sizes == (2, 3, 1, 2)
    assert np.array_equal(pixels(dataset), noise(12, 1, 64, 64))


@pytest.mark.parametrize("suffix", [".npz", ".npy", ".pth"])
@pytest.mark.usefixtures("faces")
def test_faces_that_are_not_right_are_refused(folder, suffix):
    path = save_face(folder, suffix, noise(11, 64, 64))
    refused(Faces(str(path)), path, "is (11, 64, 64), not (12, 64, 64)")
    path = save_face(folder, suffix, np.zeros((12, 64, 64), np.float32))
    refused(Faces(str(path)), path, "uint8")
    cut(path)
    refused(Faces(str(path)), path)


@pytest.mark.usefixtures("faces")
def test_faces_run_no_code(folder, tmp_path):
    class Evil:
        def __reduce__(self):
            return (open, (str(tmp_path / "ran"), "w"))

    path = folder / "basel_face_renders.pth"
    torch.save(Evil(), path)
    refused(Faces(str(folder)), path, "more than a tensor")
    torch.save([1, 2], path)
    refused(Faces(str(folder)), path, "holds a list")
    np.savez(folder / "faces.npz", a=noise(1), b=noise(1))
    refused(Faces(str(folder / "faces.npz")), "the number of its arrays is 2, not 1")
    (folder / "faces.mat").write_bytes(b"")
    refused(Faces(str(folder / "faces.mat")), "suffix must be .npz, .npy or .pth")
    assert not (tmp_path / "ran").exists()


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
    refused(config, car, "is float64, not uint8")
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
