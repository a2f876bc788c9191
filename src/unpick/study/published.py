"""Numbers as the papers print them."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Printed:
    """A published value: mean and deviation over restarts; no deviation if none is printed.

    Attributes:
        mean: Over restarts.
        std: Nan if there is none.
        restarts: How many; ten in chapter 4 of Zietlow (2022), which chapter 3 is assumed to
            share. None if nothing is known.
        digits: Printed after the point.
    """

    mean: float
    std: float = math.nan
    restarts: int | None = 10
    digits: int = 2

    @property
    def error(self) -> float:
        """Standard error, of the restarts and of rounding to the last digit printed.

        Nan if the number of restarts is not known.
        """
        if self.restarts is None:
            return math.nan
        return math.sqrt(self.std**2 / self.restarts + 10 ** (-2 * self.digits) / 12)

    def __str__(self) -> str:
        if math.isnan(self.std):
            return f"{self.mean:g}"
        places = max(2, len(f"{round(self.std, self.digits):g}") - 2)  # 3 for 0.014
        return f"{self.mean:.{self.digits}f} ± {self.std:.{places}f}"


def read_entry(file: Path, table: str, row: str, column: str) -> Mapping[str, Printed]:
    """The values of one entry of a table by measure; empty where nothing is printed.

    Args:
        file: A paper's `published.json`.
        table: Name of the table in it.
        row: Of the table.
        column: Of the table.
    """
    tables = _read_tables(file)
    if table not in tables:
        raise ValueError(f"no table {table!r}; there are {', '.join(tables)}")
    values = tables[table]["rows"].get(row, {})
    return {m: Printed(**entries[column]) for m, entries in values.items() if column in entries}


@cache
def _read_tables(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text())
