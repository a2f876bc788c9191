"""How well single latents follow single factors, on a straight or a monotonic line."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float, Int, Real
from scipy.optimize import linear_sum_assignment
from scipy.stats import rankdata

from unpick.arrays import Array
from unpick.metrics.inputs import tables
from unpick.names import unknown_choice

Method = Literal["pearson", "spearman"]


@dataclass(frozen=True, eq=False)
class MeanCorrelation:
    """Correlation of each factor with the latent that an assignment gives it.

    Attributes:
        score: Mean over factors; 1 if each factor is a linear (monotonic) map of its own latent.
        matrix: |correlation| of latent j and factor k.
        latents: The latent of each factor; -1 where there are fewer latents than factors.
        per_factor: |correlation| with that latent; 0 where there is none.
    """

    score: float
    matrix: Float[np.ndarray, "d k"]
    latents: Int[np.ndarray, "k"]
    per_factor: Float[np.ndarray, "k"]


def mean_correlation(
    codes: Array,
    factors: Array,
    *,
    method: Method = "pearson",
) -> MeanCorrelation:
    r"""MCC, the mean correlation coefficient (Hyvarinen and Morioka 2016).

    .. math:: \max_\pi \frac1K \sum_k |\mathrm{corr}(z_{\pi(k)}, w_k)|

    The maximum is over assignments of different latents to the factors. A latent too many is left
    out. A factor without a latent counts 0 (the code of SlowVAE gives it a latent of noise
    instead, which correlates a little). A constant latent correlates with nothing.

    Independent noise scores above 0, as there are latents to choose from: 0.045 for 5 latents and
    factors at 1000 observations, 0.054 for 10. A random rotation of the factors scores 0.72 and
    0.59. Neither method does justice to a factor without an order (a shape) or on a circle (an
    orientation).

    Args:
        codes: Latent means.
        factors: The generative factors of the same observations.
        method: `spearman` takes ranks in place of values, and so ignores monotonic maps.

    Example:
        >>> w = np.random.default_rng(0).random((100, 2))
        >>> result = mean_correlation(np.stack([-w[:, 1], w[:, 0]], axis=1), w)
        >>> round(result.score, 12), result.latents.tolist()
        (1.0, [1, 0])
    """
    codes, factors = tables(codes, factors)
    if method not in get_args(Method):
        raise unknown_choice("method", method, Method)
    constant = np.flatnonzero(np.ptp(factors, axis=0) == 0)
    if constant.size:
        raise ValueError(f"factor {constant[0]} is constant: nothing can correlate with it")
    matrix = abs(unit_columns(codes, method).T @ unit_columns(factors, method))
    chosen, matched = linear_sum_assignment(matrix, maximize=True)
    latents = np.full(factors.shape[1], -1)
    latents[matched] = chosen
    per_factor = np.where(latents >= 0, matrix[latents, np.arange(len(latents))], 0.0)
    return MeanCorrelation(float(per_factor.mean()), matrix, latents, per_factor)


def unit_columns(values: Real[np.ndarray, "n d"], method: Method) -> Float[np.ndarray, "n d"]:
    """Columns centred and of length 1, so that inner products are correlations.

    A constant column becomes 0.

    Args:
        values: One row an observation.
        method: `spearman` turns values into ranks first, equal values sharing the mean rank.
    """
    if method not in get_args(Method):
        raise unknown_choice("method", method, Method)
    values = rankdata(values, axis=0) if method == "spearman" else values.astype(np.float64)
    centred = values - values.mean(axis=0)
    # By the range: the mean of equal numbers can differ from them in the last digit.
    centred[:, np.ptp(values, axis=0) == 0] = 0
    length = np.linalg.norm(centred, axis=0)
    return centred / np.where(length == 0, 1.0, length)
