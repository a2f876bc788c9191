"""results.json and the logs of a run: what they must look like, and the digest that binds them.

The digest is a sha256 over results.json, and results.json has those of the weights, the logs and
the environment. So a run whose numbers were damaged, edited or taken from another run is refused.
It is no signature: whoever rewrites the digest, too, is believed. Runs that were finished by a
version without digests have none; their files are checked for their form only.
"""

import hashlib
import json
import math
import re
from pathlib import Path
from typing import Any

from unpick.runs.files import (
    LARGEST_WEIGHTS,
    is_count,
    is_number,
    parse_json,
    read_bytes,
    sha256_of,
)

LOGS = ("log.jsonl", "latents.jsonl")
COVERED = (*LOGS, "environment.json")  # files whose sha256 is in results.json
LARGEST_SHAPE = 2**28  # numbers of one observation


def seal(path: Path, identity: str, results: dict[str, Any]) -> dict[str, Any]:
    """Results with the digests of the files in the run's folder, and with their own.

    Args:
        path: The folder.
        identity: Of the run's configuration.
        results: What results.json is to say.
    """
    results = {**results, "files": {name: sha256_of(path / name) for name in COVERED}}
    return {**results, "digest": digest(identity, results)}


def digest(identity: str, results: dict[str, Any]) -> str:
    """A sha256 over results and the configuration's hash."""
    content = {name: value for name, value in results.items() if name != "digest"}
    return hashlib.sha256(json.dumps([identity, content], sort_keys=True).encode()).hexdigest()


def read_results(path: Path, identity: str) -> dict[str, Any]:
    """What results.json in a run's folder says; raises ValueError unless all its files fit it."""
    try:
        results = parse_json(read_bytes(path / "results.json"))
        problem = _problem(results)
    except (OSError, ValueError) as error:
        problem = str(error)
    if problem:
        raise ValueError(f"results.json cannot be read ({problem})")
    if "digest" in results and results["digest"] != digest(identity, results):
        raise ValueError("results.json does not match its digest")
    for name, expected in results.get("files", {}).items():
        if not (path / name).exists():
            raise ValueError(f"{name} is missing")
        if sha256_of(path / name) != expected:
            raise ValueError(f"{name} does not match its checksum")
    if not (path / "weights.safetensors").exists():
        raise ValueError("weights.safetensors is missing")
    weights = sha256_of(path / "weights.safetensors", LARGEST_WEIGHTS)
    if weights != results["weights_sha256"]:
        raise ValueError("weights.safetensors does not match its checksum")
    return results


def _problem(results: Any) -> str:  # noqa: ANN401
    """What is wrong with the form of results.json; empty if nothing is."""
    if not isinstance(results, dict):
        return f"it is no object but {_short(results)}"
    checks = {
        "shape": _is_shape,
        "seconds": lambda value: is_number(value) and value >= 0,
        "stopped": lambda value: value is None or is_count(value),
        "terms": lambda value: isinstance(value, dict) and all(map(_is_value, value.values())),
        "weights_sha256": _is_sha256,
    }
    if "digest" in results or "files" in results:
        checks |= {"digest": _is_sha256, "files": _are_digests}
    if missing := checks.keys() - results.keys():
        return f"{sorted(missing)[0]} is missing"
    wrong = [name for name, fits in checks.items() if not fits(results[name])]
    return f"{wrong[0]} is {_short(results[wrong[0]])}" if wrong else ""


def _is_shape(value: Any) -> bool:  # noqa: ANN401
    if not isinstance(value, list) or not value or not all(map(is_count, value)):
        return False
    return 0 < math.prod(value) <= LARGEST_SHAPE


def _is_value(value: object) -> bool:
    return value is None or is_number(value)  # null stands for what is not finite


def _is_sha256(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def _are_digests(value: object) -> bool:
    if not isinstance(value, dict) or {*value} != {*COVERED}:
        return False
    return all(map(_is_sha256, value.values()))


def _short(value: object) -> str:
    text = repr(value) if not isinstance(value, int) or is_count(abs(value)) else "a huge number"
    return text if len(text) < 60 else f"{text[:60]}..."


def parse_log(content: bytes) -> list[dict[str, Any]]:
    """The records of a log; raises ValueError unless every line is one, in order."""
    records = [parse_json(line) for line in content.decode().splitlines()]
    last = -1
    for record in records:
        if not isinstance(record, dict) or not is_count(record.get("step")):
            raise ValueError(f"a record must have a step, got {_short(record)}")
        if record["step"] <= last:
            raise ValueError(f"step {record['step']} stands after step {last}")
        last = record["step"]
        if (form := _form(record)) != _form(records[0]) or -1 in form.values():
            raise ValueError(f"the record of step {last} is not like the others")
    return records


def _form(record: dict[str, Any]) -> dict[str, int]:
    """The length of each list; 0 for a value, -1 for anything else."""
    return {name: _length(value) for name, value in record.items()}


def _length(value: Any) -> int:  # noqa: ANN401
    if isinstance(value, list):
        return len(value) if value and all(map(_is_value, value)) else -1
    return 0 if _is_value(value) else -1
