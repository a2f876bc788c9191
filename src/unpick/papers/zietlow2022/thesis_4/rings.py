"""Whether a cyclic factor, such as a hue, lies along a line of the latent space or on a ring."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Shaped

POLAR = 0.75  # between a line, at most 1/2, and a ring


@dataclass(frozen=True)
class Ring:
    """How a factor lies in the two latents that vary most with it.

    Attributes:
        share: Of the variance of its mean codes, what a ring that is passed once explains. 1 for
            a regular ring; at most 1/2 on any straight line, an axis or not.
        latents: The two, from 0; the one that varies most comes first.
    """

    share: float
    latents: tuple[int, int]

    @property
    def polar(self) -> bool:
        """Whether it is nearer to a ring than to any line; an ellipse of axes 2 to 1 has 0.9."""
        return self.share > POLAR


def ring(codes: Float[np.ndarray, "n d"], values: Shaped[np.ndarray, "n"]) -> Ring:
    r"""Tell a polar embedding from a Cartesian one (Zietlow 2022, section 4.3.6).

    With the mean code of the k-th of n values in two latents as a complex number w_k, less the
    mean of all, the share is

    .. math:: \max_{\pm} \Big|\frac1n \sum_k w_k e^{\pm 2 \pi i k / n}\Big|^2
              \Big/ \frac1n \sum_k |w_k|^2

    On a line w is real up to a phase, both signs give the same, and both together at most 1.

    Args:
        codes: Latent means.
        values: Of the factor; in ascending order they go once around its cycle.

    Example:
        >>> turn = 2 * np.pi * np.arange(6) / 6
        >>> ring(np.stack([np.cos(turn), 0 * turn, np.sin(turn)], axis=1), np.arange(6)).latents
        (0, 2)
    """
    cycle = np.unique(values)
    if len(cycle) < 3:
        raise ValueError(f"values must take at least 3 values to lie on a ring, got {len(cycle)}")
    if codes.shape[1] < 2:
        raise ValueError(f"codes must have at least 2 latents, got {codes.shape[1]}")
    means = np.stack([codes[values == value].mean(0) for value in cycle])
    means = means - means.mean(0)
    first, second = np.argsort(-means.var(0), kind="stable")[:2].tolist()
    powers = np.abs(np.fft.fft(means[:, first] + 1j * means[:, second])) ** 2
    whole = powers.sum()
    share = float(max(powers[1], powers[-1]) / whole) if whole > 0 else 0.0
    return Ring(share, (first, second))
