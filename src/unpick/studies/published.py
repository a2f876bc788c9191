"""The numbers in the papers, from the data file beside this module."""

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def published(table: str) -> dict[str, Any]:
    """One table as it was printed: rows by data set, then measure, then method.

    Example:
        >>> published("thesis-3.3")["rows"]["synth-lin"]["DtO"]["ae"]
        {'mean': 0.33, 'std': 0.18}
    """
    tables = json.loads((files("unpick.studies") / "published.json").read_text())
    if table not in tables:
        raise ValueError(f"no table {table!r}; there are {', '.join(tables)}")
    return tables[table]
