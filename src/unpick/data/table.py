"""A table as observations: the columns of a csv or parquet file, or of a data frame.

A csv file is read by Python's own parser, so that it gives the same numbers on every machine. A
parquet file needs pyarrow or polars, which are used if they are installed.
"""

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from unpick.data.containers import FLOOR, RATIO
from unpick.data.contents import Contents, check_rows, number_labels, to_float32
from unpick.data.dataset import DataDamaged
from unpick.data.files import report_damage
from unpick.names import pick

MISSING = {"", "na", "n/a", "nan", "null", "none", "<na>"}  # in small letters
Columns = dict[str, np.ndarray]  # numbers, or objects that are words


def read_table(
    path: Path, factors: Sequence[str] = (), drop: Sequence[str] = (), standardise: bool = True
) -> Contents:
    """Read a .csv or .parquet file with a header; see `describe_table`."""
    columns = read_csv(path) if path.suffix.lower() == ".csv" else read_parquet(path)
    return describe_table(str(path), columns, factors, drop, standardise)


def describe_table(
    source: str,
    columns: Columns,
    factors: Sequence[str] = (),
    drop: Sequence[str] = (),
    standardise: bool = True,
) -> Contents:
    """Divide the columns of a table into observations and factors.

    Args:
        source: Name of the table, for errors.
        columns: All columns by name. None may have a missing value.
        factors: Columns that are factors and not observations; words are categories.
        drop: Columns that are left out.
        standardise: Shift and scale every column of the observations to mean 0 and variance 1.
    """
    for name in (*factors, *drop):
        pick(columns, name, f"column of {source}")
    if both := {*factors} & {*drop}:
        raise ValueError(f"columns must not be in both factors and drop, got {sorted(both)}")
    kept = {name: column for name, column in columns.items() if name not in {*factors, *drop}}
    if not kept:
        raise ValueError(
            f"{source} must have a column that is no factor, got {', '.join(columns)}"
        )
    check_rows(source, len(next(iter(kept.values()))), "rows")
    for name, column in columns.items():
        if name not in drop:
            _check_present(source, name, column)
    numbers = np.stack([_observed(source, *item) for item in kept.items()], 1)
    remark = "values are used as they are"
    if standardise:
        numbers = _standardised(source, list(kept), numbers)
        remark = "each column is standardised to mean 0 and variance 1"
    array = to_float32(source, numbers)
    labels = number_labels(source, {name: columns[name] for name in factors})
    what = f"a table with {len(kept)} columns of observations"
    return Contents(what, array.shape, "float32", iter([array]), labels, (remark,), tuple(kept))


def read_csv(path: Path) -> Columns:
    """The columns of a csv file; cells are separated by commas, semicolons or tabs."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be text in UTF-8, got other bytes; save it so") from error
    with report_damage(path):
        header = re.sub('"[^"]*"', "", text.partition("\n")[0])  # separators in quotes are none
        delimiter = max(",;\t", key=header.count)
        lines = io.StringIO(text, newline="")
        rows = [row for row in csv.reader(lines, delimiter=delimiter, strict=True) if row]
    if not rows:
        raise ValueError(f"{path} is empty")
    names = [name.strip() for name in rows.pop(0)]
    if all(_is_number(name) for name in names):
        raise ValueError(f"{path} must begin with a row of names, got the numbers {names[:3]}")
    if "" in names:
        raise ValueError(
            f"column {names.index('') + 1} of {path} has no name; pandas writes row numbers like "
            "this unless it is told index=False"
        )
    _check_names(str(path), names)
    for k, row in enumerate(rows, 1):
        if len(row) != len(names):
            raise ValueError(
                f"row {k} of {path} has {len(row)} cells, and the header has {len(names)}"
            )
    return {name: _parse([row[k] for row in rows]) for k, name in enumerate(names)}


def read_parquet(path: Path) -> Columns:
    """The columns of a parquet file, by pyarrow or polars."""
    if find_spec("pyarrow") is not None:
        import pyarrow.parquet

        with report_damage(path):
            about = pyarrow.parquet.ParquetFile(path).metadata
            _check_expansion(path, about.num_rows, about.num_columns)
            table = pyarrow.parquet.read_table(path)
            names = [str(name) for name in table.column_names]
            arrays = [column.to_numpy() for column in table.columns]
        _check_names(str(path), names)
        return dict(zip(names, arrays, strict=True))
    if find_spec("polars") is not None:
        import polars

        with report_damage(path), _panics():
            lazy = polars.scan_parquet(path)
            columns = len(lazy.collect_schema())
            _check_expansion(path, lazy.select(polars.len()).collect().item(), columns)
            frame = polars.read_parquet(path)
        return frame_columns(str(path), frame)
    raise ValueError(
        f"{path} needs a reader of parquet: install pyarrow or polars, or write a csv"
    )


@contextmanager
def _panics() -> Iterator[None]:
    """Turn what polars raises about a damaged file, a panic, into an ordinary exception."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise ValueError(str(error)) from None


def _check_expansion(path: Path, rows: int, columns: int) -> None:
    """Raise if a file announces far more numbers than it has bytes."""
    if 8 * rows * columns > RATIO * max(FLOOR, path.stat().st_size):
        raise DataDamaged(
            f"{path} expands to {rows} rows of {columns} columns, more than {RATIO} times the "
            "file; write a csv if that is meant"
        )


def frame_columns(source: str, frame: Any) -> Columns:  # noqa: ANN401
    """The columns of a data frame of pandas or polars, or of a dictionary of arrays."""
    if isinstance(frame, Mapping):
        names, columns = list(frame), list(frame.values())
        _check_names(source, names)
    elif hasattr(frame, "columns") and hasattr(frame, "to_numpy"):
        names = list(frame.columns)
        _check_names(source, names)
        columns = [frame[name].to_numpy() for name in names]
    else:
        raise ValueError(
            f"{source} must be a data frame of pandas or polars, or a path, got {type(frame)}"
        )
    arrays = [np.asarray(column) for column in columns]
    if any(array.ndim != 1 or len(array) != len(arrays[0]) for array in arrays):
        shapes = [array.shape for array in arrays]
        raise ValueError(f"columns of {source} must have one length, got {shapes}")
    return {str(name): array for name, array in zip(names, arrays, strict=True)}


def _check_names(source: str, given: Sequence[object]) -> None:
    counts = Counter(str(name) for name in given)
    if twice := sorted(name for name, count in counts.items() if count > 1):
        raise ValueError(f"columns of {source} must have different names, got {twice[0]!r} twice")


def _is_number(cell: str) -> bool:
    try:
        _number(cell)
    except ValueError:
        return False
    return True


def _number(cell: str) -> float:
    """The number in a cell; Python would take 3_5 for 35."""
    if "_" in cell:
        raise ValueError(f"{cell!r} is no number")
    return float(cell)


def _parse(cells: list[str]) -> np.ndarray:
    """A column as numbers if every cell is one, else as words."""
    try:
        return np.array([_number(cell) for cell in cells])
    except ValueError:
        return np.array([cell.strip() for cell in cells], dtype=object)


def _check_present(source: str, name: str, column: np.ndarray) -> None:
    """Raise if a cell is empty or no finite number, and name its row."""
    if column.dtype.kind == "f":
        wrong = ~np.isfinite(column)
    elif column.dtype.kind in "mM":
        wrong = np.isnat(column)
    elif column.dtype.kind in "OU":
        wrong = np.array([_is_missing(cell) for cell in column])
    else:
        return
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"row {row + 1} (from 1, below the header), column {name!r} of {source} is "
            f"{str(column[row])!r}: {wrong.sum()} values of this column are missing or not "
            "finite; fill them or leave out their rows"
        )


def _is_missing(cell: object) -> bool:
    if isinstance(cell, float):
        return not math.isfinite(cell)
    return cell is None or str(cell).strip().lower() in MISSING


def _observed(source: str, name: str, column: np.ndarray) -> np.ndarray:
    """A column of observations as float64; words raise."""
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)
    try:  # pandas has columns of numbers among objects
        if column.dtype.kind == "O" and not any(isinstance(cell, str) for cell in column):
            return np.array([float(cell) for cell in column])
    except (TypeError, ValueError):
        pass
    row = next((k for k, cell in enumerate(column) if not _is_number(str(cell))), 0)
    cell, advice = (
        str(column[row]),
        "list it in factors if it is a label, or in drop to leave it out",
    )
    if _is_number(cell.replace(",", "")):
        advice = "write numbers with a decimal point and no other separator"
    raise ValueError(
        f"column {name!r} of {source} holds text, the first in row {row + 1}: {cell!r}; {advice}"
    )


def _standardised(source: str, names: list[str], numbers: np.ndarray) -> np.ndarray:
    """Every column with mean 0 and variance 1; a constant column has no such form and raises."""
    flat = numbers.max(0) == numbers.min(0)
    if flat.any():
        k = int(flat.argmax())
        raise ValueError(
            f"column {names[k]!r} of {source} is constant, every row has {numbers[0, k]:g}, and "
            "cannot be standardised; list it in drop to leave it out"
        )
    with np.errstate(over="ignore", under="ignore"):
        mean, deviation = numbers.mean(0), numbers.std(0)
    for name, value in zip(names, deviation, strict=True):
        if not 0 < value < np.inf:
            raise ValueError(
                f"column {name!r} of {source} cannot be standardised: its deviation is {value} "
                "in double precision; scale it, or list it in drop to leave it out"
            )
    return (numbers - mean) / deviation
