"""A run on disk: one member's training, in a folder named by the hash of its configuration.

config.json        the configuration; its hash ends the folder's name
environment.json   versions and machine
log.jsonl          the loss and its terms, about 200 records
latents.jsonl      statistics of each latent, every 500 steps
checkpoint-...     while training: all that is needed to resume, the logs included
weights.safetensors, results.json    the result; results.json is written last and marks the end
lock               held while the run is trained (`lock.py`)
measures/          cached measures (`unpick.probe`)
tensorboard/       event files, if they were asked for (`event_log.py`)

Every file is written under a temporary name and renamed, so that no file is half written. Nothing
is pickled. A file that does not match its checksum is refused, never repaired (`results.py`).
"""

import hashlib
import json
import os
import platform
from collections.abc import Sequence
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
from unpick.runs.checkpoint import checkpoints, drop_checkpoints
from unpick.runs.files import DamagedRun, damaged, parse_json, read_bytes, write
from unpick.runs.results import parse_log, read_results, seal
from unpick.training.config import RunConfig, dumps, from_json

__all__ = ["DamagedRun", "Run", "read", "write"]


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
        return read_log(self.path, "log.jsonl")

    def loss_rose(self) -> tuple[float, float] | None:
        """The first and the last logged loss if it rose more than tenfold, else None."""
        losses = [loss for record in self.log() if (loss := record.get("loss")) is not None]
        return (losses[0], losses[-1]) if losses and 0 < 10 * losses[0] < losses[-1] else None

    def latents(self) -> dict[str, Tensor]:
        """Statistics of each latent: `step` (t,); `deviation`, `variance`, `kl`, each (t, d).

        On validation observations, every 500 steps; empty for point posteriors.
        """
        records = read_log(self.path, "latents.jsonl")
        columns = {n: [record[n] for record in records] for n in (records or [{}])[0]}
        return {n: torch.from_numpy(np.array(v, dtype=float)) for n, v in columns.items()}

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
    members = []
    for run in runs:
        try:
            members.append(safetensors.torch.load_file(run.path / "weights.safetensors"))
            expected = {name: tensor.shape[1:] for name, tensor in model.state_dict().items()}
            fits = {name: tensor.shape for name, tensor in members[-1].items()} == expected
        except (OSError, SafetensorError):
            fits = False
        if not fits:
            raise damaged(run.path, "weights.safetensors is not of this configuration's model")
    model.load_state_dict({name: torch.stack([m[name] for m in members]) for name in members[0]})
    return model.to(find_device(runs[0].device)).eval()


def folder(config: RunConfig, root: Path) -> Path:
    """Where a run of this configuration lies."""
    return root / f"{config.label()}-seed{config.seed}-{config.identity()}"


def create(config: RunConfig, root: Path, device: str = "cpu", precision: str = "fp32") -> Path:
    """Make the run's folder, if need be, and record this environment.

    Every environment in which the run was trained is recorded, the latest last.
    """
    path = claim(config, root)
    now = environment() | {"device": device, "precision": precision}
    now["data"] = checksums(config.data)
    record_environment(path, now)
    return path


def claim(config: RunConfig, root: Path) -> Path:
    """Make the run's folder, if need be, and check that it is this configuration's."""
    path = folder(config, root)
    path.mkdir(parents=True, exist_ok=True)
    remove_partial_files(path)
    if not (path / "config.json").exists():
        write(path / "config.json", dumps(config).encode())
    read_config(path)
    return path


def record_environment(path: Path, now: dict[str, object]) -> None:
    """Write an environment; if there is another one already, under `earlier` in it."""
    file, before = path / "environment.json", dict[str, Any]()
    if file.exists():
        try:
            before = parse_json(read_bytes(file))
            earlier = before.pop("earlier", [])
            fits = isinstance(earlier, list)
        except (OSError, ValueError, AttributeError, TypeError):
            fits = False
        if not fits:
            raise damaged(path, "environment.json cannot be read")
        if before and before != now:
            earlier = [*earlier, before]
        now = now | ({"earlier": earlier} if earlier else {})
    write(file, json.dumps(now, indent=2).encode())


def read_config(path: Path) -> RunConfig:
    """The configuration in a run folder, checked against the folder's name."""
    try:
        config = from_json(parse_json(read_bytes(path / "config.json")), RunConfig)
    except FileNotFoundError:
        raise damaged(path, "there is no config.json") from None
    except (OSError, ValueError) as error:
        raise damaged(path, f"config.json cannot be read ({error})") from None
    if not path.absolute().name.endswith(config.identity()):
        raise damaged(path, "config.json does not match the hash in the folder's name")
    return config


def read(path: Path, device: str = "cpu", network: NetworkFactory | None = None) -> Run | None:
    """The finished run in this folder, or None if it is not finished; damage raises.

    Args:
        path: The folder.
        device: Where the run's model is put when it is loaded.
        network: Makes the networks, if the run has networks of the user's own.
    """
    if not is_finished(path):
        return None
    config = read_config(path)
    if network is not None and isinstance(config.model.network, OwnNetwork):
        config.model.network.check(network)
    try:
        results = read_results(path, config.identity())
    except (OSError, ValueError) as error:
        raise damaged(path, str(error)) from None
    return Run(path, config, results, device, network)


def is_finished(path: Path) -> bool:
    """Whether the run in this folder is marked as finished."""
    return os.path.lexists(path / "results.json")


def read_log(path: Path, name: str) -> list[dict[str, Any]]:
    """The records of one of a run's logs."""
    try:
        return parse_log(read_bytes(path / name))
    except (OSError, ValueError) as error:
        raise damaged(path, f"{name} cannot be read ({error})") from None


def remove_partial_files(path: Path) -> None:
    """Remove half-written files that a kill left behind. Call it only while holding the lock."""
    for half in path.glob(".*.[0-9]*"):
        half.unlink()


def has_leftovers(path: Path) -> bool:
    """Whether a kill left files in the folder of a finished run that it has no use for."""
    return is_finished(path) and bool(checkpoints(path) or [*path.glob(".*.[0-9]*")])


def sweep(path: Path) -> None:
    """Remove them. Call it only while holding the lock."""
    remove_partial_files(path)
    drop_checkpoints(path)


def save_weights(path: Path, weights: dict[str, Tensor]) -> str:
    """Write the weights of a run; their sha256."""
    content = safetensors.torch.save({k: v.cpu().contiguous() for k, v in weights.items()})
    write(path / "weights.safetensors", content)
    return hashlib.sha256(content).hexdigest()


def save_results(path: Path, config: RunConfig, results: dict[str, Any]) -> None:
    """Write the results, which marks the run as finished. Weights and logs must be there."""
    results = seal(path, config.identity(), results)
    write(path / "results.json", json.dumps(results, indent=2, allow_nan=False).encode())


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
