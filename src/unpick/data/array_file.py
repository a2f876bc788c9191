"""An array in a .npy or .npz file as observations."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from unpick.data.cache import Block
from unpick.data.containers import npz_member
from unpick.data.contents import Contents, check_rows, number_labels, to_float32
from unpick.data.dataset import DataDamaged

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
    if path.suffix.lower() == ".npy":
        return describe_array(path, open_npy(path), {})
    with path.open("rb") as file, refused(path), np.load(file, allow_pickle=False) as opened:
        if not isinstance(opened, np.lib.npyio.NpzFile):
            raise ValueError("it holds a single array, as .npy files do")
        names = opened.files
        key = key or ("x" if "x" in names else names[0] if len(names) == 1 else "")
        factors = factors or (("factors",) if "factors" in names and key != "factors" else ())
        wanted = [name for name in (key, *factors) if name in names]
        for name in wanted:
            with npz_member(path, name):
                pass  # it raises if the announced sizes cannot be right
        arrays = {name: np.asarray(opened[name]) for name in wanted}
    has = f"{path} has the arrays {', '.join(names) or 'none'}"
    if not key:
        raise ValueError(f"{has}: name the observations with key")
    if missing := [name for name in (key, *factors) if name not in arrays]:
        raise ValueError(f"{has}, and not {', '.join(missing)}")
    observations = arrays.pop(key)
    if key in factors:
        raise ValueError(f"array {key!r} of {path} must not be both key and factor")
    return describe_array(path, observations, arrays)


def open_npy(path: Path) -> np.ndarray:
    """The array in a .npy file, memory-mapped; pickled objects are never read."""
    with refused(path):
        return npy.open_memmap(path, mode="r")


@contextmanager
def refused(path: Path) -> Iterator[None]:
    """Turn what numpy raises about a file into one sentence that names it."""
    try:
        yield
    except DataDamaged:
        raise
    except Exception as error:  # parsers raise a dozen types
        if any(word in str(error).lower() for word in ("pickle", "object")):
            raise ValueError(
                f"{path} holds no plain numbers; pickled objects can run code and are never read"
            ) from None
        raise ValueError(f"{path} cannot be read as a {path.suffix} file: {error}") from error


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
        stem = "factor" if name == "factors" else name
        several = {f"{stem} {k}": column for k, column in enumerate(values.T)}
        own = {name: values} if values.ndim == 1 else several
        if twice := own.keys() & columns.keys():
            raise ValueError(f"two factors of {source} are called {min(twice)!r}; rename an array")
        columns |= own
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
