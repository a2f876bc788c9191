"""Linear regression on the nearest rows of a point, for growing neighbourhoods."""

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

COLLINEAR = 1e-5  # smallest singular value of standardised factors, below which one follows


class Fit(NamedTuple):
    """One regression, and the squared error at its point if that is left out."""

    gram: Float[np.ndarray, "d d"]
    noise: Float[np.ndarray, "d"]
    power: Float[np.ndarray, "p d"]
    error: float


class Sums(NamedTuple):
    """Sums over the rows of a neighbourhood, of differences from its point.

    W is a column of ones and the factors, X the observations.
    """

    rows: int
    ww: Float[np.ndarray, "k k"]
    wx: Float[np.ndarray, "k p"]
    xx: Float[np.ndarray, "p"]


def fit(sums: Sums) -> Fit | None:
    """The regression of X on W; None if columns of W are collinear without the point."""
    unknowns = len(sums.ww)
    others = sums.ww.copy()
    others[0, 0] -= 1  # the point's own row of W is 1, 0, ..., 0
    size = np.sqrt(others.diagonal())
    if sums.rows <= unknowns or not size.all():
        return None
    if np.linalg.eigvalsh(others / np.outer(size, size))[0] < COLLINEAR**2:
        return None
    inverse = np.linalg.inv(sums.ww)
    found = inverse @ sums.wx
    residual = (sums.xx - (found * sums.wx).sum(0)).clip(min=0)
    variance = residual / (sums.rows - unknowns)
    slopes, spread = found[1:], inverse[1:, 1:]
    added = variance.sum() * spread
    power = np.square(slopes.T) - np.outer(variance, spread.diagonal())
    # The point's own X is 0, so its residual is the intercept.
    error = float(np.square(found[0] / (1 - inverse[0, 0])).sum())
    return Fit(slopes @ slopes.T - added, added.diagonal(), power, error)


def neighbourhood_sums(
    w: Float[np.ndarray, "m k"], x: Float[np.ndarray, "m p"], sizes: Sequence[int]
) -> Iterator[Sums]:
    """The sums over the first rows, for growing sizes: each row is read once."""
    ww, wx, xx = (0.0, 0.0, 0.0)
    for start, stop in itertools.pairwise((0, *sizes)):
        more, new = w[start:stop], x[start:stop].astype(float) - x[0]
        ww, wx, xx = ww + more.T @ more, wx + more.T @ new, xx + np.square(new).sum(0)
        yield Sums(min(stop, len(w)), ww, wx, xx)
