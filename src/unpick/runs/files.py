"""Read and write files: whole or not at all, of a bounded size, and never from a pipe."""

import hashlib
import json
import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, NoReturn

LARGEST = 2**26  # bytes of a file of text: a log of a million records
LARGEST_WEIGHTS = 2**33  # bytes of weights, or of a checkpoint


class DamagedRun(ValueError):
    """A run folder is damaged; the message names the folder and the reason."""


def damaged(path: Path, what: str) -> DamagedRun:
    """The error to raise about a folder."""
    return DamagedRun(f"{path}: {what}; delete the folder to train this run again")


def write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; what a failure wrote of it is removed."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)  # on a full disk it would take up space
        raise


@contextmanager
def open_regular(path: Path, most: int) -> Iterator[BufferedReader]:
    """Open a file to read; raises at once for a pipe or a device, which could block for ever."""
    with open(path, "rb", opener=_without_waiting) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError(f"{path.name} is no regular file")
        if status.st_size > most:
            raise ValueError(f"{path.name} has {status.st_size} bytes, more than {most}")
        yield file


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_bytes(path: Path, most: int = LARGEST) -> bytes:
    """The content of a regular file of at most so many bytes."""
    with open_regular(path, most) as file:
        return file.read()


def sha256_of(path: Path, most: int = LARGEST) -> str:
    """The sha256 of a regular file of at most so many bytes."""
    with open_regular(path, most) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def parse_json(text: str | bytes) -> Any:  # noqa: ANN401
    """JSON as the standard has it: no NaN, no Infinity, no number beyond a float's range."""
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_parse_float)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _parse_float(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text} is beyond the range of a float")
    return value


def is_number(value: object) -> bool:
    """Whether this is a number that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 2**1023 and math.isfinite(value)


def is_count(value: object) -> bool:
    """Whether this is a whole number from 0 to 2**40."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40
