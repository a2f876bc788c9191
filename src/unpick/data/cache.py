"""The folder of downloaded and rendered data, and arrays that are cached there.

Beside every cached file lies its sha256, NAME.sha256, in the format of `sha256sum`. It is compared
once a process, before the file is used.
"""

import contextlib
import hashlib
import math
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float32, UInt8
from numpy.lib import format as npy
from platformdirs import user_cache_dir
from rich.console import Console
from rich.progress import Progress

from unpick.data.dataset import DataDamaged

PROGRESS_DELAY = 1.0  # seconds of work before a progress bar appears
STALE = 3600.0  # seconds after which an unfinished file counts as abandoned
LARGE = 2**30  # bytes; the sha256 of a larger file is taken again only if the file has changed


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
            that decides the content, such as the version of the renderer: an existing file is
            used if it has the right shape and sha256.
        shape: The shape of the whole array.
        blocks: Consecutive rows of the array; consumed only if there is no file yet.
        dtype: Type of the numbers; a block of another type is an error.
    """
    path = data_folder() / f"{name}.npy"
    if not path.is_file():
        require_space(path, math.prod(shape) * np.dtype(dtype).itemsize)
        with summed_write(path) as file:
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
    return open_array(path, shape, dtype)


def open_array(path: Path, shape: tuple[int, ...], dtype: str) -> Block:
    """Memory-map a cached array; raises unless its shape, type and sha256 are right."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # of a damaged header numpy raises several types
        raise DataDamaged(f"{path} is no whole array; delete it to have it made again") from error
    if array.shape != shape or array.dtype != dtype:
        raise DataDamaged(
            f"{path} holds {array.dtype} {array.shape}, not {dtype} {shape}; "
            "delete it to have it made again"
        )
    check_sum(path)
    return array


class SummedFile:
    """A file that is written and hashed at once."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.sha256 = file, hashlib.sha256()

    def write(self, content: bytes | memoryview) -> int:
        """Write and hash."""
        self.sha256.update(content)
        return self.file.write(content)


@contextmanager
def summed_write(path: Path) -> Iterator[SummedFile]:
    """`atomic_write`, with the sha256 beside the file; that is written first, the file last."""
    with atomic_write(path) as file:
        summed = SummedFile(file)
        yield summed
        _write_sum(path, summed.sha256.hexdigest())
    _hashed()[_state(path)] = summed.sha256.hexdigest()


def check_sum(path: Path) -> None:
    """Raise unless a cached file has the sha256 that lies beside it.

    A file of an earlier version of unpick has none; its sha256 is written now.
    """
    got, beside = sha256_of(path), _sum_file(path)
    if beside.is_file():
        with beside.open("rb") as file:
            wanted = ascii(file.read(64).decode(errors="replace")).strip("'")
        if got != wanted:
            raise DataDamaged(
                f"{path} is not what was written: its sha256 is {got[:12]}..., not "
                f"{wanted[:12]}... as in {beside.name}; delete both to have them made again"
            )
    else:
        with contextlib.suppress(OSError):  # the folder may be read-only
            _write_sum(path, got)
    note_use(path.name, got)


def sha256_of(path: Path) -> str:
    """The sha256 of a file, taken once a process; of a large one again only if it has changed."""
    uses, state = _uses.get(), _state(path)
    if state in _hashed() and not (uses and uses.afresh):
        return _hashed()[state]
    mark = hashlib.sha256(repr(state).encode()).hexdigest()
    memory = data_folder() / "sums" / mark[:24]
    large = path.stat().st_size > LARGE
    if large and memory.is_file() and not (uses and uses.afresh):
        return _hashed().setdefault(state, memory.read_text())
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if large:
        with contextlib.suppress(OSError), atomic_write(memory) as out:
            out.write(found.encode())
    _hashed()[state] = found
    return found


class _Uses(NamedTuple):
    sums: dict[str, str]
    afresh: bool


_uses: ContextVar[_Uses | None] = ContextVar("uses", default=None)


@cache
def _hashed() -> dict[tuple[object, ...], str]:
    """Checksums of files in the state that this process found.

    A function, since values of module variables enter the keys of cached measures.
    """
    return {}


def sums_of(load: Callable[[], object], afresh: bool = False) -> dict[str, str]:
    """Name and checksum of every file that a data set is read from, as far as they are verified.

    Args:
        load: Loads the data set.
        afresh: Take the sha256 of every file anew.
    """
    uses = _Uses({}, afresh)
    before = _uses.set(uses)
    try:
        load()
    finally:
        _uses.reset(before)
    return uses.sums


def note_use(name: str, checksum: str) -> None:
    """Tell `sums_of`, if it is waiting, that a file with this checksum is read."""
    if uses := _uses.get():
        uses.sums[name] = checksum


def _state(path: Path) -> tuple[object, ...]:
    """What changes if somebody writes to a file."""
    stat = path.stat()
    return (str(path.absolute()), stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


def _sum_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _write_sum(path: Path, sha256: str) -> None:
    with atomic_write(_sum_file(path)) as file:
        file.write(f"{sha256}  {path.name}\n".encode())


def require_space(path: Path, size: int) -> None:
    """Raise unless so many bytes fit on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if size > (free := shutil.disk_usage(path.parent).free):
        raise OSError(
            f"{path} needs {size / 1e9:.1f} GB, and its disk has {free / 1e9:.1f} GB free"
        )


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
