"""Checkpoints: one member's state in one file, whose name carries its step and its checksum."""

import hashlib
import re
from pathlib import Path

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from unpick.runs.files import LARGEST_WEIGHTS, damaged, read_bytes, write


def checkpoints(path: Path) -> dict[int, Path]:
    """The checkpoints in a folder, by step."""
    found = path.glob("checkpoint-*.safetensors")
    named = {file: re.fullmatch(r"checkpoint-(\d+)-\w+\.safetensors", file.name) for file in found}
    return {int(match[1]): file for file, match in named.items() if match}


def save_checkpoint(path: Path, step: int, state: dict[str, Tensor]) -> None:
    """Write one member's state; the file's name carries its checksum."""
    state = {**state, "run": to_tensor(path.absolute().name.encode())}
    content = safetensors.torch.save({k: v.contiguous() for k, v in state.items()})
    digest = hashlib.sha256(content).hexdigest()[:16]
    write(path / f"checkpoint-{step:09d}-{digest}.safetensors", content)


def drop_checkpoints(path: Path, but: int = -1) -> None:
    """Drop all checkpoints, or all but that of one step."""
    for step, file in checkpoints(path).items():
        if step != but:
            file.unlink()


def load_checkpoint(file: Path) -> dict[str, Tensor]:
    """Read one member's state, if its checksum is right and it is of this folder's run."""
    try:
        content = read_bytes(file, LARGEST_WEIGHTS)
        if hashlib.sha256(content).hexdigest()[:16] != file.stem.split("-")[2]:
            raise damaged(file.parent, f"{file.name} does not match its checksum")
        state = safetensors.torch.load(content)
        name = file.absolute().parent.name.encode()
        if (run := state.pop("run", None)) is not None and to_bytes(run) != name:
            raise damaged(file.parent, f"{file.name} is of another run")
    except (OSError, SafetensorError) as error:
        raise damaged(file.parent, f"{file.name} cannot be read ({error})") from None
    return state


def to_tensor(content: bytes) -> Tensor:
    """Bytes as a checkpoint can hold them."""
    return torch.from_numpy(np.array(bytearray(content), dtype=np.uint8))


def to_bytes(tensor: Tensor) -> bytes:
    """The inverse of `to_tensor`."""
    return tensor.numpy().tobytes()
