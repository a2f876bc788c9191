"""How far a twin is from its original, seen without any model."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from unpick.data import DataConfig, DataDamaged, DataMissing, split

IMAGES = 1000  # of the test part
COMPONENTS = 30


@dataclass(frozen=True, eq=False)
class Difference:
    """Over test images.

    Attributes:
        largest: Change of any pixel.
        typical: Root mean square change of a pixel.
        share: Variance of the change, as a share of the original's variance.
        variances: Of the twin along its first principal components, as shares of the same.
    """

    largest: float
    typical: float
    share: float
    variances: Float[np.ndarray, "components"]


def difference(original: DataConfig, twin: DataConfig) -> Difference | None:
    """Of a twin, or of the original from itself; None if one of them is not there or broken."""
    try:
        after, before = images(twin), images(original)
    except (DataMissing, DataDamaged):
        return None
    changed = after - before
    whole = (before - before.mean(0)).square().sum()
    return Difference(
        largest=float(changed.abs().max()),
        typical=float(changed.square().mean().sqrt()),
        share=float((changed - changed.mean(0)).square().sum() / whole),
        variances=(principal(after)[:COMPONENTS] / whole).numpy(),
    )


def principal(x: Float[Tensor, "n p"]) -> Float[Tensor, "n"]:
    """Sums of squares along principal components, descending."""
    centred = x - x.mean(0)
    return torch.linalg.eigvalsh(centred @ centred.T).flip(0).clamp(min=0)


@cache
def images(data: DataConfig) -> Float[Tensor, "n p"]:
    """Flat test images."""
    dataset = data.load()
    return dataset.observe(split(dataset).test[:IMAGES]).flatten(1).double()
