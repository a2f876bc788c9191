"""The folder of downloaded and rendered data, and arrays that are cached there."""

import os
import secrets
import time
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal, TypeVar

import numpy as np
from jaxtyping import Float32, UInt8
from numpy.lib import format as npy
from platformdirs import user_cache_dir
from rich.console import Console
from rich.progress import Progress

from unpick.data.dataset import DataDamaged

PROGRESS_DELAY = 1.0  # seconds of work before a progress bar appears
STALE = 3600.0  # seconds after which an unfinished file counts as abandoned


def data_folder() -> Path:
    """Folder of downloaded and rendered data: $UNPICK_DATA, or else the user's cache folder."""
    return Path(os.environ.get("UNPICK_DATA") or user_cache_dir("unpick"))


Block = UInt8[np.ndarray, "rows ..."] | Float32[np.ndarray, "rows ..."]
S = TypeVar("S", bound=Sized)


def cached_array(
    name: str,
    shape: tuple[int, ...],
    blocks: Iterable[Block],
    dtype: Literal["uint8", "float32"] = "uint8",
) -> Block:
    """An array that is computed once and then memory-mapped from disk, read-only.

    Args:
        name: The file's name in `data_folder()`, without its suffix. It must contain everything
            that decides the content, such as the version of the renderer: an existing file of the
            right shape is used without further checks.
        shape: The shape of the whole array.
        blocks: Consecutive rows of the array; consumed only if there is no file yet.
        dtype: Type of the numbers; a block of another type is an error.
    """
    path = data_folder() / f"{name}.npy"
    if not path.exists():
        with atomic_write(path) as file:
            descr = npy.dtype_to_descr(np.dtype(dtype))
            header = {"descr": descr, "fortran_order": False, "shape": shape}
            npy.write_array_header_1_0(file, header)
            rows = 0
            for block in with_progress(f"making {name}", blocks, shape[0]):
                if block.shape[1:] != shape[1:] or block.dtype != dtype:
                    got = f"{block.dtype} {block.shape}"
                    raise ValueError(f"{name}: a block of {got} in {dtype} {shape}")
                file.write(np.ascontiguousarray(block).data)
                rows += len(block)
            if rows != shape[0]:
                raise ValueError(f"{name}: the blocks have {rows} rows, not {shape[0]}")
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise DataDamaged(f"{path} is no whole array; delete it to have it made again") from error
    if array.shape != shape or array.dtype != dtype:
        raise DataDamaged(
            f"{path} holds {array.dtype} {array.shape}, not {dtype} {shape}; "
            "delete it to have it made again"
        )
    return array


@contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that gets its name only once it is complete.

    It is written under a temporary name and then renamed, so a reader never sees half of it. If
    two processes write the same file at once, the later one replaces the earlier.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    for left in path.parent.glob(f"{path.name}.*.part"):  # left by a process that was killed
        if time.time() - left.stat().st_mtime > STALE:
            left.unlink(missing_ok=True)
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def with_progress(title: str, blocks: Iterable[S], total: int) -> Iterator[S]:
    """The same blocks, with a progress bar on stderr if they take longer than a second."""
    due = time.monotonic() + PROGRESS_DELAY
    progress = Progress(console=Console(stderr=True), auto_refresh=False)
    task = progress.add_task(title, total=total)
    try:
        for block in blocks:
            yield block
            progress.update(task, advance=len(block))
            if time.monotonic() > due:
                progress.start()  # does nothing the second time
                progress.refresh()
                due = time.monotonic() + 0.1  # blocks may be as small as one file
    finally:
        if progress.live.is_started:  # else it would print an empty line
            progress.refresh()
            progress.stop()
