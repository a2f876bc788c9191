"""Comparisons of means over seeds: decided by a test, or undecided, with the power of the test.

Every test is Welch's: the error of a weighted sum of means comes from the spread of each group,
with Satterthwaite's degrees of freedom. Power is the share of simulated repeats that are decided.
The repeats are normal, with the spreads and numbers of seeds that were found.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Bool, Float
from scipy.stats import t as student

Values: TypeAlias = Float[np.ndarray, "_"]  # one a seed
LEVEL = 0.05  # of a two-sided test
REPEATS = 4000  # simulated, for the power


@dataclass(frozen=True)
class Comparison:
    """A comparison of means over seeds, decided or not.

    Attributes:
        holds: Whether it is decided as claimed (True) or the other way (False); None: undecided.
        difference: Of the means, positive if it goes as claimed.
        low: Lower end of its confidence interval.
        high: Upper end.
        p: The p-value; nan if a group has fewer than two seeds.
        power: Chance that the expected difference would be decided; nan if none is expected.
    """

    holds: bool | None
    difference: float
    low: float
    high: float
    p: float
    power: float = math.nan

    def __str__(self) -> str:
        if math.isnan(self.p):
            return f"{_signed(self.difference)}, too few seeds"
        power = "" if math.isnan(self.power) else f", power {self.power:.0%}"
        return f"{_signed(self.difference)}, {_signed(self.low)} to {_signed(self.high)}{power}"


def _signed(number: float) -> str:
    return f"{number:+.0f}" if abs(number) >= 100 else f"{number:+.2g}"


@dataclass(frozen=True)
class Group:
    """What a test needs of the seeds of a group. Mean and square may be arrays of repeats.

    Attributes:
        mean: Over seeds.
        square: Squared standard error of the mean.
        free: Degrees of freedom.
    """

    mean: Any
    square: Any
    free: float

    def repeats(self, mean: float, generator: np.random.Generator) -> "Group":
        """Repeats of the experiment, with this true mean and the spread that was found."""
        means = generator.normal(mean, math.sqrt(self.square), REPEATS)
        scale = generator.chisquare(self.free, REPEATS) / self.free if self.square else 1.0
        return Group(means, self.square * scale, self.free)


Part: TypeAlias = tuple[float, Group]  # a weight, and the group whose mean it weighs


def group(values: Values | float, resolution: float = 0.0) -> Group:
    """The mean over seeds and its error; a single number is known without error.

    Args:
        values: One a seed; nan where there is none.
        resolution: Values were rounded to multiples of this. Rounding counts as spread.
    """
    if np.ndim(values) == 0:
        return Group(float(values), 0.0, math.inf)
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    n = len(known)
    if n < 2:
        return Group(float(known[0]) if n else math.nan, math.nan, 0.0)
    square = (float(known.var(ddof=1)) + resolution**2 / 12) / n
    return Group(float(known.mean()), square, n - 1.0)


def welch(parts: Sequence[Part]) -> tuple[Any, Any, Any, Any]:
    """A weighted sum of means, its standard error, degrees of freedom and two-sided p-value."""
    total = np.asarray(sum(weight * each.mean for weight, each in parts), dtype=float)
    squares = [(weight**2 * np.asarray(each.square, dtype=float), each) for weight, each in parts]
    square = sum(one for one, _ in squares)
    with np.errstate(divide="ignore", invalid="ignore"):
        free = square**2 / sum(one**2 / each.free for one, each in squares)
        free = np.where(square == 0, 1.0, free)  # without any spread a difference is certain
        ratio = np.where((square == 0) & (total == 0), 0.0, np.abs(total) / np.sqrt(square))
    return total, np.sqrt(square), free, 2 * student.sf(ratio, free)


def weigh(parts: Sequence[Part], level: float = LEVEL) -> Comparison:
    """Decide whether a weighted sum of means is above zero, by a two-sided test.

    Either wrong decision has a chance of at most half the level.
    """
    total, error, free, p = (float(each) for each in welch(parts))
    half = float(student.isf(level / 2, free)) * error
    return Comparison(total > 0 if p < level else None, total, total - half, total + half, p)


def above(
    a: Values,
    b: Values | float,
    *,
    level: float = LEVEL,
    expected: float = math.nan,
    resolution: float = 0.0,
) -> Comparison:
    """Decide whether the mean of one group is above that of another, by Welch's t-test.

    For values in pairs, compare their differences with zero: `above(a - b, 0.0)`.

    Args:
        a: Values of the group that is said to be above, one a seed; nan where there is none.
        b: Values of the other group, or a known number.
        level: Of the two-sided test. Either wrong decision has a chance of at most half of it.
        expected: The difference whose power is computed, if it is positive.
        resolution: Values were rounded to multiples of this. Rounding counts as spread.

    Example:
        >>> above(np.array([0.5, 0.6, 0.7]), np.array([0.1, 0.2, 0.3])).holds
        True
        >>> above(np.array([0.5, 0.6, 0.7]), np.array([0.4, 0.5, 0.6])).holds is None
        True
    """
    groups = group(a, resolution), group(b, resolution)
    found = weigh([(1.0, groups[0]), (-1.0, groups[1])], level)
    known = expected > 0 and not math.isnan(found.p)
    return replace(found, power=_power(groups, (expected, 0.0), level) if known else math.nan)


def same_within(a: Values, b: Values, share: float, *, level: float = LEVEL) -> Comparison:
    """Decide whether a mean differs from another by less than a share of the other.

    It holds if the mean of `a` is significantly above 1 - share times that of `b`, and below 1 +
    share times it: two one-sided Welch tests, in which the error of the margin counts. It fails
    if the mean is significantly outside. The interval is that of the difference alone (90 % at
    level 0.05), p the larger of the two p-values, and the power the chance that equal means are
    found to be the same.

    Args:
        a: Values of one group, one a seed; nan where there is none.
        b: Values of the other, of positive mean.
        share: The margin, as a share of the mean of `b`. Choose it before looking.
        level: Of each of the two tests.
    """
    if not 0 < share < 1:
        raise ValueError(f"share must lie between 0 and 1, got {share}")
    one, other = group(a), group(b)
    if other.mean <= 0:
        raise ValueError(f"the mean of b must be positive, got {other.mean}")
    found = weigh([(1.0, one), (-1.0, other)], 2 * level)
    if math.isnan(found.p):
        return found
    edges = [weigh(edge, 2 * level) for edge in _edges(one, other, share)]
    p = max(each.p / 2 if each.difference > 0 else 1 - each.p / 2 for each in edges)
    generator = np.random.default_rng(0)
    equal = one.repeats(other.mean, generator), other.repeats(other.mean, generator)
    lower, upper = (_decided(edge, 2 * level) for edge in _edges(*equal, share))
    power = float((lower & upper).mean())
    outside = any(each.holds is False for each in edges)
    holds = False if outside else True if p < level else None
    return Comparison(holds, found.difference, found.low, found.high, p, power)


def _edges(a: Group, b: Group, share: float) -> tuple[list[Part], list[Part]]:
    return [(1.0, a), (share - 1, b)], [(-1.0, a), (1 + share, b)]


def order_power(
    groups: Sequence[Values], expected: Sequence[float], *, level: float = LEVEL
) -> float:
    """Chance that every pair of groups would be decided, if the expected means were the true ones.

    Args:
        groups: Values over seeds, of which only spreads and numbers count.
        expected: The true means of the repeats. Pairs of equal means are left out.
        level: Of each test.
    """
    return _power([group(values) for values in groups], expected, level)


def _power(groups: Sequence[Group], expected: Sequence[float], level: float) -> float:
    if any(math.isnan(each.square) for each in groups):
        return math.nan
    generator = np.random.default_rng(0)
    repeats = [
        (mean, each.repeats(mean, generator)) for each, mean in zip(groups, expected, strict=True)
    ]
    decided = np.ones(REPEATS, dtype=bool)
    for (one, first), (other, second) in combinations(repeats, 2):
        if one != other:
            sign = math.copysign(1.0, one - other)
            decided &= _decided([(sign, first), (-sign, second)], level)
    return float(decided.mean())


def _decided(parts: Sequence[Part], level: float) -> Bool[np.ndarray, "r"]:
    """Which repeats are decided to be above zero."""
    total, _, _, p = welch(parts)
    return np.asarray((p < level) & (total > 0))
