"""Numbers as the papers print them."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

RESTARTS = 10  # behind every mean and deviation of Zietlow (2022)
DIGIT = 0.01  # the last one printed


@dataclass(frozen=True)
class Printed:
    """A published value: mean and deviation over restarts; no deviation if none is printed."""

    mean: float
    std: float = math.nan

    @property
    def error(self) -> float:
        """Standard error: of ten restarts, and of rounding to the last digit printed."""
        return math.sqrt(self.std**2 / RESTARTS + DIGIT**2 / 12)

    def __str__(self) -> str:
        return f"{self.mean:g}" if math.isnan(self.std) else f"{self.mean:.2f} ± {self.std:.2f}"


def published(table: str, row: str, column: str) -> Mapping[str, Printed]:
    """The values of one entry by measure; empty where nothing is printed.

    Example:
        >>> print(published("thesis-3.3", "synth-lin", "ae")["DtO"])
        0.33 ± 0.18
    """
    tables = _tables()
    if table not in tables:
        raise ValueError(f"no table {table!r}; there are {', '.join(tables)}")
    values = tables[table]["rows"].get(row, {})
    return {m: Printed(**entries[column]) for m, entries in values.items() if column in entries}


@cache
def _tables() -> dict[str, Any]:
    return json.loads((files("unpick.studies") / "published.json").read_text())
