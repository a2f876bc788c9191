"""A run on disk: one member's training, in a folder named by the hash of its configuration.

config.json        the configuration; its hash ends the folder's name
environment.json   versions and machine
log.jsonl          the loss and its terms, about 200 records
latents.jsonl      statistics of each latent, every 500 steps
checkpoint-...     while training: all that is needed to resume
weights.safetensors, results.json    the result; results.json is written last and marks the end
measures/          cached measures (`unpick.probe`)
tensorboard/       event files, if they were asked for (`event_log.py`)

Every file is written under a temporary name and renamed, so that no file is half written. Nothing
is pickled. A file that does not match its checksum is refused, never repaired.
"""

import contextlib
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
from unpick.data import checksums
from unpick.devices import find_device
from unpick.models import Model, NetworkFactory, OwnNetwork, build
from unpick.training.config import RunConfig, dumps, from_json

LOGS = ("log.jsonl", "latents.jsonl")


class DamagedRun(ValueError):
    """A run folder is damaged; the message names the folder and the reason."""


def damaged(path: Path, what: str) -> DamagedRun:
    """The error to raise about a folder."""
    return DamagedRun(f"{path}: {what}; delete the folder to train this run again")


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run.

    Attributes:
        path: Its folder.
        config: The run's configuration.
        results: Final loss terms, seconds, shape of the data, checksum of the weights.
        device: Where the model is put when it is loaded.
        network: Makes the networks, if they are the user's own: a folder never has the code.
    """

    path: Path
    config: RunConfig
    results: dict[str, Any]
    device: str = "cpu"
    network: NetworkFactory | None = None

    def log(self) -> list[dict[str, Any]]:
        """The records logged while training."""
        return [json.loads(line) for line in (self.path / "log.jsonl").read_text().splitlines()]

    def latents(self) -> dict[str, Tensor]:
        """Statistics of each latent: `step` (t,); `deviation`, `variance`, `kl`, each (t, d).

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
    seeds = [run.config.seed for run in runs]
    model = build(config, shape, seeds, decodes, runs[0].network)
    members = [safetensors.torch.load_file(run.path / "weights.safetensors") for run in runs]
    model.load_state_dict({name: torch.stack([m[name] for m in members]) for name in members[0]})
    return model.to(find_device(runs[0].device)).eval()


def folder(config: RunConfig, root: Path) -> Path:
    """Where a run of this configuration lies."""
    return root / f"{config.label()}-seed{config.seed}-{config.identity()}"


def create(config: RunConfig, root: Path, device: str = "cpu", precision: str = "fp32") -> Path:
    """Make the run's folder, if need be, and check that it is this configuration's.

    Every environment in which the run was trained is recorded, the latest last.
    """
    path = folder(config, root)
    path.mkdir(parents=True, exist_ok=True)
    remove_partial_files(path)
    now = environment() | {"device": device, "precision": precision}
    now["data"] = checksums(config.data)
    record_environment(path / "environment.json", now)
    if not (path / "config.json").exists():
        write(path / "config.json", dumps(config).encode())
    read_config(path)
    return path


def record_environment(file: Path, now: dict[str, object]) -> None:
    """Write an environment; if there is another one already, under `earlier` in it."""
    before: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError):
        before = dict(json.loads(file.read_text()))
    earlier = before.pop("earlier", [])
    if before and before != now:
        earlier = [*earlier, before]
    write(file, json.dumps(now | ({"earlier": earlier} if earlier else {}), indent=2).encode())


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


def read(path: Path, device: str = "cpu", network: NetworkFactory | None = None) -> Run | None:
    """The finished run in this folder, or None if it is not finished; damage raises.

    Args:
        path: The folder.
        device: Where the run's model is put when it is loaded.
        network: Makes the networks, if the run has networks of the user's own.
    """
    if not (path / "results.json").exists():
        return None
    config = read_config(path)
    if network is not None and isinstance(config.model.network, OwnNetwork):
        config.model.network.check(network)
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
    return Run(path, config, results, device, network)


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


def remove_partial_files(path: Path) -> None:
    """Remove half-written files that a kill left behind. Call it only while holding the lock."""
    for half in path.glob(".*.[0-9]*"):
        half.unlink()


def trim_logs(path: Path, step: int) -> None:
    """Remove log records after `step`, and a last line that a kill cut off."""
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
    """The same record with null for values that are not finite, which JSON cannot hold."""
    return {name: _finite(value) for name, value in record.items()}


def _finite(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return value if math.isfinite(value) else None


def finish(path: Path, weights: dict[str, Tensor], results: dict[str, Any]) -> None:
    """Write weights, then results, then drop the checkpoints."""
    content = safetensors.torch.save({k: v.cpu().contiguous() for k, v in weights.items()})
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
    """Versions and machine: what a result may depend on besides its configuration."""
    return {
        "unpick": unpick.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
    }
