"""Trainings of a user's own function, kept like runs: what they say of the test images.

The function returns an encoder, which is code and cannot be kept. Its codes can: a folder in
`runs/own` has them, named by the function, the content of its file, the data and the seed.
"""

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import safetensors.torch
from jaxtyping import Float
from torch import Tensor

from unpick.data import DataConfig, Dataset
from unpick.models import OwnNetwork
from unpick.probe import NotFinite, Probe
from unpick.probe.cache import twin_checksum
from unpick.runs import disk
from unpick.training.config import to_json, without_paths

FOLDER, CODES, RESULTS = "own", "codes.safetensors", "results.json"

Encode = Callable[[Any], Any]
Fit = Callable[[Dataset, int], Encode]


def encode_with(fit: Fit, dataset: Dataset, seed: int, x: Float[Tensor, "n ..."]) -> Tensor | None:
    """Train, and encode observations to means (n, d); None if they are not finite."""
    encode = fit(dataset, seed)
    if not callable(encode):
        got = type(encode).__name__
        raise ValueError(f"fit must return encode, a function of observations, got {got}")
    try:
        return Probe(encode, None, x).mean.cpu()
    except NotFinite:
        return None


def folder_of(fit: Fit, data: DataConfig, seed: int, observations: int, root: Path) -> Path:
    """Where a training lies; another file, function, data set or seed lies elsewhere.

    Files that the function's file imports do not count.

    Args:
        fit: The user's function.
        data: What it is trained on.
        seed: Its second argument.
        observations: How many test observations are encoded.
        root: The folder of run folders.
    """
    key = describe(fit, data, seed, observations)
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:12]
    return root / FOLDER / f"{key['function']}-{data.name}-seed{seed}-{digest}"


def describe(fit: Fit, data: DataConfig, seed: int, observations: int) -> dict[str, Any]:
    """What decides about a training, as JSON values."""
    own = OwnNetwork.of(fit)  # type: ignore[arg-type]  # any function has a name and a file
    return {
        "function": own.function,
        "sha256": own.sha256,
        "data": without_paths(to_json(data)),
        "twin": twin_checksum(data),
        "seed": seed,
        "observations": observations,
    }


def save(folder: Path, codes: Tensor | None, key: dict[str, Any], seconds: float) -> None:
    """Write the codes, then results.json, which marks the end; no codes if they diverged."""
    folder.mkdir(parents=True, exist_ok=True)
    content = b"" if codes is None else safetensors.torch.save({"codes": codes.contiguous()})
    results = {
        **key,
        "seconds": round(seconds, 3),
        "codes_sha256": hashlib.sha256(content).hexdigest(),
        "environment": disk.environment(),
    }
    disk.write(folder / CODES, content)
    disk.write(folder / RESULTS, json.dumps(results, indent=2).encode())


def read(folder: Path) -> Tensor | None:
    """The codes of a finished training, None if they diverged; raises if they are damaged."""
    try:
        content = (folder / CODES).read_bytes()
        expected = json.loads((folder / RESULTS).read_text())["codes_sha256"]
    except (OSError, ValueError, KeyError, TypeError):
        raise disk.damaged(folder, "results.json or codes.safetensors cannot be read") from None
    if hashlib.sha256(content).hexdigest() != expected:
        raise disk.damaged(folder, "codes.safetensors does not match its checksum")
    return safetensors.torch.load(content)["codes"] if content else None


def train_or_read(
    fit: Fit,
    data: DataConfig,
    dataset: Dataset,
    seed: int,
    x: Float[Tensor, "n ..."],
    root: Path,
    on_training: Callable[[], object],
) -> Tensor | None:
    """The codes of a training, read if it is on disk; None if they are not finite.

    Args:
        fit: The user's function.
        data: What names the data set.
        dataset: What it loads.
        seed: The second argument of `fit`.
        x: The observations to encode.
        root: The folder of run folders.
        on_training: Called before it is trained.
    """
    folder = folder_of(fit, data, seed, len(x), root)
    if (folder / RESULTS).exists():
        return read(folder)
    on_training()
    started = time.monotonic()
    codes = encode_with(fit, dataset, seed, x)
    save(folder, codes, describe(fit, data, seed, len(x)), time.monotonic() - started)
    return codes
