"""Small data sets of every kind that is read, as files to be spoilt."""

from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from unittest.mock import patch

import h5py
import numpy as np
import polars
import scipy.io
import torch
from PIL import Image

from sample_files import grid, noise, small
from unpick.data import Perturbed, own_data
from unpick.data.cars3d import Cars3D
from unpick.data.celeba import CelebA
from unpick.data.dsprites import STEM, DSprites
from unpick.data.faces import Faces
from unpick.data.idx import FILES, MNIST
from unpick.data.shapes3d import Shapes3D
from unpick.data.smallnorb import BYTES, HALVES, INTEGERS, SmallNORB
from unpick.data.twins import save_twin


@dataclass(frozen=True)
class Sample:
    """A data set in files.

    Attributes:
        load: Loads it.
        files: Those that are spoilt, by a pattern below the working folder.
        summed: Whether a checksum tells that they changed.
        before: Whether it is loaded once before it is spoilt.
    """

    load: Callable[[], object]
    files: str
    summed: bool = False
    before: bool = False


def own(name, write, **options):
    def make(place):
        write(place / name)
        return Sample(lambda: own_data(place / name, **options).load(), f"{name}*")

    return make


def table(path):
    rows = [f"{a},{b},{'xyz'[k % 3]}" for k, (a, b, _) in enumerate(array().tolist())]
    path.write_text("\n".join(["a,b,sort", *rows]))


def images(path, suffix):
    path.mkdir()
    for k, pixels in enumerate(noise(12, 9, 8, 3)):
        Image.fromarray(pixels).save(path / f"{k}{suffix}")


def array(rows=20):
    return np.random.default_rng(0).random((rows, 3))


OWN = {
    "npy": own("x.npy", lambda p: np.save(p, array())),
    "npz": own("x.npz", lambda p: np.savez_compressed(p, x=array(), factors=grid(4, 5))),
    "npz, stored": own("x.npz", lambda p: np.savez(p, x=noise(20, 8, 8), factors=grid(4, 5))),
    "csv": own("x.csv", table, factors="sort"),
    "parquet": own(
        "x.parquet",
        lambda p: polars.DataFrame({"a": array()[:, 0], "b": range(20)}).write_parquet(p),
    ),
    **{
        f"folder of {end}": own("x", lambda p, end=end: images(p, end))
        for end in (".png", ".jpg", ".webp", ".tif", ".bmp")
    },
}


def idx(place):
    for k, name in enumerate(FILES):
        content = noise(12, 28, 28) if k % 2 == 0 else noise(12, top=10)
        sizes = np.array(content.shape, ">u4").tobytes()
        (place / name).write_bytes(bytes([0, 0, 8, content.ndim]) + sizes + content.tobytes())
    return Sample(lambda: MNIST(str(place)).load(), "*ubyte")


def dsprites(suffix):
    def make(place):
        path, labels = place / f"{STEM}{suffix}", grid(1, 2, 1, 3, 2, 2)
        arrays = {"imgs": noise(24, 64, 64, top=2), "latents_classes": labels}
        arrays["latents_values"] = labels / 7.0
        if suffix == ".npz":
            np.savez_compressed(path, **arrays)
        else:
            with h5py.File(path, "w") as file:
                for key, value in arrays.items():
                    file.create_dataset(key.replace("latents_", "latents/"), data=value)
        return Sample(lambda: DSprites(str(place)).load(), f"{STEM}*")

    return make


def smallnorb(place):
    for half in range(2):
        labels = grid(2, 1, 2, 2, 1)
        labels[:, 3] *= 2
        labels[:, 1] = half
        for what, values in (
            ("dat", noise(8, 2, 96, 96)),
            ("cat", labels[:, 0]),
            ("info", labels[:, 1:]),
        ):
            sizes = values.shape + (1,) * (3 - values.ndim)
            magic = BYTES if what == "dat" else INTEGERS
            header = np.array([magic, values.ndim, *sizes], "<i4").tobytes()
            body = values if what == "dat" else values.astype("<i4")
            (place / f"{HALVES[half]}-{what}.mat").write_bytes(header + body.tobytes())
    return Sample(lambda: SmallNORB(str(place)).load(), "*.mat")


def cars(place):
    (place / "list.txt").write_text("a\nb\n")
    for name in "ab":
        scipy.io.savemat(
            place / f"{name}.mat", {"im": noise(128, 128, 3, 2, 1)}, do_compression=True
        )
    return Sample(lambda: Cars3D(str(place)).load(), "[abl]*")


def faces(suffix):
    def make(place):
        path, pixels = place / f"faces{suffix}", noise(6, 64, 64)
        match suffix:
            case ".npy":
                np.save(path, pixels)
            case ".npz":
                np.savez(path, pixels)
            case _:
                path = place / "basel_face_renders.pth"
                torch.save(torch.from_numpy(pixels), path)
        return Sample(lambda: Faces(str(place)).load(), path.name)

    return make


def celeba(place):
    for k in range(1, 4):
        Image.fromarray(noise(218, 178, 3)).save(place / f"{k:06d}.jpg")
    return Sample(lambda: CelebA(path=str(place)).load(), "*.jpg")


def read_before(make):
    """A file that was read before has a recorded checksum, published or not."""

    def made(place):
        sample = make(place)
        return Sample(sample.load, sample.files, True, True)

    return made


def cached(make, files="../cache/**/*.npy"):
    def made(place):
        return Sample(make(place).load, files, True, True)

    return made


def kept_config(place):
    """The run knows the sha256 of the file, and the cache is gone."""
    table(place / "x.csv")
    config = own_data(place / "x.csv", factors="sort")
    return Sample(config.load, "x.csv", True)


def own_cache(place):
    table(place / "x.csv")
    config = own_data(place / "x.csv", factors="sort")
    return Sample(config.load, "../cache/own/x-*", True, True)


def twin(files, summed):
    def make(place):
        config = Perturbed(Shapes3D(8), "recipe", str(place / "twin"))
        level = torch.arange(480_000) % 4
        save_twin(config, 0.1, torch.rand(4, 3, 8, 8).mul(0.1), level)
        return Sample(config.load, f"twin/{files}", summed)

    return make


PARSED = {
    "idx": idx,
    "dsprites npz": dsprites(".npz"),
    "dsprites hdf5": dsprites(".hdf5"),
    "smallnorb": smallnorb,
    "cars3d": cars,
    "faces npy": faces(".npy"),
    "faces npz": faces(".npz"),
    "faces pth": faces(".pth"),
    "celeba": celeba,
}
KINDS = {
    **OWN,
    **PARSED,
    **{f"{kind}, read before": read_before(PARSED[kind]) for kind in list(PARSED)[1:]},
    "dsprites, converted": cached(dsprites(".npz")),
    "rendered": cached(lambda place: Sample(Shapes3D(8).load, "")),
    "own, of a stored run": kept_config,
    "own, cached": own_cache,
    "twin": twin("change.safetensors", True),
    "twin.json": twin("twin.json", False),
}


@contextmanager
def small_sets():
    """The public data sets with few images and without published checksums."""
    with ExitStack() as stack:
        for kind, name, value in (
            (MNIST, "checksums", ("",) * 4),
            (DSprites, "checksums", {}),
            (DSprites, "factors", small(2, 1, 3, 2, 2)),
            (SmallNORB, "checksums", ("",) * 6),
            (SmallNORB, "factors", small(2, 2, 2, 2, 1)),
            (Cars3D, "factors", small(1, 2, 2)),
            (Faces, "factors", small(2, 3)),
            (CelebA, "images", 3),
        ):
            stack.enter_context(patch.object(kind, name, value))
        stack.enter_context(patch("unpick.data.idx.COUNTS", (12, 12)))
        yield
