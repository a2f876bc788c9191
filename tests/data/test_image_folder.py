"""Folders of images."""

import os
import struct
import zlib

import numpy as np
import pytest
import torch
from PIL import Image

from unpick.data import from_folder, own_data


def save(path, size=(6, 5), mode="RGB", seed=0, **options):
    channels = {"L": (), "RGB": (3,), "RGBA": (4,)}[mode]
    pixels = np.random.default_rng(seed).integers(256, size=(size[1], size[0], *channels))
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels.astype(np.uint8)).save(path, **options)
    return pixels


def load(folder, **options):
    data = from_folder(folder, **options)
    return data, data.observe(torch.arange(len(data))).mul(255).round().numpy()


def test_images_come_sorted_with_sub_folders_as_a_factor(folder):
    names = [f"{side}/{k}.{kind}" for side in ("b", "a/c") for k, kind in enumerate(["png"] * 6)]
    wanted = {name: save(folder / name, seed=k) for k, name in enumerate(names)}
    (folder / "notes.txt").touch()
    save(folder / ".hidden" / "x.png", (1, 1))
    data, got = load(folder)
    assert data.shape == (3, 5, 6)
    assert [factor.name for factor in data.factors] == ["folder"]
    assert data.factors[0].categorical
    for k, name in enumerate(sorted(names)):
        assert np.array_equal(got[k], wanted[name].transpose(2, 0, 1)), name
        assert data.factor_values(torch.tensor([k])).item() == float(name.startswith("b"))
    config = own_data(folder)
    assert config.notes()["words"] == [["a/c", "b"]]
    assert "ignored 1 files that are no images" in config.notes()["remarks"]


@pytest.mark.parametrize("suffix", ["png", "bmp", "tif", "webp", "jpg", "JPEG"])
def test_formats(folder, suffix):
    lossless = {"lossless": True} if suffix == "webp" else {}
    pixels = [save(folder / f"{k:02}.{suffix}", (16, 16), "RGB", k, **lossless) for k in range(10)]
    data, got = load(folder)
    assert not data.factors
    if suffix.lower() in ("png", "bmp", "tif", "webp"):
        assert np.array_equal(got, np.stack(pixels).transpose(0, 3, 1, 2))


def test_one_channel_if_no_image_has_colours(folder):
    grey = [save(folder / f"{k}.png", (4, 4), "L", k) for k in range(10)]
    assert np.array_equal(load(folder)[1][:, 0], np.stack(grey))
    save(folder / "z.png", (4, 4), "RGB")
    data, got = load(folder)
    assert data.shape == (3, 4, 4)
    assert np.array_equal(got[0], np.stack([grey[0]] * 3))
    assert load(folder, grey=True)[0].shape == (1, 4, 4)


def test_size_resizes_images_of_any_size(folder):
    for k in range(10):
        Image.new("RGB", (5 + k, 20 - k), (10 * k, 0, 200)).save(folder / f"{k}.png")
    with pytest.raises(ValueError, match=r"/0\.png has 5 x 20 and .*/1\.png has 6 x 19 pixels"):
        load(folder)
    data, got = load(folder, size=8)
    assert data.shape == (3, 8, 8)
    assert (got[3] == np.array([30, 0, 200])[:, None, None]).all()


def test_sixteen_bits_transparency_and_orientation(folder):
    deep = np.arange(16, dtype=np.uint16).reshape(4, 4) * 257 * 3
    for k in range(10):
        Image.fromarray(deep).save(folder / f"{k}.png")
    assert np.array_equal(load(folder)[1][0, 0], np.arange(16).reshape(4, 4) * 3)
    clear = np.full((4, 4, 4), 200, np.uint8)
    clear[:2, :, 3] = 0
    clear[2:, :, 3] = 255
    Image.fromarray(clear).save(folder / "a.png")
    got = load(folder)[1][10]
    assert not got[:, :2].any()
    assert (got[:, 2:] == 200).all()
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter
    wide = Image.new("L", (8, 2))
    for k in range(10):
        (folder / "turned").mkdir(exist_ok=True)
        wide.save(folder / "turned" / f"{k}.png", exif=exif)
    assert load(folder / "turned")[0].shape == (1, 8, 2)


def huge_png(width, height):
    def chunk(name, content):
        check = struct.pack(">I", zlib.crc32(name + content))
        return struct.pack(">I", len(content)) + name + content + check

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize("side", [8001, 10_000, 60_000])
def test_huge_images_are_refused_before_they_are_decoded(folder, side):
    for k in range(10):
        save(folder / f"{k}.png")
    (folder / "huge.png").write_bytes(huge_png(side, side))
    with pytest.raises(ValueError, match=r"huge\.png must have at most 64 megapixels"):
        from_folder(folder, size=8)


@pytest.mark.parametrize(
    "content", [b"", b"no image", b"\x89PNG\r\n\x1a\n", b"GIF89a" + b"0" * 50]
)
def test_what_is_no_image_is_named(folder, content):
    for k in range(10):
        save(folder / f"{k}.png")
    (folder / "wrong.png").write_bytes(content)
    with pytest.raises(ValueError, match=r"wrong\.png is truncated or no file of its kind"):
        from_folder(folder)


def test_half_an_image_is_named_and_leaves_no_cache(folder, cache_folder):
    for k in range(11):
        save(folder / f"{k:02}.png", (64, 64), seed=k)
    half = folder / "05.png"
    half.write_bytes(half.read_bytes()[:3000])
    with pytest.raises(ValueError, match=r"05\.png is truncated"):
        from_folder(folder)
    assert not list(cache_folder.glob("own/*.*"))


def test_empty_folders_few_images_and_pages(folder):
    with pytest.raises(ValueError, match=r"holds no images: no file ends in \.png, \.jpg"):
        from_folder(folder)
    for k in range(9):
        save(folder / f"{k}.png")
    with pytest.raises(ValueError, match=r"at least 10 images, .* got 9"):
        from_folder(folder)
    frames = [Image.new("L", (6, 5), k) for k in range(3)]
    frames[0].save(folder / "pages.tif", save_all=True, append_images=frames[1:])
    with pytest.raises(ValueError, match=r"pages\.tif must hold one image, got 3 frames or pages"):
        from_folder(folder)
    Image.fromarray(np.zeros((5, 6), np.float32)).save(folder / "pages.tif")
    with pytest.raises(ValueError, match=r"pages\.tif must have pixels of 8 or 16 bits"):
        from_folder(folder)


def test_the_name_of_a_folder_follows_its_content(folder):
    for k in range(10):
        save(folder / f"{k}.png", seed=k)
    first = own_data(folder).sha256
    (folder / "notes.txt").touch()
    os.utime(folder / "0.png", (0, 0))
    assert own_data(folder).sha256 == first
    (folder / "0.png").rename(folder / "00.png")
    assert own_data(folder).sha256 != first


def test_links_to_the_same_files_under_other_names_are_other_data(folder):
    """The sum of a folder is remembered by the names in it, too: they are the labels."""
    for k in range(12):
        save(folder / "pool" / f"{k}.png", seed=k)
    found = []
    for version, sides in (("one", "ab"), ("two", "xy")):
        for k in range(12):
            link = folder / version / "train" / sides[k % 2] / f"{k}.png"
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(folder / "pool" / f"{k}.png")
        found.append(own_data(folder / version / "train"))
    assert found[0].sha256 != found[1].sha256
    assert [config.notes()["words"] for config in found] == [[["a", "b"]], [["x", "y"]]]


def test_links_that_are_not_followed_are_said(folder):
    for k in range(10):
        save(folder / "images" / f"{k}.png", seed=k)
    (folder / "images" / "more").symlink_to(folder / "images")
    (folder / "images" / "gone.png").symlink_to(folder / "nowhere.png")
    remarks = own_data(folder / "images").notes()["remarks"]
    assert "ignored 2 links that lead to folders or to nothing" in remarks
