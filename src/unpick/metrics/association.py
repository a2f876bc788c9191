"""How strongly two quantities go together, and how sure one can be of it."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from unpick.arrays import Array, to_numpy
from unpick.metrics.correlation import Method, unit_columns


@dataclass(frozen=True)
class Correlation:
    """A coefficient and its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


@dataclass(frozen=True)
class Association:
    """Correlation of two samples, on a straight and on a monotonic line.

    Attributes:
        pearson: Of the values.
        spearman: Of the ranks, equal values sharing the mean rank.
        n: The number of pairs.
        level: The share of samples whose interval holds the true coefficient.
    """

    pearson: Correlation
    spearman: Correlation
    n: int
    level: float


def association(x: Array, y: Array, level: float = 0.95) -> Association:
    r"""Pearson's r and Spearman's rho with intervals on Fisher's scale.

    .. math:: \tanh\left(\tanh^{-1} r \pm q \sqrt{v / (n - 3)}\right)

    q is the normal quantile; v = 1 for Pearson (Fisher 1921) and v = 1 + rho^2 / 2 for Spearman
    (Bonett and Wright 2000). Both are right for normal pairs, Spearman's for any monotonic
    map of them, as long as |rho| stays below 0.95 or so. Pairs that lie on a line exactly leave
    an interval of one point.

    Args:
        x: One quantity, a value for each of at least 4 pairs.
        y: The other one.
        level: Of the intervals.

    Example:
        >>> x = np.arange(10.0)
        >>> found = association(x, (x - 3) ** 2)
        >>> print(found.pearson)
        0.76 [0.26, 0.94]
    """
    x, y = to_numpy("x", x, "pairs"), to_numpy("y", y, "pairs")
    if x.shape != y.shape or len(x) < 4:
        raise ValueError(f"x and y must have 4 or more values each, got {len(x)} and {len(y)}")
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    for name, values in (("x", x), ("y", y)):
        if np.ptp(values) == 0:
            raise ValueError(f"{name} is constant, {values[0]}: nothing correlates with it")
    quantile = float(ndtri((1 + level) / 2))
    r, rho = _coefficient(x, y, "pearson"), _coefficient(x, y, "spearman")
    return Association(
        _interval_on_fishers_scale(r, quantile * math.sqrt(1 / (len(x) - 3))),
        _interval_on_fishers_scale(rho, quantile * math.sqrt((1 + rho**2 / 2) / (len(x) - 3))),
        len(x),
        level,
    )


def _coefficient(x: np.ndarray, y: np.ndarray, method: Method) -> float:
    a, b = unit_columns(np.stack([x, y], axis=1), method).T
    return float(np.clip(a @ b, -1, 1))  # rounding may lead beyond


def _interval_on_fishers_scale(value: float, half: float) -> Correlation:
    if abs(value) == 1:
        return Correlation(value, value, value)
    middle = math.atanh(value)
    return Correlation(value, math.tanh(middle - half), math.tanh(middle + half))
