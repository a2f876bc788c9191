"""What was measured on a run is kept in its folder, and believed if it still fits the run."""

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from unpick.runs import Run
from unpick.runs.disk import write


def kept(
    run: Run, name: str, stamp: dict[str, Any], take: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """What `take` gives: read from the run's folder if it was taken before, else taken and kept.

    Args:
        run: Which was measured; a file about other weights is not believed.
        name: Of the file.
        stamp: How it is measured; a file with another stamp is not believed.
        take: Measures; gives what JSON can hold.
    """
    file = run.path / name
    stamp = {**stamp, "weights_sha256": run.results["weights_sha256"]}
    # What cannot be read, or was edited, or measured in another way, is measured again.
    with suppress(OSError, ValueError, KeyError, TypeError):
        content = json.loads(file.read_text())
        if content["stamp"] == stamp and content["digest"] == _digest(content["values"]):
            return content["values"]
    values = take()
    content = {"stamp": stamp, "digest": _digest(values), "values": values}
    write(file, json.dumps(content, indent=1, allow_nan=False).encode())
    return values


def _digest(values: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]
