"""Files of data sets for machines that do not have them.

A node looks for files under the path that the configuration names, as the driver does. What it
does not find is sent to it once, into its folder of data, under a name made of the content.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from unpick.data import DataConfig, OwnData, Perturbed
from unpick.data.cache import data_folder
from unpick.data.image_folder import list_images
from unpick.data.twins import CHANGE, DOCUMENT

BLOCK = 2**26  # bytes of small files that are sent together

Block = list[tuple[str, bytes]]  # names in the data set's folder, and contents


class Supply(NamedTuple):
    """The files of one data set on their way.

    Attributes:
        digest: Of names and contents.
        file: The name of the file, if the configuration names a file and not a folder.
        blocks: What `fetch` turns into a `Block` each.
    """

    digest: str
    file: str
    blocks: tuple[Any, ...]


def supply(data: DataConfig, put: Callable[[Block], Any]) -> tuple[Supply, ...]:
    """Read the files of a data set, of a twin also its original's, and hand them to `put`."""
    found = []
    for part in _parts(data):
        sha256, blocks = hashlib.sha256(), []
        folder, files = _files(part)
        for block in _blocks(folder, files):
            for name, content in block:
                sha256.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
            blocks.append(put(block))
        path = Path(part.path).expanduser()
        file = path.name if part.path and path.is_file() else ""
        found.append(Supply(sha256.hexdigest()[:24], file, tuple(blocks)))
    return tuple(found)


def receive(
    data: DataConfig, supplies: Sequence[Supply], fetch: Callable[[Any], Block]
) -> DataConfig:
    """The same data set, read from files that were sent. One process of a node at a time."""
    places = {
        part: _unpack(each, fetch) for part, each in zip(_parts(data), supplies, strict=True)
    }
    return _move(data, places)


def _unpack(sent: Supply, fetch: Callable[[Any], Block]) -> Path:
    place = data_folder() / "received" / sent.digest
    if not place.is_dir():
        place.parent.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(dir=place.parent))
        for block in sent.blocks:
            for name, content in fetch(block):
                (new / name).parent.mkdir(parents=True, exist_ok=True)
                (new / name).write_bytes(content)
        try:
            new.replace(place)
        except OSError:
            shutil.rmtree(new)
            raise
    return place / sent.file


def _parts(data: Any) -> list[Any]:  # noqa: ANN401
    """The configurations in this one that name a path."""
    original = getattr(data, "original", None)
    inner = [] if original is None else _parts(original)
    return ([data] if hasattr(data, "path") else []) + inner


def _move(data: Any, places: dict[Any, Path]) -> Any:  # noqa: ANN401
    moved = data
    if (original := getattr(data, "original", None)) is not None:
        moved = replace(moved, original=_move(original, places))
    return replace(moved, path=str(places[data])) if data in places else moved


def _files(part: Any) -> tuple[Path, list[Path]]:  # noqa: ANN401
    """The folder of a data set, and the files in it."""
    if isinstance(part, Perturbed):
        return part.folder, [part.folder / DOCUMENT, part.folder / CHANGE]
    if isinstance(part, OwnData):
        path = Path(part.path)
        return (path, list_images(path)) if path.is_dir() else (path.parent, [path])
    files = [file.path for file in part.files()]
    return Path(os.path.commonpath([file.parent for file in files])), files


def _blocks(folder: Path, files: Sequence[Path]) -> Iterator[Block]:
    block: Block = []
    for file in files:
        block.append((file.relative_to(folder).as_posix(), file.read_bytes()))
        if sum(len(content) for _, content in block) >= BLOCK:
            yield block
            block = []
    if block:
        yield block
