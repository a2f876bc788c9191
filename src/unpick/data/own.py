"""Your own data: an array, a table or a folder of images, read once into the cache."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.lib import format as npy
from tyro.conf import Suppress

from unpick.data.array_file import read_array
from unpick.data.cache import (
    atomic_write,
    cached_array,
    check_sum,
    data_folder,
    open_array,
    summed_write,
    with_progress,
)
from unpick.data.contents import Contents, Labels, to_dataset
from unpick.data.dataset import DataDamaged, DataMissing, Dataset
from unpick.data.files import expect, report_damage
from unpick.data.image_folder import list_images, read_folder
from unpick.data.table import describe_table, frame_columns, read_table
from unpick.names import check_choices

VERSION = 2  # of the form in the cache; raise it if the same file is to be read differently
Kind = Literal["npy", "npz", "csv", "parquet", "folder"]
FILES: dict[str, Kind] = {".npy": "npy", ".npz": "npz", ".csv": "csv", ".parquet": "parquet"}
# Which kinds an option is for, and what they are called.
OPTIONS: dict[str, tuple[tuple[Kind, ...], str]] = {
    "factors": (("csv", "parquet", "npz"), "tables and npz files"),
    "drop": (("csv", "parquet"), "tables"),
    "standardise": (("csv", "parquet"), "tables"),
    "key": (("npz",), "npz files"),
    "size": (("folder",), "folders of images"),
    "grey": (("folder",), "folders of images"),
}


@dataclass(frozen=True)
class OwnData:
    """A file or folder of your own; `own_data` makes this from its path.

    Attributes:
        path: Where it lies. It is not needed once the data are in the cache.
        name: Of the file, in letters that a run's folder can have.
        kind: What it is.
        sha256: Of the content.
        factors: Columns of a table, or arrays of an npz, that are factors and not observations,
            separated by commas. Words are categories.
        drop: Columns of a table that are left out, separated by commas.
        standardise: Shift and scale the columns of a table to mean 0 and variance 1.
        key: Name of the observations in an npz.
        size: Resize images to this many pixels each way; 0 keeps their size.
        grey: Read images with one channel.
    """

    path: Annotated[str, Suppress]
    name: Annotated[str, Suppress]
    kind: Annotated[Kind, Suppress]
    sha256: Annotated[str, Suppress]
    factors: str = ""
    drop: str = ""
    standardise: bool = True
    key: str = ""
    size: int = 0
    grey: bool = False

    def __post_init__(self) -> None:
        check_choices(self)
        if self.name != safe_name(self.name):
            raise ValueError(f"name must be of letters, digits, '.', '_', '-', got {self.name!r}")
        if not re.fullmatch("[0-9a-f]{64}", self.sha256):
            raise ValueError(f"sha256 must be 64 hexadecimal digits, got {self.sha256!r}")
        if not 0 <= self.size <= 4096:
            raise ValueError(f"size must lie in 0..4096, got {self.size}")
        for field in fields(self):
            kinds, what = OPTIONS.get(field.name, ((self.kind,), ""))
            value = getattr(self, field.name)
            if self.kind not in kinds and value != field.default:
                mine = "a folder" if self.kind == "folder" else f"a .{self.kind} file"
                raise ValueError(f"{field.name} is for {what}, and {self.path} is {mine}")

    def load(self) -> Dataset:
        """Read the cache; if it does not have these data yet, read the file or folder."""
        notes = self.notes()
        array = open_array(self._file(".npy"), tuple(notes["shape"]), notes["dtype"])
        labels, names = None, tuple(notes["factors"])
        if names:
            values = open_array(self._file("-factors.npy"), (len(array), len(names)), "float32")
            labels = Labels(names, values, tuple(map(tuple, notes["words"])))
        # Tables that an earlier version read have no names in the cache.
        return to_dataset(self.name, array, labels, tuple(notes.get("columns", ())))

    def notes(self) -> dict[str, Any]:
        """What is known of the data: `what`, `remarks`, `shape`, `dtype`, `range`, `factors`...

        The words of a categorical factor are in `words`, in the order of its values.
        """
        file = self._file(".json")
        if not (file.is_file() and self._file(".npy").is_file()):
            self._convert(file)
        check_sum(file)
        with report_damage(file):
            notes: dict[str, Any] = json.loads(file.read_text())
            missing = {"shape", "dtype", "factors", "words", "what", "remarks", "range"} - {*notes}
        expect(file, "the list of missing fields", sorted(missing), [])
        return notes

    def _file(self, end: str) -> Path:
        return data_folder() / f"{self._stem}{end}"

    @property
    def _stem(self) -> str:
        """Name of the files in the cache: decided by the content and the options."""
        options = {k: v for k, v in asdict(self).items() if k not in ("path", "name")}
        text = json.dumps([VERSION, options], sort_keys=True)
        return f"own/{self.name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    def _convert(self, notes_file: Path) -> None:
        """Read the original into the cache; the notes are written last and mark the end."""
        path = existing(Path(self.path))
        if (got := content_sha256(path, self.kind)) != self.sha256:
            raise DataDamaged(
                f"{path} is not what it was: its sha256 is {got[:12]}..., not "
                f"{self.sha256[:12]}...; bring the old content back, or train on the new"
            )
        contents = self._read(path)
        array = cached_array(self._stem, contents.shape, contents.blocks, contents.dtype)
        unit = 255 if contents.dtype == "uint8" else 1
        labels = contents.labels
        if labels is not None:
            with summed_write(self._file("-factors.npy")) as file:
                npy.write_array(file, np.ascontiguousarray(labels.values), allow_pickle=False)
        notes = {
            "what": contents.what,
            "remarks": contents.remarks,
            "shape": contents.shape,
            "dtype": contents.dtype,
            "range": (float(array.min()) / unit, float(array.max()) / unit),
            "factors": labels.names if labels else (),
            "words": labels.words if labels else (),
            "columns": contents.columns,
        }
        with summed_write(notes_file) as file:
            file.write(json.dumps(notes, indent=1).encode())

    def _read(self, path: Path) -> Contents:
        factors, drop = names_in(self.factors), names_in(self.drop)
        if self.kind == "folder":
            return read_folder(path, self.size, self.grey)
        if self.kind in ("npy", "npz"):
            return read_array(path, self.key, factors)
        return read_table(path, factors, drop, self.standardise)


def own_data(path: str | Path, **options: Any) -> OwnData:  # noqa: ANN401
    """The configuration of your own file or folder, for `RunConfig` or `.load()`.

    Args:
        path: A .npy, .npz, .csv or .parquet file, or a folder of images.
        options: Of `OwnData`, such as `factors`, `size` or `key`.
    """
    place = existing(Path(path).expanduser()).resolve()
    kind = kind_of(place)
    return OwnData(str(place), safe_name(place.stem), kind, content_sha256(place, kind), **options)


def from_table(
    table: Any,  # noqa: ANN401
    factors: str | Sequence[str | int] = (),
    drop: str | Sequence[str | int] = (),
    standardise: bool = True,
) -> Dataset:
    """Make a data set of a table of numbers.

    Args:
        table: A data frame of pandas or polars, a dictionary of columns, or the path of a .csv or
            .parquet file. A file is read once into the cache.
        factors: Columns that are factors and not observations: a list of names, or a text with
            commas between them. Words are categories.
        drop: Columns that are left out, in the same way.
        standardise: Shift and scale each column to mean 0 and variance 1.

    Example:
        >>> table = {"height": range(20), "width": np.arange(20) ** 2, "sort": list("ab" * 10)}
        >>> data = from_table(table, factors=["sort"])
        >>> len(data), data.shape, data.factors[0].name, data.factors[0].categorical
        (20, (2,), 'sort', True)
    """
    factors, drop = _names_of(factors), _names_of(drop)
    if not isinstance(table, str | Path):
        columns = frame_columns("table", table)
        contents = describe_table("table", columns, factors, drop, standardise)
        return to_dataset("table", next(contents.blocks), contents.labels, contents.columns)
    if wrong := [name for name in (*factors, *drop) if "," in name]:
        raise ValueError(f"names of columns in a file must have no comma, got {wrong[0]!r}")
    config = own_data(
        table, factors=",".join(factors), drop=",".join(drop), standardise=standardise
    )
    if config.kind not in ("csv", "parquet"):
        raise ValueError(f"table must be a .csv or .parquet file, got {table}")
    return config.load()


def from_folder(path: str | Path, size: int = 0, grey: bool = False) -> Dataset:
    """Make a data set of the images in a folder and its sub-folders, read once into the cache.

    Images are sorted by their path in the folder. Two or more sub-folders are a categorical
    factor, "folder". PNG, JPEG, BMP, WebP and TIFF files are read.

    Args:
        path: The folder.
        size: Resize to this many pixels each way; 0 keeps the size, the same for all images.
        grey: One channel. Otherwise there are three unless all images are grey.
    """
    config = own_data(path, size=size, grey=grey)
    if config.kind != "folder":
        raise ValueError(f"path must be a folder of images, got {path}")
    return config.load()


def is_own(word: str) -> bool:
    """Whether a word on the command line means a file or folder, there or not.

    Example:
        >>> is_own("wine.csv"), is_own("photos/"), is_own("synth-lin")
        (True, True, False)
    """
    return Path(word).suffix.lower() in FILES or "/" in word or Path(word).exists()


def existing(path: Path) -> Path:
    """The path itself; raises if nothing is there, or neither a file nor a folder."""
    if not path.exists():
        raise DataMissing(f"{path} is not there")
    if not (path.is_file() or path.is_dir()):
        raise ValueError(f"{path} must be a file or a folder; it is a device or a pipe")
    return path


def kind_of(path: Path) -> Kind:
    """The kind of an existing file or folder, by the file's suffix."""
    if path.is_dir():
        return "folder"
    if path.suffix.lower() not in FILES:
        raise ValueError(f"{path} must be a folder of images or end in {', '.join(FILES)}")
    return FILES[path.suffix.lower()]


def safe_name(stem: str) -> str:
    """The name with letters, digits, '.', '_' and '-' only, at most 60 of them.

    Example:
        >>> safe_name("My wine (red)"), safe_name("..")
        ('My-wine-red', 'data')
    """
    return re.sub("[^A-Za-z0-9._-]+", "-", stem)[:60].strip("-.") or "data"


def names_in(text: str) -> tuple[str, ...]:
    """Names separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _names_of(given: str | Sequence[str | int]) -> tuple[str, ...]:
    """Names from a text or a list; columns of a frame may be numbers."""
    return names_in(given) if isinstance(given, str) else tuple(map(str, given))


def content_sha256(path: Path, kind: Kind) -> str:
    """The sha256 of a file, or of the names and contents of all images in a folder.

    It is remembered for as long as no file changes its size or time, so that large folders are
    hashed once.
    """
    files = list_images(path) if kind == "folder" else [path]
    names = [file.relative_to(path).as_posix() for file in files]
    stats = [(str(f.resolve()), (stat := f.stat()).st_size, stat.st_mtime_ns) for f in files]
    mark = hashlib.sha256(repr((kind, names, stats)).encode()).hexdigest()
    memory = data_folder() / "own" / "sums" / mark[:24]
    if memory.is_file() and re.fullmatch("[0-9a-f]{64}", known := memory.read_text("latin-1")):
        return known
    sums = []
    blocks = ([pair] for pair in zip(files, names, strict=True))
    for ((file, name),) in with_progress(f"hashing {path.name}", blocks, len(files)):
        with file.open("rb") as stream:
            own = hashlib.file_digest(stream, "sha256").hexdigest()
        sums.append(f"{own} {name}")
    total = sums[0].split()[0]
    if kind == "folder":
        total = hashlib.sha256("\n".join(sums).encode()).hexdigest()
    with atomic_write(memory) as stream:
        stream.write(total.encode())
    return total
