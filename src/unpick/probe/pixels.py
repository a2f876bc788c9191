"""The scale of images: which of the usual ones a model was trained on, found by trying them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

SOME = 64  # observations that are reconstructed to compare scales
ENOUGH = 0.5  # share of the variance that the right scale explains at least

KNOWN = "x holds whole numbers from 0 to 255;"


@dataclass(frozen=True)
class Scale:
    """What is done to observations before they are encoded: (x + shift) / divisor.

    Attributes:
        divisor: 1 leaves the values as they are.
        shift: Added first.
        channels_first: Whether the last axis is moved to the front.
        keeps: Whether nothing at all is done.
        said: The same as a sentence.
    """

    divisor: float = 1.0
    shift: float = 0.0
    channels_first: bool = False
    keeps: bool = True
    said: str = ""

    def apply(self, x: Tensor) -> Tensor:
        """Observations as the model wants them."""
        if self.channels_first:
            x = x.movedim(-1, 1)
        return x if self.keeps else (x.float() + self.shift) / self.divisor


def candidates(x: Tensor) -> list[Scale]:
    """The scales that observations may have to be brought to; the first is as they are.

    Only whole numbers from 0 to 255 that look like images leave a choice.
    """
    if not is_pixels(x):
        return [Scale()]
    scales = [
        Scale(keeps=False, said=f"{KNOWN} they were encoded as they are."),
        Scale(255.0, keeps=False, said=f"{KNOWN} they were divided by 255."),
        Scale(127.5, -127.5, keeps=False, said=f"{KNOWN} they were brought to [-1, 1]."),
    ]
    if x.ndim == 4 and x.shape[-1] in (1, 3, 4) and x.shape[1] not in (1, 3, 4):
        scales += [
            Scale(
                s.divisor, s.shift, True, False, f"{s.said} The last axis was taken for colours."
            )
            for s in scales
        ]
    return scales


def is_pixels(x: Tensor) -> bool:
    """Whether these look like pixels in 0..255: bytes, or images of whole numbers above 1."""
    if x.dtype == torch.uint8:
        return int(x.max()) > 1
    some = x[:SOME]
    if x.ndim < 3 or some.is_complex() or not 1 < some.max() <= 255 or some.min() < 0:
        return False
    return not some.is_floating_point() or bool((some == some.round()).all())


def pick_scale(tried: Mapping[Scale, Any], x: Tensor) -> Scale:
    """The scale at which the model reconstructs; raise if none stands out, or none can be used.

    Args:
        tried: For each scale the model, or the error that it raised.
        x: Observations.
    """
    models = {scale: m for scale, m in tried.items() if not isinstance(m, Exception)}
    if not models:
        raise next(iter(tried.values()))
    if len(tried) == 1:
        return next(iter(models))
    rows = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))[:SOME]
    missed = {}
    for scale, model in models.items():
        scaled = scale.apply(x[rows])
        given = scaled.flatten(1).double()
        found = model.decode(model.encode(scaled).mean).flatten(1).double()
        total = (given - given.mean(0)).square().sum()
        if found.shape == given.shape:
            missed[scale] = float((given - found).square().sum() / total)
    ranked = sorted(missed, key=lambda scale: missed[scale])
    best = ranked[0] if ranked else None
    clear = len(ranked) == 1 or (best and missed[best] < 0.5 * missed[ranked[1]])
    if best is None or missed[best] > 1 - ENOUGH or not clear:
        told = ", ".join(f"{1 - missed[s]:.0%} if {s.said[len(KNOWN) + 1 : -1]}" for s in ranked)
        raise ValueError(
            "x holds whole numbers from 0 to 255, and which scale the model was trained on does "
            f"not show: reconstructions explain {told}. Pass x in the scale of training, as floats"
        )
    return best
