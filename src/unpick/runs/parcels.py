"""Run folders that travel: their files as bytes, what changed in them, and how that is written.

Locks, half-written files and event files stay where they are.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from unpick.runs.files import LARGEST_WEIGHTS, read_bytes, write
from unpick.runs.lock import LOCK

MEASURES = "measures"  # the only folder of a run that travels

Files = dict[str, tuple[int, ...]]  # inode, size and time of each file, by FOLDER/NAME


class Changes(NamedTuple):
    """What happened to the files of run folders, by FOLDER/NAME."""

    written: dict[str, bytes]
    removed: tuple[str, ...] = ()


def pack(paths: Sequence[Path]) -> dict[str, bytes]:
    """The content of all files of run folders, by FOLDER/NAME."""
    files = [file for path in paths for file in _files(path)]
    return {_name(file): read_bytes(file, LARGEST_WEIGHTS) for file in files}


def changes(root: Path, before: Files) -> tuple[Changes, Files]:
    """What changed in a folder of run folders, and its state now.

    Every file is replaced, never written to, so a new content has another inode or time.
    """
    files = {
        _name(file): file for path in root.iterdir() if path.is_dir() for file in _files(path)
    }
    now = {name: _state(file) for name, file in files.items()}
    new = [name for name, state in now.items() if before.get(name) != state]
    written = {name: read_bytes(files[name], LARGEST_WEIGHTS) for name in new}
    return Changes(written, tuple(before.keys() - now.keys())), now


def apply(found: Changes, root: Path) -> None:
    """Write changes into a folder of run folders.

    A kill in between leaves nothing that training on this machine could not leave: results come
    after all that they refer to, and old files go after the new ones are there.
    """
    for name in sorted(found.written, key=lambda name: name.endswith("/results.json")):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        write(root / name, found.written[name])
    for name in found.removed:
        (root / name).unlink(missing_ok=True)


def _files(path: Path) -> list[Path]:
    found = [*path.glob("*"), *path.glob(f"{MEASURES}/*.json")]
    return [
        each
        for each in found
        if each.is_file() and each.name != LOCK and not each.name.startswith(".")
    ]


def _name(file: Path) -> str:
    folder = file.parent.parent if file.parent.name == MEASURES else file.parent
    return f"{folder.name}/{file.relative_to(folder).as_posix()}"


def _state(file: Path) -> tuple[int, ...]:
    stat = os.stat(file)
    return stat.st_ino, stat.st_size, stat.st_mtime_ns
