"""The arrays of a metric, checked, and factors as classes."""

import numpy as np
from jaxtyping import Float, Int, Real

from unpick.arrays import Array, to_numpy


def tables(
    codes: Array,
    factors: Array,
    *,
    rows: int = 2,
    latents: int = 1,
    n_factors: int = 1,
) -> tuple[Float[np.ndarray, "n d"], Real[np.ndarray, "n k"]]:
    """Codes and factors as numpy arrays; raises for too few rows, latents or factors.

    Args:
        codes: One row an observation.
        factors: The generative factors of the same observations.
        rows: The fewest observations that make sense.
        latents: The fewest columns of codes.
        n_factors: The fewest columns of factors.
    """
    z = to_numpy("codes", codes, "observations, latents", floating=True)
    w = to_numpy("factors", factors, "observations, factors")
    (n, d), (m, k) = z.shape, w.shape
    if n != m or n < rows:
        raise ValueError(
            f"codes and factors must have the same {rows} or more rows, got {n} and {m}"
        )
    if d < latents:
        raise ValueError(f"codes must have at least {latents} columns, got {d}")
    if k < n_factors:
        raise ValueError(f"factors must have at least {n_factors} columns, got {k}")
    return z, w


def classes(factors: Real[np.ndarray, "n k"], bins: int | None = None) -> Int[np.ndarray, "n k"]:
    """Factor values as class numbers 0, 1, ..., in the order of the values.

    Args:
        factors: Discrete values, or continuous ones with `bins`.
        bins: Cut every factor into so many bins of equal width first; None takes values as they
            are, and refuses a factor that has a value of its own for most rows.

    Example:
        >>> classes(np.array([[0.5, 7.0], [0.1, 7.0], [0.5, 3.0]]), bins=None).tolist()
        [[1, 1], [0, 1], [1, 0]]
    """
    if bins is not None:
        factors = histogram_bins(factors, bins)
    columns = []
    for k, column in enumerate(factors.T):
        values, labels = np.unique(column, return_inverse=True)
        if len(values) < 2:
            raise ValueError(f"factor {k} is constant: there is nothing to tell apart")
        if looks_continuous(column):
            raise ValueError(
                f"factor {k} has {len(values)} different values in {len(column)} rows and looks "
                "continuous; pass factor_bins=20 to cut it into bins"
            )
        columns.append(labels)
    return np.stack(columns, axis=1)


def looks_continuous(column: Real[np.ndarray, "n"]) -> bool:
    """Whether most rows have a value of their own."""
    return len(np.unique(column)) > max(2, len(column) // 2)


def histogram_bins(values: Real[np.ndarray, "n d"], bins: int) -> Int[np.ndarray, "n d"]:
    """The bin, 1 to `bins`, of every value: equal widths between each column's extremes.

    A column that is constant, up to a few rounding errors, falls into one bin.

    Example:
        >>> histogram_bins(np.array([[0.0], [0.4], [0.6], [1.0]]), 2).ravel().tolist()
        [1, 1, 2, 2]
    """
    if bins < 2:
        raise ValueError(f"bins must be at least 2, got {bins}")
    if not np.issubdtype(values.dtype, np.floating):
        values = values.astype(np.float64)
    return np.stack([_bins(column, bins) for column in np.ascontiguousarray(values.T)], axis=1)


def _bins(column: np.ndarray, bins: int) -> np.ndarray:
    low, high = column.min(), column.max()
    if high - low <= 2 * bins * np.spacing(max(abs(low), abs(high))):
        return np.ones(len(column), dtype=np.int64)
    # np.histogram's own edges, so that a value on an edge falls where it does there.
    edges = np.histogram_bin_edges(column, bins)
    # Division tells the bin but for rounding, several times faster than a search does.
    found = np.minimum((column - low) * (bins / (high - low)), bins - 1).astype(np.int64)
    found -= column < edges[found]
    return found + 1 + ((column >= edges[found + 1]) & (found < bins - 1))
