"""Runs in progress, read from their folders: what the page shows while they train."""

import contextlib
import json
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from unpick.data import split
from unpick.explorer.pictures import rounded
from unpick.geometry import decoder_jacobians, distance_to_orthogonality
from unpick.geometry.polarized import delta_kl_of_latents
from unpick.runs import disk
from unpick.runs.checkpoint import checkpoints, load_checkpoint
from unpick.runs.files import DamagedRun, read_bytes
from unpick.training import Training

RECORDS = 200  # of a curve, at most
LOG_BYTES = 5_000_000  # of a log, at most: a larger file is no log of ours
SQUARE = 15  # lines of a latent square to either side
POINTS = 64  # Jacobians of an unfinished run
IDLE = 300.0  # seconds without news after which a run counts as interrupted


def find_runs(folders: Sequence[Path]) -> list[Path]:
    """The run folders among these folders and directly inside them, by name."""
    found = {}
    for folder in folders:
        inside = sorted(folder.iterdir()) if folder.is_dir() else []
        for path in [folder, *inside]:
            if (path / "config.json").is_file():
                found[path.resolve()] = path
    return list(found.values())


def status(path: Path) -> dict[str, Any]:
    """How far a run is, and its curves so far. A folder that cannot be read says why."""
    try:
        config = disk.read_config(path)
        log, latents = _records(path / "log.jsonl"), _records(path / "latents.jsonl")
        done = (path / "results.json").exists()
    except (DamagedRun, OSError, ValueError) as error:
        return {"name": path.name, "state": "damaged", "reason": str(error)}
    step = config.steps if done else max([r["step"] for r in [*log, *latents]], default=0)
    touched = max((file.stat().st_mtime for file in _files(path)), default=0.0)
    waiting = time.time() - touched > IDLE
    return {
        "name": path.name,
        "state": "finished" if done else "interrupted" if waiting else "training",
        "step": step,
        "steps": config.steps,
        "left": None if done else _seconds_left(path, step, config.steps),
        "terms": _columns(log),
        "latents": _latent_curves(latents),
    }


def _files(path: Path) -> list[Path]:
    return [file for name in ("log.jsonl", "latents.jsonl") if (file := path / name).exists()]


def _records(file: Path) -> list[dict[str, Any]]:
    """The records of a log, thinned; a last line that is still being written is left out."""
    if not file.exists():
        return []
    records = []
    for line in read_bytes(file, LOG_BYTES).splitlines():
        with contextlib.suppress(ValueError, RecursionError):
            record = json.loads(line)
            if isinstance(record, dict) and isinstance(record.get("step"), int):
                records.append(record)
    return records[:: max(1, len(records) // RECORDS)] + records[-1:]


def _columns(records: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    names = [name for name, value in (records[-1] if records else {}).items() if not _many(value)]
    return {name: [record.get(name) for record in records] for name in names}


def _many(value: object) -> bool:
    return isinstance(value, list | dict | str)


def _latent_curves(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Delta_KL and the variance of each latent over training."""
    try:
        table = {
            name: torch.tensor([record[name] for record in records], dtype=torch.float64)
            for name in ("deviation", "variance", "kl")
        }
        found = delta_kl_of_latents(**table)
    except (KeyError, TypeError, ValueError, RuntimeError):  # an autoencoder, or a half record
        return {}
    if not records:
        return {}
    return {
        "step": [record["step"] for record in records],
        "delta_kl": rounded(found, 4),
        "variance": rounded(table["variance"], 4),
        "active": (table["deviation"] > 0.5).sum(-1).tolist(),
    }


def _seconds_left(path: Path, step: int, steps: int) -> float | None:
    """From the time spent so far, which the last checkpoint knows."""
    saved = checkpoints(path)
    if not saved or not step:
        return None
    latest = max(saved)
    with contextlib.suppress(DamagedRun, OSError, KeyError):
        spent = float(load_checkpoint(saved[latest])["seconds"])
        return round(spent / latest * (steps - latest), 1)
    return None


@lru_cache(maxsize=8)
def _snapshot(path: Path, checkpoint: Path) -> dict[str, Any]:
    config = disk.read_config(path)
    if not config.objective.decodes:
        return {}
    dataset = config.data.load()
    training = Training([config], dataset, "cpu")
    state = load_checkpoint(checkpoint)
    step = int(checkpoint.name.split("-")[1])
    training.restore(step, [state])
    model = training.model.eval()
    with torch.no_grad():
        x = dataset.observe(split(dataset).test[:POINTS])
        z = model.encode(x[None]).mean[0]
    jacobians = decoder_jacobians(lambda points: model.decode_mean(points[None])[0], z)
    found: dict[str, Any] = {"step": step}
    if z.shape[1] > 1:
        dto = distance_to_orthogonality(jacobians)
        found |= {"dto": dto.mean, "chance": dto.chance}
    values = dataset.values
    if values is not None and values.shape[1] == 2 and z.shape[1] == 2:
        with torch.no_grad():
            rows = torch.randperm(len(values), generator=torch.Generator().manual_seed(0))[:3000]
            codes = model.encode(dataset.observe(rows)[None]).mean[0]
        found["square"] = {"codes": rounded(codes, 4), "at": rounded(values[rows], 3)}
    return found


def snapshot(path: Path) -> dict[str, Any]:
    """DtO and, for a bent square, its picture in latent space, from the latest checkpoint."""
    saved = checkpoints(path)
    if not saved:
        return {}
    try:
        return _snapshot(path, saved[max(saved)])
    except (DamagedRun, OSError, ValueError, KeyError):  # replaced while it was read
        return {}
