"""Contents for small data files, and the ways in which they are damaged."""

import hashlib
import math

import numpy as np
import pytest
import torch

from unpick.data import DataDamaged, Dataset
from unpick.data.files import numbered_factor


def noise(*shape, top=256):
    return np.random.default_rng(0).integers(0, top, shape, np.uint8)


def small(*sizes):
    return tuple(numbered_factor(f"factor {k}", size) for k, size in enumerate(sizes))


def grid(*sizes):
    return np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1)


def pixels(dataset: Dataset):
    """All images as the bytes they were."""
    return (dataset.observe(torch.arange(len(dataset))) * 255).round().byte().numpy()


def refused(config, *words, load=None):
    """The file is called damaged in one line that has these words."""
    with pytest.raises(DataDamaged) as caught:
        (load or config.load)()
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert str(word) in message
    return message


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path, place=0.5):
    content = bytearray(path.read_bytes())
    content[int(len(content) * place)] ^= 1
    path.write_bytes(content)


def sha256(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
