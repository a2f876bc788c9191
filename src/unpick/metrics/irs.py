"""The interventional robustness score: does a latent stay put while other factors change?"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from unpick.arrays import Array
from unpick.metrics.inputs import classes, tables


@dataclass(frozen=True, eq=False)
class IRS:
    """How little each latent moves once its factor is held.

    Attributes:
        score: Mean over latents, weighted by `weights`; 1 if each latent is a function of one
            factor. 0 if all latents are constant.
        matrix: 1 - the deviation of latent j (row) while factor k (column) is held, as a share
            of its largest deviation. 0 for a constant latent.
        per_latent: The largest of each row.
        weights: The largest deviation of each latent from its mean; 0 for a constant one.
    """

    score: float
    matrix: Float[np.ndarray, "d k"]
    per_latent: Float[np.ndarray, "d"]
    weights: Float[np.ndarray, "d"]


def irs(
    codes: Array,
    factors: Array,
    *,
    quantile: float = 0.99,
    factor_bins: int | None = None,
) -> IRS:
    r"""IRS (Suter et al. 2019, section 4).

    .. math:: R_{jk} = 1 - \frac{\operatorname{mean}_v Q(|z_j - \bar z_{j,v}| : v_k = v)}
        {\max |z_j - \bar z_j|}

    Q is the quantile of the deviations from the mean of the rows that share the value v. The
    paper takes the maximum (`quantile=1`); 0.99, as in Locatello et al. 2019, forgives one point
    in a hundred. Their code cuts factors into 20 bins too, which `factor_bins=20` does.

    Chance is not 0: where the rows of a value are few, or the largest deviation is an outlier,
    latents that have nothing to do with any factor score well above it. Two latents that hold the
    same factor cost nothing, and a factor that no latent holds costs nothing.

    Args:
        codes: Latent means.
        factors: Discrete generative factors of the same observations.
        quantile: Of the deviations within a value.
        factor_bins: For each factor, if factors are continuous.

    Example:
        >>> values = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> irs(values @ np.array([[1.0, 1.0], [0.0, 1.0]]), values).matrix
        array([[1. , 0. ],
               [0.5, 0.5]])
    """
    codes, factors = tables(codes, factors)
    if not 0 <= quantile <= 1:
        raise ValueError(f"quantile must lie in 0 to 1, got {quantile}")
    labels = classes(factors, factor_bins)
    codes = codes.astype(np.float64)  # a mean over a million float32 loses digits
    moving = codes.max(axis=0) > codes.min(axis=0)
    weights = np.where(moving, np.abs(codes - codes.mean(axis=0)).max(axis=0), 0.0)
    within = np.stack(
        [_deviation_within_values(codes, column, quantile) for column in labels.T], axis=1
    )
    share = np.divide(within, weights[:, None], out=np.ones_like(within), where=moving[:, None])
    matrix = 1 - share
    per_latent = matrix.max(axis=1)
    score = float(np.average(per_latent, weights=weights)) if moving.any() else 0.0
    return IRS(score, matrix, per_latent, weights)


def _deviation_within_values(codes: np.ndarray, labels: np.ndarray, quantile: float) -> np.ndarray:
    """The quantile of deviations within a value of one factor (d), averaged over values."""
    order = np.argsort(labels, kind="stable")
    groups = np.split(codes[order], np.cumsum(np.bincount(labels))[:-1])
    within = [
        np.quantile(np.abs(group - group.mean(axis=0)), quantile, axis=0) for group in groups
    ]
    return np.mean(within, axis=0)
