"""dSprites on small files of its two formats: read, or refused in one sentence."""

import h5py
import numpy as np
import pytest
import torch

from sample_files import cut, flip, grid, noise, refused, sha256, small
from unpick.data import DataMissing
from unpick.data.cars3d import Cars3D
from unpick.data.celeba import CelebA
from unpick.data.dsprites import STEM, DSprites
from unpick.data.faces import Faces
from unpick.data.files import DataFile, check
from unpick.data.idx import MNIST, FashionMNIST
from unpick.data.mpi3d import MPI3D
from unpick.data.shapes3d_file import Shapes3DFile
from unpick.data.smallnorb import SmallNORB

pytestmark = pytest.mark.usefixtures("folder")

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
    assert "is (12, 6), not (24, 6)" in why(latents_values=grid(1, 1, 1, 3, 2, 2))
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
    monkeypatch.setattr(DSprites, "checksums", {".npz": "published anew"})
    images = config.load().observe(torch.arange(24)).numpy()
    assert np.array_equal(images[:, 0], 1 - noise(24, 64, 64, top=2))
    assert len(read) == 2


def test_a_file_without_a_published_checksum_must_stay_as_it_was_first_read(sprites, tmp_path):
    config = DSprites(str(sprites()))
    assert check(config).startswith("dsprites is as it was when first read here: 24 images")
    sprites(imgs=1 - noise(24, 64, 64, top=2))
    for use in (config.load, lambda: check(config)):
        told = refused(None, STEM, "changed since it was first read here", load=use)
    (record,) = (tmp_path / "cache" / "first-read").iterdir()
    assert f"delete {record}" in told
    record.unlink()
    assert np.array_equal(
        config.load().observe(torch.arange(24))[:, 0].numpy(), 1 - noise(24, 64, 64, top=2)
    )
    sprites()
    refused(config, STEM, "changed since")  # the second is what counts now


def test_a_damaged_array_is_found_whatever_the_files_say(sprites, tmp_path, monkeypatch):
    path = sprites()
    monkeypatch.setattr(DSprites, "checksums", {".npz": sha256(path.read_bytes())})
    config = DSprites(str(path))
    whole = check(config)
    assert whole.endswith("(1 of 1 files by checksum, and the array made of them)")
    (array,) = (tmp_path / "cache").rglob("converted*.npy")
    flip(array)
    refused(config, array, "is not what was written", "delete both")
    refused(None, array, "is not what was written", load=lambda: check(config))
    array.unlink()
    assert check(config) == whole


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
