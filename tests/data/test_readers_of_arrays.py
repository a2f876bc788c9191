"""3D Shapes, MPI3D and Faces on small array files: read, or refused in one sentence."""

import h5py
import numpy as np
import pytest
import torch

from sample_files import cut, flip, grid, noise, pixels, refused, sha256, small
from unpick.data.faces import Faces
from unpick.data.files import check
from unpick.data.mpi3d import MPI3D
from unpick.data.shapes3d_file import Shapes3DFile

pytestmark = pytest.mark.usefixtures("folder")

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
