"""Small files that announce or expand to much are refused before anything is read or cached."""

import os
import struct
import zipfile
import zlib

import numpy as np
import polars
import pytest
import torch
from PIL import Image

from sample_files import noise, refused, small
from unpick.data import ArrayStore, own_data
from unpick.data.celeba import CelebA
from unpick.data.faces import Faces
from unpick.data.image_folder import decode, read_header


@pytest.fixture
def nothing_cached(cache_folder):
    yield
    assert not list(cache_folder.rglob("*.npy"))


def zeros_npz(path, size, shape):
    """An npz of zeros, made without having them in memory."""
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (117 - len(header)) + b"\n"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("x.npy", "w", force_zip64=True) as member,
    ):
        member.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        for _ in range(size // 2**22):
            member.write(bytes(2**22))
    return path


def test_an_npz_that_expands_a_thousandfold_is_refused(folder, nothing_cached, monkeypatch):
    monkeypatch.setattr("unpick.data.containers.FLOOR", 2**10)
    path = zeros_npz(folder / "x.npz", 2**24, (2**14, 2**10))
    refused(own_data(path), path, "expands to 17 MB, more than 400 times")


@pytest.mark.parametrize("shape", [(2**13, 2**10), (2**20, 2**30), (-1, -(2**24))])
def test_an_npz_that_announces_another_size_is_refused(folder, nothing_cached, shape):
    path = zeros_npz(folder / "x.npz", 2**24, shape)
    refused(own_data(path), path, "'x'")


def test_a_stored_npz_is_compared_with_its_own_checksum(folder, monkeypatch):
    monkeypatch.setattr(Faces, "factors", small(2, 2))
    np.savez(folder / "faces.npz", noise(4, 64, 64))
    content = bytearray((folder / "faces.npz").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "faces.npz").write_bytes(content)
    refused(Faces(str(folder)), "Bad CRC-32")


def png(path, width, height, colour_type=0, depth=1):
    """A black PNG that takes a thousandth of its pixels on disk."""

    def chunk(kind, content):
        whole = kind + content
        return struct.pack(">I", len(content)) + whole + struct.pack(">I", zlib.crc32(whole))

    row = b"\0" + bytes(width * depth // 8)
    packed = zlib.compress(row * height, 9)
    header = struct.pack(">IIBBBBB", width, height, depth, colour_type, 0, 0, 0)
    parts = [chunk(b"IHDR", header), chunk(b"IDAT", packed), chunk(b"IEND", b"")]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))
    return path


def test_a_picture_of_more_pixels_than_bytes_allow_is_refused(folder):
    path = png(folder / "a.png", 8000, 4000)
    assert path.stat().st_size < 20_000
    refused(None, path, "has 8000 x 4000 pixels in", load=lambda: read_header(path))
    assert read_header(png(folder / "b.png", 2000, 1000)).size == (2000, 1000)


def test_transparent_pictures_are_put_on_black_strip_by_strip(folder, rng, monkeypatch):
    pixels = rng.integers(0, 256, (37, 10, 4), np.uint8)
    Image.fromarray(pixels).save(folder / "a.png")
    at_once = [decode(folder / "a.png", channels, 0) for channels in (1, 3)]
    monkeypatch.setattr("unpick.data.image_folder.STRIP", 50)
    for whole, channels in zip(at_once, (1, 3), strict=True):
        assert np.array_equal(decode(folder / "a.png", channels, 0), whole)
    shown = np.rint(pixels[..., :3] * (pixels[..., 3:] / 255.0))
    assert np.abs(at_once[1].transpose(1, 2, 0) - shown).max() <= 1


@pytest.mark.parametrize("kind", ["GIF", "EPS"])
def test_only_jpeg_is_taken_for_a_photograph(folder, kind, monkeypatch):
    monkeypatch.setattr(CelebA, "images", 1)
    Image.new("RGB", (178, 218)).save(folder / "000001.jpg", kind)
    refused(CelebA(path=str(folder)), "000001.jpg", "cannot identify image file")


def test_a_table_of_one_number_a_billion_times_is_refused(folder, nothing_cached, monkeypatch):
    monkeypatch.setattr("unpick.data.table.FLOOR", 2**10)
    polars.DataFrame({"a": polars.zeros(10**6, eager=True)}).write_parquet(folder / "x.parquet")
    refused(own_data(folder / "x.parquet"), "expands to 1000000 rows of 1 columns")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
@pytest.mark.parametrize("name", ["x.csv", "x.npy", "x.parquet"])
def test_a_pipe_is_refused_and_not_waited_for(folder, name):
    os.mkfifo(folder / name)
    with pytest.raises(ValueError, match="is a device or a pipe"):
        own_data(folder / name)


@pytest.mark.parametrize("kind", [torch.tensor, np.array])
def test_a_store_divides_pixels_only(kind):
    few = torch.tensor([1])
    rows = [[0.0, 1.0], [51.0, 255.0]]
    taken = ArrayStore(kind(rows)).read(few)
    assert taken.dtype == torch.float32
    assert taken.tolist() == [[51.0, 255.0]]
    uint8 = torch.uint8 if kind is torch.tensor else np.uint8
    divided = ArrayStore(kind(rows, dtype=uint8)).read(few)
    assert divided.tolist() == [[pytest.approx(0.2), 1.0]]
    with pytest.raises(ValueError, match="uint8 pixels or floating-point numbers, got int64"):
        ArrayStore(kind([[0, 1], [51, 255]]))
