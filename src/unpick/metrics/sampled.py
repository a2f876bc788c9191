"""Mutual information of sampled posteriors with factors, from their mixture densities."""

import numpy as np
from jaxtyping import Float, Int

CELLS_AT_ONCE = 2**16  # densities in work at a time: they stay in a core's cache


def sampled_information(
    means: Float[np.ndarray, "n d"],
    log_variances: Float[np.ndarray, "m e"],
    labels: Int[np.ndarray, "n k"],
    points: int = 10_000,
    rng: np.random.Generator | None = None,
) -> Float[np.ndarray, "d k"]:
    r"""I(z_j; v_k) of Gaussian posteriors, in nats (Chen et al. 2018, appendix C).

    .. math:: I(z_j; v_k) = \mathbb E \log \frac{q(z_j | v_k)}{q(z_j)}, \qquad
        q(z_j) = \frac1N \sum_n q(z_j | x_n), \quad
        q(z_j | v) = \frac1{N_v} \sum_{n: v_k(x_n) = v} q(z_j | x_n)

    The expectation is over random rows and one sample z of each one's posterior. It is the
    difference of the entropies H(z_j) and H(z_j | v_k), both estimated on the same points, so that
    much of the chance in them cancels; values weigh by their share of the rows, which on a full
    grid is a plain average over values. Negative estimates are cut off at 0.

    The rows stand for the whole data set. Where posteriors are much narrower than the distance
    between neighbouring means, a sample tells which row it came from, and every latent seems to
    know every factor.

    Args:
        means: Of the posteriors.
        log_variances: Of the posteriors.
        labels: The factors as classes.
        points: Rows of the expectation, at most all. Time grows with points x rows.
        rng: Draws rows and samples.
    """
    if log_variances.shape != means.shape:
        raise ValueError(
            f"log_variances must have the shape of the codes, {means.shape}, "
            f"got {log_variances.shape}"
        )
    most = 0.9 * float(np.log(np.finfo(np.result_type(means, log_variances)).max))
    if np.abs(log_variances).max() > most:
        raise ValueError(
            f"log_variances must lie between {-most:.0f} and {most:.0f} in "
            f"{log_variances.dtype}, got {log_variances.min():g} to {log_variances.max():g}"
        )
    if points < 1:
        raise ValueError(f"points must be at least 1, got {points}")
    rng = rng or np.random.default_rng(0)
    n = len(means)
    chosen = rng.permutation(n)[:points]
    noise = rng.standard_normal((len(chosen), means.shape[1])).astype(means.dtype)
    z = means[chosen] + np.exp(0.5 * log_variances[chosen]) * noise
    marginal = mixture_log_density(z, means, log_variances)
    information = np.empty((means.shape[1], labels.shape[1]))
    for k, column in enumerate(labels.T):
        conditional = np.empty_like(marginal)
        for value in np.unique(column[chosen]):
            here, rows = column[chosen] == value, column == value
            conditional[here] = mixture_log_density(z[here], means[rows], log_variances[rows])
        information[:, k] = (conditional - marginal).mean(axis=0)
    return np.maximum(information, 0.0)


def mixture_log_density(
    z: Float[np.ndarray, "p d"],
    means: Float[np.ndarray, "n d"],
    log_variances: Float[np.ndarray, "n d"],
) -> Float[np.ndarray, "p d"]:
    """Log density of each latent under the equal mixture of all rows' Gaussians, by itself.

    Every z must come from one of the rows: its own density keeps the sum away from 0, and no
    scaling is needed.
    """
    # exp is many times slower where it underflows; what is cut off weighs nothing.
    lowest = 0.9 * np.log(np.finfo(means.dtype).tiny)
    scale, weights = -0.5 * np.exp(-log_variances).T, np.exp(-0.5 * log_variances).T
    centres = means.T.copy()
    sums = np.zeros(z.shape, dtype=np.float64)
    width = min(len(means), CELLS_AT_ONCE)
    height = max(1, CELLS_AT_ONCE // width)
    for j in range(z.shape[1]):
        for top in range(0, len(z), height):
            rows = slice(top, top + height)
            for left in range(0, len(means), width):
                part = slice(left, left + width)
                exponent = z[rows, j, None] - centres[j, part]
                with np.errstate(over="ignore"):  # minus infinity is cut off, too
                    exponent *= exponent
                    exponent *= scale[j, part]
                np.maximum(exponent, lowest, out=exponent)
                sums[rows, j] += np.exp(exponent, out=exponent) @ weights[j, part]
    return np.log(sums / (len(means) * np.sqrt(2 * np.pi)))
