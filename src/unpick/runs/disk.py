"""A run on disk: one member's training, in a folder named by the hash of its configuration.

config.json        what was asked for; its hash is the end of the folder's name
environment.json   where it ran
log.jsonl          the loss and its terms, about 200 records
latents.jsonl      what each latent does, every 500 steps
checkpoint-...     while it is under way: all that is needed to go on
weights.safetensors, results.json    when it is done; results.json comes last and marks that

Every file is written under a temporary name and renamed, so that a file that is there is whole.
Nothing is pickled. What does not fit its checksum is refused, never repaired.
"""

import hashlib
import json
import math
import os
import platform
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

import unpick
from unpick.models import Model, build
from unpick.training.config import RunConfig, dumps, from_json

LOGS = ("log.jsonl", "latents.jsonl")


class DamagedRun(ValueError):
    """A run folder is not what it should be; the message names it and says why."""


def damaged(path: Path, what: str) -> DamagedRun:
    """The error to raise about a folder."""
    return DamagedRun(f"{path}: {what}; delete the folder to train this run again")


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run.

    Attributes:
        path: Its folder.
        config: What was asked for.
        results: What came out: final terms, seconds, shape of the data, checksum of the weights.
    """

    path: Path
    config: RunConfig
    results: dict[str, Any]

    def log(self) -> list[dict[str, Any]]:
        """The records logged while training."""
        return [json.loads(line) for line in (self.path / "log.jsonl").read_text().splitlines()]

    def latents(self) -> dict[str, Tensor]:
        """What each latent did: `step` (t,), and `deviation`, `variance` and `kl`, each (t, d).

        On validation observations, every 500 steps; empty for point posteriors.
        """
        try:
            lines = (self.path / "latents.jsonl").read_text().splitlines()
            records = [json.loads(line) for line in lines]
            columns = {n: [record[n] for record in records] for n in (records or [{}])[0]}
            return {n: torch.from_numpy(np.array(v, dtype=float)) for n, v in columns.items()}
        except (OSError, ValueError, KeyError):
            raise damaged(self.path, "latents.jsonl cannot be read") from None

    def model(self) -> Model:
        """The trained model, an ensemble of one."""
        return load_together([self])


def load_together(runs: Sequence[Run]) -> Model:
    """The trained models of several runs of one architecture, as one ensemble."""
    built = {
        (run.config.model, tuple(run.results["shape"]), run.config.objective.decodes)
        for run in runs
    }
    if len(built) > 1:
        raise ValueError("runs of different architectures cannot be loaded as one ensemble")
    config, shape, decodes = built.pop()
    model = build(config, shape, [run.config.seed for run in runs], decodes)
    members = [safetensors.torch.load_file(run.path / "weights.safetensors") for run in runs]
    model.load_state_dict({name: torch.stack([m[name] for m in members]) for name in members[0]})
    return model.eval()


def folder(config: RunConfig, root: Path) -> Path:
    """Where a run of this configuration lies."""
    return root / f"{config.label()}-seed{config.seed}-{config.identity()}"


def create(config: RunConfig, root: Path) -> Path:
    """Make the run's folder, if need be, and check that it is this configuration's."""
    path = folder(config, root)
    path.mkdir(parents=True, exist_ok=True)
    sweep_halves(path)
    if not (path / "config.json").exists():
        write(path / "environment.json", json.dumps(environment(), indent=2).encode())
        write(path / "config.json", dumps(config).encode())
    read_config(path)
    return path


def read_config(path: Path) -> RunConfig:
    """The configuration in a run folder, checked against the folder's name."""
    try:
        config = from_json(json.loads((path / "config.json").read_text()), RunConfig)
    except FileNotFoundError:
        raise damaged(path, "there is no config.json") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise damaged(path, f"config.json cannot be read ({error})") from None
    if not path.name.endswith(config.identity()):
        raise damaged(path, "config.json does not match the hash in the folder's name")
    return config


def read(path: Path) -> Run | None:
    """The finished run in this folder, or None if it is not finished; damage raises."""
    if not (path / "results.json").exists():
        return None
    config = read_config(path)
    try:
        results = json.loads((path / "results.json").read_text())
        digest, _ = results["weights_sha256"], results["seconds"]
    except (ValueError, KeyError, TypeError):
        raise damaged(path, "results.json cannot be read") from None
    weights = path / "weights.safetensors"
    if not weights.exists():
        raise damaged(path, "weights.safetensors is missing")
    if hashlib.sha256(weights.read_bytes()).hexdigest() != digest:
        raise damaged(path, "weights.safetensors does not match its checksum")
    return Run(path, config, results)


def checkpoints(path: Path) -> dict[int, Path]:
    """The checkpoints in a folder, by step."""
    found = path.glob("checkpoint-*.safetensors")
    named = {file: re.fullmatch(r"checkpoint-(\d+)-\w+\.safetensors", file.name) for file in found}
    return {int(match[1]): file for file, match in named.items() if match}


def save_checkpoint(path: Path, step: int, state: dict[str, Tensor]) -> None:
    """Write one member's state; the file's name carries its checksum."""
    content = safetensors.torch.save({k: v.contiguous() for k, v in state.items()})
    digest = hashlib.sha256(content).hexdigest()[:16]
    write(path / f"checkpoint-{step:09d}-{digest}.safetensors", content)


def drop_checkpoints(path: Path, but: int) -> None:
    """Drop all checkpoints but that of one step."""
    for step, file in checkpoints(path).items():
        if step != but:
            file.unlink()


def load_checkpoint(file: Path) -> dict[str, Tensor]:
    """Read one member's state, if its checksum is right."""
    content = file.read_bytes()
    if hashlib.sha256(content).hexdigest()[:16] != file.stem.split("-")[2]:
        raise damaged(file.parent, f"{file.name} does not match its checksum")
    try:
        return safetensors.torch.load(content)
    except SafetensorError as error:
        raise damaged(file.parent, f"{file.name} cannot be read ({error})") from None


def sweep_halves(path: Path) -> None:
    """Drop half-written files that a kill left behind; only for who holds the lock."""
    for half in path.glob(".*.[0-9]*"):
        half.unlink()


def sweep(path: Path, step: int) -> None:
    """Drop the records after `step`, and a line that a kill cut off."""
    for name in LOGS:
        file, kept = path / name, []
        for line in file.read_text().splitlines() if file.exists() else ():
            try:
                if json.loads(line)["step"] <= step:
                    kept.append(line + "\n")
            except ValueError:
                break
        write(file, "".join(kept).encode())


def append_log(path: Path, records: Iterable[dict[str, Any]], name: str = "log.jsonl") -> None:
    """Add records to a log."""
    with (path / name).open("a") as file:
        file.writelines(json.dumps(finite(record), allow_nan=False) + "\n" for record in records)


def finite(record: dict[str, Any]) -> dict[str, Any]:
    """The same with null for what is not finite, which JSON has no word for."""
    return {name: _finite(value) for name, value in record.items()}


def _finite(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return value if math.isfinite(value) else None


def finish(path: Path, weights: dict[str, Tensor], results: dict[str, Any]) -> None:
    """Write weights, then results, then drop the checkpoints."""
    content = safetensors.torch.save({k: v.contiguous() for k, v in weights.items()})
    write(path / "weights.safetensors", content)
    results = {**results, "weights_sha256": hashlib.sha256(content).hexdigest()}
    write(path / "results.json", json.dumps(results, indent=2, allow_nan=False).encode())
    for file in checkpoints(path).values():
        file.unlink()


def write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def environment() -> dict[str, object]:
    """What a number may depend on besides its configuration."""
    return {
        "unpick": unpick.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
    }
