"""Observations as what a browser shows: PNG images, or lists of numbers."""

import base64
import io
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor

from unpick.diagnosis.figures import as_images
from unpick.probe import Probe


def png(pixels: Float[Tensor, "c h w"]) -> str:
    """An image in [0, 1] as a data address that an <img> takes."""
    scaled = (pixels.clamp(0, 1) * 255).round().to(torch.uint8).permute(1, 2, 0).numpy()
    image = Image.fromarray(scaled[..., 0] if scaled.shape[2] == 1 else scaled)
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=1)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


def show(probe: Probe, x: Float[Tensor, "n ..."]) -> list[Any]:
    """Observations for the page: PNG addresses of images, lists of numbers otherwise.

    Pixels are scaled by the range of the data, widened to [0, 1].
    """
    images = as_images(x)
    if images is None:
        return [rounded(row) for row in x.flatten(1)]
    low, high = pixel_range(probe)
    return [png((image - low) / (high - low)) for image in images]


def pixel_range(probe: Probe) -> tuple[float, float]:
    """The darkest and the brightest pixel of the data, at most 0 and at least 1."""
    seen = probe.observations
    return min(0.0, float(seen.min())), max(1.0, float(seen.max()))


def show_changes(probe: Probe, changes: Float[Tensor, "n ..."]) -> list[Any]:
    """Changes of observations: red more, blue less, white none; the largest has full colour."""
    images = as_images(changes)
    if images is None:
        return [rounded(row) for row in changes.flatten(1)]
    scaled = images.mean(1) / max(float(images.mean(1).abs().max()), 1e-12)
    red = torch.tensor([0.70, 0.09, 0.17])[:, None, None]
    blue = torch.tensor([0.13, 0.40, 0.67])[:, None, None]
    drawn = []
    for one in scaled:
        tint = torch.where(one > 0, red, blue)
        drawn.append(png(1 - one.abs() * (1 - tint)))
    return drawn


def rounded(values: Tensor | np.ndarray, digits: int = 5) -> list[Any]:
    """Numbers with few digits, as nested lists; null where they are not finite."""
    array = np.asarray(values, dtype=float)
    with np.errstate(all="ignore"):
        size = np.where(array == 0, 1, 10.0 ** (digits - 1 - np.floor(np.log10(np.abs(array)))))
        short = np.where(np.isfinite(array), np.round(array * size) / size, np.nan)
    return _without_nan(short.tolist())


def _without_nan(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, list):
        return [_without_nan(each) for each in value]
    return None if value != value else value
