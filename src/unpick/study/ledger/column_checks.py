"""Checks of inequalities about columns that more than one paper states."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from unpick.study.ledger.checks import Everywhere
from unpick.study.ledger.instances import GENERAL, NUMBERS, Kind, decoder, positive, square
from unpick.theory.columns import cosines, largest_cosine, plane_turn

Array = np.ndarray
WITH_ZERO: tuple[Kind, ...] = (*NUMBERS, "flat")


def numbers(draw: np.random.Generator, kind: Kind) -> Float[Array, "k"]:
    """Two to six numbers that are not negative; `flat`: one of them is zero."""
    a = positive(draw, "plain" if kind == "flat" else kind)
    if kind == "flat":
        a[0] = 0.0
    return a


def short_of(bound: float, mean: float, least: float, most: float, count: int) -> float:
    """Violation of mean >= bound, or of its case of equality, as a share of the mean.

    Numbers between `least` and `most` have a gap of at least (sqrt(most) - sqrt(least))^2 / count
    between their means: the two extremes could be replaced by their geometric mean. The check asks
    for half of that gap, so that rounding cannot decide; without a spread it asks for equality.
    """
    if most - least <= 1e-12 * most:
        return abs(mean - bound) / mean
    gap = (np.sqrt(most) - np.sqrt(least)) ** 2 / count
    return float((bound + gap / 2 - mean) / mean)


def column_violation(bound: Callable[[Array], float], m: Float[Array, "p d"]) -> float:
    """Violation of prod |c_j| >= bound, with equality if and only if columns are orthogonal.

    Two columns with the cosine c leave a share of sqrt(1 - c^2) of the product at most (Fischer's
    inequality). With c^2 / 2 in place of c^2 rounding cannot decide.
    """
    share = bound(m) / float(np.linalg.norm(m, axis=0).prod())
    largest = largest_cosine(m)
    if largest < 1e-12:
        return abs(share - 1)
    return share - float(np.sqrt(1 - largest**2 / 2))


def _smaller_sum(
    step: Callable[[float, float, float], tuple[float, float]], a: Float[Array, "k"]
) -> float:
    """Violation of the claim that a small step lowers the mean and keeps the product.

    The step takes the largest number, the smallest, and t, which is small against their ratio.
    """
    i, j = int(a.argmax()), int(a.argmin())
    ratio = a[i] / a[j] if a[j] > 0 else np.inf
    t = float(min(0.01, (ratio - 1) / 2))
    moved = a.copy()
    moved[i], moved[j] = step(float(a[i]), float(a[j]), t)
    wanted = t * (a[i] - a[j]) / 4
    shortfall = wanted - (a.sum() - moved.sum())
    product = abs(moved.prod() - a.prod()) / (a.prod() or 1.0)
    return float(max(shortfall / a.sum(), product))


def _uneven(draw: np.random.Generator, kind: Kind) -> Float[Array, "k"]:
    """Numbers that are not all equal."""
    a = numbers(draw, kind)
    a[-1] *= 2 if kind == "equal" else 1
    return a


def _smaller_product(changed: Callable[[Array, Array], Array], m: Float[Array, "k k"]) -> float:
    """Violation of the claim that a small change V' = changed(V, R) lowers the lengths' product.

    R rotates the plane of the two least orthogonal columns by angles up to 0.01 of either sign.
    The best angle removes cosine^2 / 2 of the product, the angle 0.01 at least 4e-4 of that.
    """
    u, values, vt = np.linalg.svd(m)
    oblique = np.abs(np.tril(cosines(m), -1))
    i, j = divmod(int(oblique.argmax()), len(m))
    best = np.inf
    for size in np.geomspace(1e-2, 1e-9, 15):
        for angle in (size, -size):
            v = changed(vt.T, plane_turn(len(m), i, j, angle))
            lengths = np.linalg.norm((u * values) @ v.T, axis=0)
            best = min(best, float((lengths / np.linalg.norm(m, axis=0)).prod()))
    return best - 1 + 1e-5 * float(oblique.max()) ** 2


def _oblique(draw: np.random.Generator, kind: Kind) -> Float[Array, "k k"]:
    """A square matrix without orthogonal columns; `equal`: a saddle point, in integers.

    There two columns of equal length are oblique and a longer one is orthogonal to both.
    """
    if kind != "equal":
        return square(draw, kind)
    a, b, c = draw.permutation([[3, 4, 5], [4, 3, 5], [5, 12, 13]])[0]
    return np.array([[c, a, 0], [0, b, 0], [0, 0, 3 * c]], dtype=float)


SMALLER_MEAN = Everywhere(
    _smaller_sum,
    _uneven,
    "tuples of 2 to 6 unequal numbers, one step each",
    WITH_ZERO,
    tolerance=1e-14,
)
SMALLER_PRODUCT = Everywhere(
    _smaller_product,
    _oblique,
    "square matrices, with $V' = R V$ at 15 angles of either sign",
    (*GENERAL, "equal"),
    count=12,
)
PRODUCT_OF_COLUMNS = Everywhere(column_violation, decoder, "decoders")
