"""Rank correlations of what was foretold and what was measured, with tests."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Float
from scipy.stats import beta as beta_distribution
from scipy.stats import rankdata

DRAWS = 2000  # of permutations and of bootstrap samples
LEVEL = 0.05
Values: TypeAlias = Sequence[float] | Float[np.ndarray, "n"]
Pairs: TypeAlias = Mapping[str, tuple[Values, Values]]  # by data set: foretold, measured


@dataclass(frozen=True)
class Rank:
    """A rank correlation, its 95 % interval over data sets, and the chance of one as high."""

    value: float
    low: float
    high: float
    p: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f}, p = {self.p:.3g})"


def spearman(pairs: Pairs) -> float:
    """Of all foretold and measured values together; nan if all of one kind are equal."""
    a, b = (rankdata(np.concatenate([np.asarray(p[k]) for p in pairs.values()])) for k in (0, 1))
    a, b = a - a.mean(), b - b.mean()
    size = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / size) if size else math.nan


def kendall_within(pairs: Pairs) -> float:
    """Kendall's tau (a) over all couples of values from the same data set."""
    agree, couples = 0.0, 0
    for values in pairs.values():
        a, b = (np.asarray(v) for v in values)
        agree += (np.sign(a[:, None] - a) * np.sign(b[:, None] - b)).sum()
        couples += len(a) * (len(a) - 1)
    return agree / couples if couples else math.nan


def rank(pairs: Pairs, statistic: Callable[[Pairs], float], *, within: bool = False) -> Rank:
    """A rank statistic, with a permutation test and a bootstrap over data sets.

    Args:
        pairs: Foretold and measured values by data set.
        statistic: Of such pairs.
        within: Whether measured values are shuffled within their data sets only.
    """
    rng = np.random.default_rng(0)
    value, names = statistic(pairs), [*pairs]
    sizes = [len(pairs[name][1]) for name in names]
    every = np.concatenate([np.asarray(pairs[name][1]) for name in names])
    higher = 0
    for _ in range(DRAWS):
        if within:
            parts = [rng.permutation(pairs[name][1]) for name in names]
        else:
            parts = np.split(rng.permutation(every), np.cumsum(sizes)[:-1])
        shuffled = {n: (pairs[n][0], part) for n, part in zip(names, parts, strict=True)}
        higher += statistic(shuffled) >= value - 1e-12
    again = []
    for _ in range(DRAWS // 5):
        drawn = rng.integers(len(names), size=len(names))
        again.append(statistic({f"{k}": pairs[names[i]] for k, i in enumerate(drawn)}))
    low, high = np.nanquantile(again, [LEVEL / 2, 1 - LEVEL / 2])
    return Rank(value, float(low), float(high), (1 + higher) / (1 + DRAWS))


def share_interval(hits: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a share by Clopper and Pearson (1934)."""
    low = beta_distribution.ppf(LEVEL / 2, hits, n - hits + 1) if hits else 0.0
    high = beta_distribution.ppf(1 - LEVEL / 2, hits + 1, n - hits) if hits < n else 1.0
    return float(low), float(high)
