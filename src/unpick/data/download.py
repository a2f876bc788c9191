"""Download public data files: interrupted downloads resume, and checksums are verified."""

import fcntl
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedWriter
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from unpick.data.cache import data_folder
from unpick.data.dataset import DataDamaged
from unpick.data.files import DataFile
from unpick.data.remote import NOT_FETCHABLE, REMOTE

BLOCK = 1 << 18  # bytes
TIMEOUT = 30.0  # seconds to wait for an answer
RETRY_STATUS = (408, 429, 500, 502, 503, 504)  # HTTP errors that may be temporary

OnProgress = Callable[[int, int], None]  # bytes so far, bytes in all (0 if unknown)


class ConnectionLost(Exception):
    """A connection failed or ended early; trying again may help."""


def get(name: str) -> tuple[Path, ...]:
    """Download the files of a data set into its folder in `data_folder()`.

    Args:
        name: One of `REMOTE`.
    """
    if name not in REMOTE:
        why = NOT_FETCHABLE.get(name, f"allowed are {', '.join(REMOTE)}")
        raise ValueError(f"{name!r} cannot be fetched: {why}")
    paths = []
    for remote in REMOTE[name]:
        paths.append(data_folder() / remote.folder / remote.name)
        fetch(remote.url, paths[-1], remote.checksum, remote.size)
    return tuple(paths)


def fetch(
    url: str, path: Path, checksum: str = "", size: int = 0, tries: int = 4, wait: float = 1.0
) -> None:
    """Download a file; an existing one is only verified.

    The download is written to PATH.part, which is renamed once its size and checksum are right.
    An interrupted download resumes, in this call or the next. A complete but wrong file is
    deleted.

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
        try:
            download(url, file, size, tries, wait, on_progress)
            file.flush()
            os.fsync(file.fileno())
            verify(url, DataFile(part, checksum), size)
        except DataDamaged:
            part.unlink()
            raise
        part.replace(path)


def verify(url: str, part: DataFile, size: int) -> None:
    """Raise unless the fetched file has the right size and checksum."""
    got = part.path.stat().st_size
    if size and got != size:
        raise DataDamaged(f"{url} is not the published file: it has {got} bytes, not {size}")
    try:
        part.verify()
    except DataDamaged as error:
        raise DataDamaged(f"{url} is not the published file: {error}; it was deleted") from None


@contextmanager
def open_locked(part: Path) -> Iterator[BufferedWriter]:
    """Open the .part file for appending, locked; raises if another process has it."""
    with part.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            there = part.exists() and os.path.samestat(os.fstat(file.fileno()), part.stat())
        except BlockingIOError:
            there = False
        if not there:  # locked by another process, or just renamed by it
            raise BlockingIOError(f"{part} is being written by another process; try again later")
        yield file


def download(
    url: str, file: BufferedWriter, size: int, tries: int, wait: float, on_progress: OnProgress
) -> None:
    """Download until the file is complete, over several connections if they break.

    Only failures in a row without progress count, so a large file arrives over a bad connection.
    """
    furthest = failures = 0
    while True:
        try:
            return append_rest(url, file, size, on_progress)
        except ConnectionLost as error:
            have = file.seek(0, os.SEEK_END)
            failures = 1 if have > furthest else failures + 1
            furthest = max(have, furthest)
            if failures >= tries:
                raise ConnectionError(
                    f"{url}: gave up after {tries} tries ({error}); {have} bytes are kept, "
                    "and the next call goes on from there"
                ) from error
        time.sleep(wait * 2 ** (failures - 1))


def append_rest(url: str, file: BufferedWriter, size: int, on_progress: OnProgress) -> None:
    """Append the missing bytes over one connection; start again if the server cannot resume."""
    have = file.seek(0, os.SEEK_END)
    if size and have == size:
        return
    response = request(url, have)
    with response:
        if response.status == 416:  # there are no more bytes: ours is complete or too long
            if have == total_size(response):
                return
            file.truncate(0)
            raise ConnectionLost(f"the file there is not {have} bytes long")
        if have and response.status != 206:
            file.truncate(0)
            have = 0
        elif have and not (response.headers["Content-Range"] or "").startswith(f"bytes {have}-"):
            file.truncate(0)
            raise ConnectionLost(f"the server does not go on from byte {have}")
        length = response.headers["Content-Length"]
        total = have + int(length) if length else size
        if size and total != size:
            raise DataDamaged(f"{url} is not the published file: it has {total} bytes, not {size}")
        on_progress(have, total)
        while block := read_block(response):
            file.write(block)
            have += len(block)
            on_progress(have, total)
    if have < total:
        raise ConnectionLost(f"the connection ended at byte {have} of {total}")


def request(url: str, have: int) -> http.client.HTTPResponse | urllib.error.HTTPError:
    """The server's answer to a request for all bytes from `have` on."""
    headers = {"User-Agent": "unpick"} | ({"Range": f"bytes={have}-"} if have else {})
    try:
        return urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=TIMEOUT
        )
    except urllib.error.HTTPError as answer:
        if answer.code == 416:
            return answer
        with answer:
            what = f"the server answers {answer.code} {answer.reason}"
        if answer.code in RETRY_STATUS:
            raise ConnectionLost(what) from None
        raise ConnectionError(f"{url}: {what}") from None
    except (OSError, http.client.HTTPException) as error:
        raise ConnectionLost(str(error)) from error


def read_block(response: http.client.HTTPResponse | urllib.error.HTTPError) -> bytes:
    """Read the next block; separate from writing, so that a full disk is no `ConnectionLost`."""
    try:
        return response.read(BLOCK)
    except (OSError, http.client.HTTPException) as error:
        raise ConnectionLost(str(error)) from error


def total_size(response: http.client.HTTPResponse | urllib.error.HTTPError) -> int:
    """Size of the whole file from the header `Content-Range: bytes */123`; -1 if it has none."""
    total = (response.headers["Content-Range"] or "").rpartition("/")[2]
    return int(total) if total.isdecimal() else -1


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
            jump = not 0 <= have - bar.tasks[task].completed <= BLOCK
            move = bar.reset if jump else bar.update  # bytes of earlier calls are no speed
            move(task, completed=have, total=total or None)

        yield on_progress
