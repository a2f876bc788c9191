"""A folder of images as observations."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageOps

from unpick.data.cache import with_progress
from unpick.data.contents import Contents, check_rows, number_labels
from unpick.data.dataset import DataDamaged
from unpick.data.files import report_damage

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff")
FORMATS = ("PNG", "JPEG", "BMP", "WEBP", "TIFF")
LARGEST = 64_000_000  # pixels; a larger image is refused before it is decoded
DENSEST = 200  # pixels a byte of the file, above which an image of more than FREE is a bomb
FREE = 4_000_000  # pixels
STRIP = 1_000_000  # pixels put on black at once
GREY = ("1", "L", "LA", "I;16", "I;16L", "I;16B")
COLOUR = ("P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr", "LAB", "HSV")
ROTATED = (5, 6, 7, 8)  # EXIF orientations that swap width and height
BLOCK = 64  # images decoded at once


@dataclass(frozen=True)
class Header:
    """What an image's header says: size as it is shown, and whether it has colours."""

    size: tuple[int, int]  # width, height
    grey: bool
    transparent: bool


def list_images(folder: Path) -> list[Path]:
    """All images in a folder and its sub-folders, sorted by relative path; none is an error."""
    files = [file for file in visible_files(folder) if file.suffix.lower() in SUFFIXES]
    if not files:
        raise ValueError(f"{folder} holds no images: no file ends in {', '.join(SUFFIXES)}")
    return files


def visible_files(folder: Path) -> list[Path]:
    """All files in a folder and its sub-folders that are not hidden, sorted by relative path."""
    found = {file.relative_to(folder): file for file in folder.rglob("*") if file.is_file()}
    shown = [path for path in found if not any(part.startswith(".") for part in path.parts)]
    return [found[path] for path in sorted(shown, key=lambda path: path.as_posix())]


def read_folder(folder: Path, size: int = 0, grey: bool = False) -> Contents:
    """Read the headers of all images; the images themselves are decoded block by block.

    Args:
        folder: Searched with its sub-folders. Two or more of them are a factor, "folder".
        size: Side to which images are resized, without regard to their proportions; 0 keeps the
            size, which must then be the same for all.
        grey: One channel. Otherwise there is one only if no image has colours, and else three.
    """
    files = list_images(folder)
    check_rows(str(folder), len(files), "images")
    headers = read_headers(files)
    odd = next((k for k, header in enumerate(headers) if header.size != headers[0].size), None)
    if odd is not None and not size:
        sizes = [f"{files[k]} has {_pixels(headers[k].size)}" for k in (0, odd)]
        raise ValueError(
            f"images differ in size: {' and '.join(sizes)} pixels; a size, such as "
            "--size 64, resizes them all"
        )
    width, height = (size, size) if size else headers[0].size
    channels = 1 if grey or all(header.grey for header in headers) else 3
    names = [file.parent.relative_to(folder).as_posix() for file in files]
    folders = sorted({*names} - {"."})
    labels = {"folder": np.array(names, dtype=object)} if len(folders) > 1 else {}
    remarks = [f"pixels are divided by 255; {'grey' if channels == 1 else 'three channels'}"]
    if size:
        before = "different sizes" if odd is not None else _pixels(headers[0].size)
        remarks.append(f"resized to {_pixels((size, size))} pixels from {before}")
    if labels:
        remarks.append(f"the {len(folders)} sub-folders are the factor 'folder'")
    if any(header.transparent for header in headers):
        remarks.append("transparent pixels are shown on black")
    if others := len(visible_files(folder)) - len(files):
        remarks.append(f"ignored {others} files that are no images")
    if links := sum(file.is_symlink() and not file.is_file() for file in folder.rglob("*")):
        remarks.append(f"ignored {links} links that lead to folders or to nothing")
    return Contents(
        "a folder of images",
        (len(files), channels, height, width),
        "uint8",
        decode_all(files, channels, size),
        number_labels(str(folder), labels),
        tuple(remarks),
    )


def read_headers(files: Sequence[Path]) -> list[Header]:
    """The headers of all images; one that cannot be read as an image of 8 or 16 bits raises."""
    title = "looking at images"
    return [
        read_header(file)
        for (file,) in with_progress(title, ([file] for file in files), len(files))
    ]


def read_header(file: Path) -> Header:
    """The header of one image."""
    try:
        with report_damage(file), _opened(file) as image:
            if image.width * image.height > LARGEST:
                raise Image.DecompressionBombError
            size, mode = image.size, image.mode
            if size[0] * size[1] > max(FREE, DENSEST * file.stat().st_size):
                raise DataDamaged(
                    f"{file} has {_pixels(size)} pixels in {file.stat().st_size} bytes, which no "
                    "picture has"
                )
            rotated = _orientation(image) in ROTATED
            photo = image.format in ("JPEG", "MPO")  # telephones add previews as frames
            pages = 1 if photo else getattr(image, "n_frames", 1)
            transparent = _is_transparent(image)
    except DataDamaged as error:
        if isinstance(error.__cause__, Image.DecompressionBombError):
            most = LARGEST // 10**6
            raise ValueError(f"{file} must have at most {most} megapixels; it has more") from None
        raise
    if pages > 1:
        raise ValueError(f"{file} must hold one image, got {pages} frames or pages")
    if mode not in (*GREY, *COLOUR):
        raise ValueError(f"{file} must have pixels of 8 or 16 bits, got mode {mode!r} of Pillow")
    return Header(size[::-1] if rotated else size, mode in GREY, transparent)


@contextmanager
def _opened(file: Path) -> Iterator[Image.Image]:
    """An image of the formats that we read, whatever its name ends in."""
    with warnings.catch_warnings():
        # Of bombs, which are refused by their size, and of odd metadata, which are not read.
        warnings.simplefilter("ignore")
        with Image.open(file, formats=FORMATS) as image:
            yield image


def decode_all(
    files: Sequence[Path], channels: int, size: int
) -> Iterator[UInt8[np.ndarray, "rows c h w"]]:
    """The pixels of all images, in blocks."""
    for start in range(0, len(files), BLOCK):
        yield np.stack([decode(file, channels, size) for file in files[start : start + BLOCK]])


def decode(file: Path, channels: int, size: int) -> UInt8[np.ndarray, "c h w"]:
    """The pixels of one image: upright, on black where it is transparent, perhaps resized."""
    with report_damage(file), _opened(file) as opened:
        image: Image.Image = opened
        if _orientation(opened) > 1:
            image = ImageOps.exif_transpose(opened)
        if image.mode.startswith("I;16"):
            image = Image.fromarray((np.asarray(image) / 257).round().astype(np.uint8))
        if _is_transparent(image):
            image = _on_black(image)
        image = image.convert("L" if channels == 1 else "RGB")
        if size:
            image = image.resize((size, size), Image.Resampling.LANCZOS)
        return np.asarray(image).reshape(image.height, image.width, channels).transpose(2, 0, 1)


def _orientation(image: Image.Image) -> int:
    """How EXIF says that the image is turned; Pillow would decode a PNG to search its end."""
    if image.format == "PNG" and "exif" not in image.info:
        return 1
    return int(image.getexif().get(0x0112, 1))


def _on_black(image: Image.Image) -> Image.Image:
    """A transparent image on black, a strip at a time: whole copies would take much memory."""
    image = image.convert("RGBA")
    shown = Image.new("RGB", image.size)
    height = max(1, STRIP // image.width)
    for top in range(0, image.height, height):
        strip = image.crop((0, top, image.width, min(top + height, image.height)))
        black = Image.new("RGBA", strip.size, (0, 0, 0, 255))
        shown.paste(Image.alpha_composite(black, strip).convert("RGB"), (0, top))
    return shown


def _is_transparent(image: Image.Image) -> bool:
    return image.mode in ("LA", "PA", "RGBA") or "transparency" in image.info


def _pixels(size: tuple[int, int]) -> str:
    return f"{size[0]} x {size[1]}"
