"""Download public data files: interrupted downloads resume, and checksums are verified.

No more bytes are written than the file is known to have, and what earlier calls fetched is deleted
only if the whole file has arrived and is wrong.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedRandom
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from unpick.data.cache import data_folder, require_space
from unpick.data.connection import ConnectionLost, Response, announced, read_block, request
from unpick.data.dataset import DataDamaged
from unpick.data.files import DataFile, same_as_before
from unpick.data.remote import NOT_FETCHABLE, REMOTE

try:
    import fcntl
except ImportError:  # Windows: two downloads of one file at once end in a wrong checksum
    fcntl = None  # type: ignore[assignment]

SLOW = 30.0  # seconds in which at least SLOWEST bytes must arrive
SLOWEST = 30_000  # bytes; a connection that gets less far has not helped
LARGEST = 2**34  # bytes of a file whose size is not known
MAGIC = {".npz": b"PK", ".gz": b"\x1f\x8b", ".h5": b"\x89HDF", ".hdf5": b"\x89HDF"}

OnProgress = Callable[[int, int], None]  # bytes so far, bytes in all (0 if unknown)


class Fetched(NamedTuple):
    """A file that is there now, and whether it was compared with a published checksum."""

    path: Path
    verified: bool


def get(name: str) -> tuple[Fetched, ...]:
    """Download the files of a data set into its folder in `data_folder()`.

    An address that begins with http is tried with https first.

    Args:
        name: One of `REMOTE`.
    """
    if name not in REMOTE:
        why = NOT_FETCHABLE.get(name, f"allowed are {', '.join(REMOTE)}")
        raise ValueError(f"{name!r} cannot be fetched: {why}")
    found = []
    for remote in REMOTE[name]:
        path = data_folder() / remote.folder / remote.name
        secure = remote.url
        if urlsplit(secure).port is None:
            secure = secure.replace("http://", "https://", 1)
        try:
            fetch(secure, path, remote.checksum, remote.size, 4 if secure == remote.url else 1)
        except ConnectionError:
            if secure == remote.url or not remote.checksum:
                raise
            fetch(remote.url, path, remote.checksum, remote.size)
        found.append(Fetched(path, bool(remote.checksum)))
    return tuple(found)


def fetch(
    url: str, path: Path, checksum: str = "", size: int = 0, tries: int = 4, wait: float = 1.0
) -> None:
    """Download a file; an existing one is only verified.

    The download is written to PATH.part, which is renamed once its size and checksum are right.
    An interrupted download resumes, in this call or the next. A complete but wrong file is
    deleted. If the server contradicts itself or what is known, only what this call has written
    is deleted. A file without a published checksum must begin as its kind does, and its sha256 is
    recorded.

    Args:
        url: Its address.
        path: The file to write.
        checksum: Such as "sha256:0a0f..."; empty where none is known.
        size: In bytes; 0 where it is not known.
        tries: Number of failures in a row, without progress, after which to give up.
        wait: Seconds before the second try; doubled with each further one.
    """
    if path.exists():
        try:
            return verify(str(path), DataFile(path, checksum), size)
        except DataDamaged as error:
            raise DataDamaged(f"{error}; delete it to fetch it again") from None
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    with open_locked(part) as file, progress(path.name) as on_progress:
        start = file.seek(0, os.SEEK_END)
        if size and start > size:
            start = file.truncate(0)
        try:
            download(url, file, size, tries, wait, on_progress)
        except DataDamaged:
            file.truncate(start)
            raise
        finally:
            file.flush()
            if not part.stat().st_size:
                part.unlink()
        os.fsync(file.fileno())
        try:
            verify(url, DataFile(part, checksum), size, path.suffix)
        except DataDamaged as error:
            part.unlink()
            raise DataDamaged(f"{error}; it was deleted") from None
        part.replace(path)
    if not checksum:
        with same_as_before([DataFile(path)]):
            pass


def verify(url: str, part: DataFile, size: int, suffix: str = "") -> None:
    """Raise unless the fetched file has the right size and checksum, or else the right kind."""
    got = part.path.stat().st_size
    if size and got != size:
        raise DataDamaged(f"{url} is not the published file: it has {got} bytes, not {size}")
    try:
        part.verify()
    except DataDamaged as error:
        raise DataDamaged(f"{url} is not the published file: {error}") from None
    wanted = MAGIC.get(suffix or part.path.suffix, b"")
    with part.path.open("rb") as file:
        if not part.checksum and (begins := file.read(len(wanted))) != wanted:
            raise DataDamaged(
                f"{url} is no {suffix or part.path.suffix} file: it begins with {begins!r}"
            )


@contextmanager
def open_locked(part: Path) -> Iterator[BufferedRandom]:
    """Open the .part file for appending, locked; raises if another process has it."""
    with part.open("a+b") as file:
        there = True
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                there = part.exists() and os.path.samestat(os.fstat(file.fileno()), part.stat())
            except BlockingIOError:
                there = False
        if not there:  # locked by another process, or just renamed by it
            raise BlockingIOError(f"{part} is being written by another process; try again later")
        yield file


def download(
    url: str, file: BufferedRandom, size: int, tries: int, wait: float, on_progress: OnProgress
) -> None:
    """Download until the file is complete, over several connections if they break.

    Only failures in a row without progress count, so a large file arrives over a bad connection.
    """
    furthest, failures = file.seek(0, os.SEEK_END), 0
    while True:
        try:
            return append_rest(url, file, size, on_progress)
        except ConnectionLost as error:
            have = file.seek(0, os.SEEK_END)
            failures = 1 if have >= furthest + SLOWEST else failures + 1
            furthest = max(have, furthest)
            if failures >= tries:
                raise ConnectionError(
                    f"{url}: gave up after {tries} tries ({error}); {have} bytes are kept, "
                    "and the next call goes on from there"
                ) from error
        time.sleep(wait * 2 ** (failures - 1))


def append_rest(url: str, file: BufferedRandom, size: int, on_progress: OnProgress) -> None:
    """Append the missing bytes over one connection.

    A server that cannot resume sends the file from its beginning. What is there already is then
    compared and not written again.
    """
    have = file.seek(0, os.SEEK_END)
    if size and have == size:
        return
    with request(url, have) as response:
        skip, total = where_it_goes_on(url, response, have, size)
        if response.status == 416:
            return
        require_space(Path(file.name), max(0, total - have))
        started, mark = time.monotonic(), 0  # of the last SLOW seconds
        on_progress(have, total)
        position, end = have - skip, total or LARGEST
        while block := read_block(response):
            old, new = block[: max(0, have - position)], block[max(0, have - position) :]
            if old and not _continues(file, position, old):
                raise DataDamaged(
                    f"{url} is not the file that was begun in {file.name}; delete that to start "
                    "again"
                )
            position += len(block)
            if position > end:
                raise DataDamaged(f"{url} is not the published file: it goes on after byte {end}")
            file.write(new)
            on_progress(max(have, position), total)
            mark += len(block)
            if time.monotonic() - started > SLOW:
                if mark < SLOWEST:
                    raise ConnectionLost(f"{mark} bytes in {SLOW:.0f} seconds are too slow")
                started, mark = time.monotonic(), 0
    if position < total:
        raise ConnectionLost(f"the connection ended at byte {position} of {total}")


def _continues(file: BufferedRandom, position: int, block: bytes) -> bool:
    """Whether the file has this block at this position."""
    file.seek(position)
    return file.read(len(block)) == block


def where_it_goes_on(url: str, response: Response, have: int, size: int) -> tuple[int, int]:
    """How many of the bytes that are there come again, and the size of the whole file (or 0)."""
    whole = announced((response.headers["Content-Range"] or "").rpartition("/")[2])
    length = announced(response.headers["Content-Length"] or "")
    skip = 0
    if response.status == 416:  # there are no more bytes: ours is complete or too long
        total = whole
        if have != whole:
            raise DataDamaged(
                f"{url} has {whole} bytes, and {have} were fetched; delete the .part to "
                "start again"
            )
    elif response.status == 206 and have:
        if not (response.headers["Content-Range"] or "").startswith(f"bytes {have}-"):
            raise ConnectionLost(f"the server does not go on from byte {have}")
        total = whole or (length and have + length)
    else:
        skip, total = have, length
    if size and total and total != size:
        raise DataDamaged(f"{url} is not the published file: it has {total} bytes, not {size}")
    if total > LARGEST:
        raise DataDamaged(f"{url} announces {total} bytes, more than {LARGEST}")
    return skip, total or size


@contextmanager
def progress(title: str) -> Iterator[OnProgress]:
    """A bar on stderr with the speed and the time left."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=None)

        def on_progress(have: int, total: int) -> None:
            jump = not 0 <= have - bar.tasks[task].completed <= 2**20
            move = bar.reset if jump else bar.update  # bytes of earlier calls are no speed
            move(task, completed=have, total=total or None)

        yield on_progress
