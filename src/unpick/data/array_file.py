"""An array in a .npy or .npz file as observations."""

import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from unpick.data.cache import Block
from unpick.data.contents import Contents, check_rows, number_labels, to_float32

BLOCK = 2**24  # numbers converted at once
CHANNELS = (1, 3, 4)  # that an image may have


def read_array(path: Path, key: str = "", factors: tuple[str, ...] = ()) -> Contents:
    """Read observations (n, ...), and factors that lie beside them in an npz.

    Args:
        path: A .npy or .npz file.
        key: Name of the observations in an npz; by default "x", or its only array.
        factors: Names of the arrays in an npz that are factors, of shape (n,) or (n, k); by
            default "factors" if there is one.
    """
    loaded = load_numpy(path)
    if isinstance(loaded, np.ndarray):
        return describe_array(path, loaded, {})
    with loaded:
        names = list(loaded.files)
        has = f"{path} has the arrays {', '.join(names) or 'none'}"
        key = key or ("x" if "x" in names else names[0] if len(names) == 1 else "")
        if not key:
            raise ValueError(f"{has}: name the observations with key")
        factors = factors or (("factors",) if "factors" in names and key != "factors" else ())
        if missing := [name for name in (key, *factors) if name not in names]:
            raise ValueError(f"{has}, and not {', '.join(missing)}")
        arrays = {name: load_member(path, loaded, name) for name in (key, *factors)}
    observations = arrays.pop(key)
    return describe_array(path, observations, arrays)


def load_numpy(path: Path) -> "np.ndarray | np.lib.npyio.NpzFile":
    """Open the file, an array memory-mapped; pickled objects are never read."""
    try:
        loaded = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        if "pickle" in str(error) or "Object arrays" in str(error):
            raise _pickled(str(path)) from None
        raise ValueError(f"{path} cannot be read as a {path.suffix} file: {error}") from error
    if isinstance(loaded, np.ndarray | np.lib.npyio.NpzFile):
        return loaded
    raise ValueError(f"{path} cannot be read as a {path.suffix} file")


def load_member(path: Path, opened: np.lib.npyio.NpzFile, name: str) -> np.ndarray:
    """One array of an npz."""
    try:
        array = opened[name]
    except (ValueError, EOFError, zipfile.BadZipFile, OSError) as error:
        if "Object arrays" in str(error):
            raise _pickled(f"array {name!r} of {path}") from None
        raise ValueError(f"array {name!r} of {path} cannot be read: {error}") from error
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{name!r} in {path} is no array")
    return array


def describe_array(path: Path, array: np.ndarray, factors: dict[str, np.ndarray]) -> Contents:
    """Check an array and the factors beside it, and put images into the order that we use."""
    source = str(path)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{source} must hold real numbers, got type {array.dtype}")
    if array.ndim < 2 or 0 in array.shape:
        raise ValueError(f"{source} must have shape (n, ...), got shape {array.shape}")
    check_rows(source, len(array), "rows")
    array, remarks = channels_first(array)
    columns: dict[str, np.ndarray] = {}
    for name, values in factors.items():
        if values.ndim not in (1, 2) or len(values) != len(array):
            raise ValueError(
                f"array {name!r} of {source} must have shape ({len(array)},) or "
                f"({len(array)}, k), one row an observation, got {values.shape}"
            )
        if values.ndim == 1:
            columns[name] = values
        else:
            stem = "factor" if name == "factors" else name
            columns |= {f"{stem} {k}": column for k, column in enumerate(values.T)}
    pixels = array.dtype in (np.uint8, np.bool_)
    binary = pixels and array.max() <= 1
    scaled = (
        "pixels are divided by 255" if pixels and not binary else "values are used as they are"
    )
    return Contents(
        "an array",
        array.shape,
        "uint8" if pixels else "float32",
        blocks_of(source, array, 255 if binary else 1) if pixels else blocks_of(source, array),
        number_labels(source, columns),
        (*remarks, scaled),
    )


def channels_first(array: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    """Images as (n, channels, height, width), and what was done to have them so.

    Example:
        >>> channels_first(np.zeros((5, 32, 32, 3)))[0].shape
        (5, 3, 32, 32)
        >>> channels_first(np.zeros((5, 28, 28)))[0].shape
        (5, 1, 28, 28)
    """
    if array.ndim == 4 and array.shape[3] in CHANNELS and array.shape[1] not in CHANNELS:
        return array.transpose(0, 3, 1, 2), ("its last axis is the channels of images",)
    if array.ndim == 3 and array.shape[1] == array.shape[2]:
        return array[:, None], ("its last two axes are those of grey images",)
    return array, ()


def blocks_of(source: str, array: np.ndarray, factor: int = 0) -> Iterator[Block]:
    """Consecutive rows as float32, or as uint8 times `factor` if that is not 0."""
    rows = max(1, BLOCK // int(np.prod(array.shape[1:])))
    for start in range(0, len(array), rows):
        block = array[start : start + rows]
        if factor:
            yield np.ascontiguousarray(block).astype(np.uint8) * np.uint8(factor)
        else:
            yield to_float32(source, np.asarray(block), start)


def _pickled(what: str) -> ValueError:
    return ValueError(
        f"{what} is pickled, which can run code and is never read: save plain numbers of one shape"
    )
