"""The logs of an ensemble in training: what is logged of each member, and how it survives a kill.

A checkpoint has the logs up to its step, and they are written from it when training goes on. So
they do not depend on when training was stopped. A member that diverges has its last record at the
step at which it did, whoever else is still trained.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from unpick.runs.checkpoint import to_bytes, to_tensor
from unpick.runs.files import parse_json, write
from unpick.runs.results import LOGS
from unpick.training import Tick, Training


class Logs:
    """The logs of the members of an ensemble.

    Args:
        paths: The folders of the runs.
        states: What the checkpoints have; empty where training starts at step 0.
        step: Where training goes on.
    """

    def __init__(
        self, paths: Sequence[Path], states: Sequence[dict[str, Tensor]], step: int
    ) -> None:
        self.paths = paths
        self.lines: dict[str, list[list[str]]] = {}
        for name in LOGS:
            if not states:
                self.lines[name] = [[] for _ in paths]
                continue
            contents = [
                to_bytes(state.pop(name)) if name in state else log_until(path / name, step)
                for state, path in zip(states, paths, strict=True)
            ]
            self.lines[name] = [content.decode().splitlines() for content in contents]
        self.ended = {k for k, state in enumerate(states) if int(state["stopped"]) >= 0}
        self.save()

    def add(self, training: Training, tick: Tick) -> list[list[dict[str, Any]]]:
        """Add what is due at this tick; the new records of each member."""
        added = []
        for k in range(len(self.paths)):
            records = {}
            if k not in training.stopped:
                values = (tick.terms if tick.due else {}, tick.latents)
                for name, table in zip(LOGS, values, strict=True):
                    if table:
                        own = {key: value[k].tolist() for key, value in table.items()}
                        records[name] = {"step": tick.step, **own}
            elif k not in self.ended:
                self.ended.add(k)
                step = training.stopped[k] + 1
                records[LOGS[0]] = {"step": step, **training.last_terms[k]}
            for name, record in records.items():
                self.lines[name][k].append(json.dumps(finite(record), allow_nan=False))
            added.append([finite(record) for record in records.values()])
        return added

    def last_terms(self, k: int) -> dict[str, float | None]:
        """The loss and its terms in the last record of a member; none before the first step."""
        lines = self.lines[LOGS[0]][k]
        record = json.loads(lines[-1]) if lines else {"step": 0}
        return {name: value for name, value in record.items() if name != "step"}

    def save(self) -> None:
        """Write all logs."""
        for k, path in enumerate(self.paths):
            for name in LOGS:
                write(path / name, self._content(name, k))

    def tensors(self, k: int) -> dict[str, Tensor]:
        """A member's logs, for its checkpoint."""
        return {name: to_tensor(self._content(name, k)) for name in LOGS}

    def _content(self, name: str, k: int) -> bytes:
        return "".join(line + "\n" for line in self.lines[name][k]).encode()


def log_until(file: Path, step: int) -> bytes:
    """The records of a log up to a step, for checkpoints of versions that had no logs in them."""
    kept = []
    for line in file.read_bytes().splitlines() if file.exists() else ():
        try:
            if parse_json(line)["step"] <= step:
                kept.append(line + b"\n")
        except (ValueError, TypeError, KeyError):
            break  # cut off by a kill
    return b"".join(kept)


def finite(record: Mapping[str, Any]) -> dict[str, Any]:
    """The same record with null for values that are not finite, which JSON cannot hold."""
    return {name: _finite(value) for name, value in record.items()}


def _finite(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return value if math.isfinite(value) else None
