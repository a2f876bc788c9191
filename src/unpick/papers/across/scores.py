"""Scores that more than one study across the papers uses."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from unpick.metrics import disentanglement_score


def active_ds(
    codes: Float[np.ndarray, "n d"],
    active: Bool[np.ndarray, "d"],
    factors: Float[np.ndarray, "n k"],
    classes: Sequence[bool] | None = None,
) -> float:
    """DS of the latents in use; the others count as constant, since nobody is given them."""
    if not active.any():
        return 0.0
    codes = np.where(active, codes, 0.0)
    if codes.shape[1] < 2:
        codes = np.concatenate([codes, np.zeros_like(codes)], 1)
    return disentanglement_score(codes, factors, classes).score
