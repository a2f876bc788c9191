"""Fetching public data files: resumed where they broke off, in place only when they are right."""

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
from unpick.data.remote import ELSEWHERE, REMOTE

BLOCK = 1 << 18  # bytes
TIMEOUT = 30.0  # seconds without an answer
PASSING = (408, 429, 500, 502, 503, 504)  # answers that may be another one the next time

Show = Callable[[int, int], None]  # bytes there, bytes in all (0 if unknown)


class Broken(Exception):
    """A connection that failed or ended early, and may work the next time."""


def get(name: str) -> tuple[Path, ...]:
    """Fetch the files of a data set into their folder in `data_folder()`.

    Args:
        name: One of `REMOTE`.
    """
    if name not in REMOTE:
        why = ELSEWHERE.get(name, f"allowed are {', '.join(REMOTE)}")
        raise ValueError(f"{name!r} cannot be fetched: {why}")
    paths = []
    for remote in REMOTE[name]:
        paths.append(data_folder() / remote.folder / remote.name)
        fetch(remote.url, paths[-1], remote.checksum, remote.size)
    return tuple(paths)


def fetch(
    url: str, path: Path, checksum: str = "", size: int = 0, tries: int = 4, wait: float = 1.0
) -> None:
    """Fetch a file; one that is there already is verified and left alone.

    It grows under another name (.part) and is renamed once its size and checksum are right. What
    a broken connection leaves there is gone on from, now or by the next call; what is complete
    but wrong is deleted.

    Args:
        url: Its address.
        path: Where it goes.
        checksum: Such as "sha256:0a0f..."; empty where none is known.
        size: In bytes; 0 where it is not known.
        tries: How often in a row a connection may fail without the file growing.
        wait: Seconds before the second try, doubled with each further one.
    """
    if path.exists():
        try:
            return verify(str(path), DataFile(path, checksum), size)
        except DataDamaged as error:
            raise DataDamaged(f"{error}; delete it to fetch it again") from None
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    with locked(part) as file, progress(path.name) as show:
        try:
            complete(url, file, size, tries, wait, show)
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
def locked(part: Path) -> Iterator[BufferedWriter]:
    """The growing file, open to append; a second process that wants it is turned away."""
    with part.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            there = part.exists() and os.path.samestat(os.fstat(file.fileno()), part.stat())
        except BlockingIOError:
            there = False
        if not there:  # locked by another process, or just renamed by it
            raise BlockingIOError(f"{part} is being written by another process; try again later")
        yield file


def complete(
    url: str, file: BufferedWriter, size: int, tries: int, wait: float, show: Show
) -> None:
    """Go on until the file is complete, through as many broken connections as it takes.

    Only tries in a row that do not get further count: a large file over a bad line gets there.
    """
    furthest = failures = 0
    while True:
        try:
            return proceed(url, file, size, show)
        except Broken as error:
            have = file.seek(0, os.SEEK_END)
            failures = 1 if have > furthest else failures + 1
            furthest = max(have, furthest)
            if failures >= tries:
                raise ConnectionError(
                    f"{url}: gave up after {tries} tries ({error}); {have} bytes are kept, "
                    "and the next call goes on from there"
                ) from error
        time.sleep(wait * 2 ** (failures - 1))


def proceed(url: str, file: BufferedWriter, size: int, show: Show) -> None:
    """Over one connection, append what is missing; start afresh if the server cannot go on."""
    have = file.seek(0, os.SEEK_END)
    if size and have == size:
        return
    response = request(url, have)
    with response:
        if response.status == 416:  # there is nothing after what we have: it is all, or too much
            if have == total_of(response):
                return
            file.truncate(0)
            raise Broken(f"the file there is not {have} bytes long")
        if have and response.status != 206:
            file.truncate(0)
            have = 0
        elif have and not (response.headers["Content-Range"] or "").startswith(f"bytes {have}-"):
            file.truncate(0)
            raise Broken(f"the server does not go on from byte {have}")
        length = response.headers["Content-Length"]
        total = have + int(length) if length else size
        if size and total != size:
            raise DataDamaged(f"{url} is not the published file: it has {total} bytes, not {size}")
        show(have, total)
        while block := received(response):
            file.write(block)
            have += len(block)
            show(have, total)
    if have < total:
        raise Broken(f"the connection ended at byte {have} of {total}")


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
        if answer.code in PASSING:
            raise Broken(what) from None
        raise ConnectionError(f"{url}: {what}") from None
    except (OSError, http.client.HTTPException) as error:
        raise Broken(str(error)) from error


def received(response: http.client.HTTPResponse | urllib.error.HTTPError) -> bytes:
    """The next block; apart from `proceed` so that a full disk is not taken for a bad line."""
    try:
        return response.read(BLOCK)
    except (OSError, http.client.HTTPException) as error:
        raise Broken(str(error)) from error


def total_of(response: http.client.HTTPResponse | urllib.error.HTTPError) -> int:
    """The size of the whole file according to `Content-Range: bytes */123`; -1 if not told."""
    total = (response.headers["Content-Range"] or "").rpartition("/")[2]
    return int(total) if total.isdecimal() else -1


@contextmanager
def progress(title: str) -> Iterator[Show]:
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

        def show(have: int, total: int) -> None:
            jump = not 0 <= have - bar.tasks[task].completed <= BLOCK
            move = bar.reset if jump else bar.update  # what was there before is no speed
            move(task, completed=have, total=total or None)

        yield show
