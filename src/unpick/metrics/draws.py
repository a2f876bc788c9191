"""Row numbers of observations that share the value of one factor."""

import numpy as np
from jaxtyping import Int


def fixed_factor_groups(
    labels: Int[np.ndarray, "rows k"], n: int, batch: int, rng: np.random.Generator | None = None
) -> tuple[Int[np.ndarray, "n batch"], Int[np.ndarray, "n"]]:
    """Groups of row numbers that share the value of one random factor, and that factor."""
    rng = rng or np.random.default_rng(0)
    held = rng.integers(labels.shape[1], size=n)
    first = np.repeat(rng.integers(len(labels), size=(n, 1)), batch, axis=1)
    return _rows_with_the_same_value(labels, first, held, rng), held


def shared_factor_pairs(
    labels: Int[np.ndarray, "rows k"], n: int, batch: int, rng: np.random.Generator | None = None
) -> tuple[Int[np.ndarray, "n batch 2"], Int[np.ndarray, "n"]]:
    """Pairs of row numbers that share the value of one random factor, and that factor."""
    rng = rng or np.random.default_rng(0)
    shared = rng.integers(labels.shape[1], size=n)
    first = rng.integers(len(labels), size=(n, batch))
    return np.stack([first, _rows_with_the_same_value(labels, first, shared, rng)], axis=2), shared


def _rows_with_the_same_value(
    labels: np.ndarray, rows: np.ndarray, factor: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """For each row number (n, batch) a random row with the same value of its group's factor."""
    mates = np.empty_like(rows)
    for k, column in enumerate(labels.T):
        counts = np.bincount(column)
        if counts.min() < 2:
            raise ValueError(
                f"factor {k} has {(counts < 2).sum()} values with a single row, shared by no "
                "other; give more rows, or cut the factor into fewer bins with factor_bins"
            )
        starts = np.cumsum(counts) - counts
        # Numbers of 16 bits are sorted by counting.
        small = column.astype(np.uint16) if len(counts) < 2**16 else column
        by_value = np.argsort(small, kind="stable")
        values = column[rows[factor == k]]
        mates[factor == k] = by_value[starts[values] + rng.integers(counts[values])]
    return mates
