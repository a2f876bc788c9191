"""Small steps that improve an inequality that is not tight (Zietlow 2022, section 5.1)."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from unpick.theory.checks import Everywhere
from unpick.theory.claims.zietlow_inequalities import WITH_ZERO, numbers
from unpick.theory.columns import cosines, plane_turn
from unpick.theory.entry import Entry, Mutation
from unpick.theory.instances import GENERAL, Kind, square

Array = np.ndarray


def _smaller_sum(
    step: Callable[[float, float, float], tuple[float, float]], a: Float[Array, "k"]
) -> float:
    """Whether a small step lowers the mean and keeps the product; the step takes (high, low, t).

    Of the two ends of the tuple; t is small against their ratio.
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
    """Whether a small change V' = changed(V, R) makes the product of the columns' lengths smaller.

    R turns the plane of the two columns that are least orthogonal, by angles up to 0.01 of either
    sign. The best angle takes away cosine^2 / 2 of the product, 0.01 its 4e-4th part at least.
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
    """Columns that are not orthogonal; `equal`: a saddle point of the product, in integers.

    There two columns of equal length are oblique and a longer one is orthogonal to both.
    """
    if kind != "equal":
        return square(draw, kind)
    a, b, c = draw.permutation([[3, 4, 5], [4, 3, 5], [5, 12, 13]])[0]
    return np.array([[c, a, 0], [0, b, 0], [0, 0, 3 * c]], dtype=float)


IMPROVING_MEANS = Entry(
    id="Z-L4",
    source="Zietlow (2022), lemma 4 (eq. 5.22 to 5.24)",
    title="Unequal numbers can be moved to a smaller mean",
    statement="If non-negative numbers are not all equal, an arbitrarily small change lowers "
    "their arithmetic mean and keeps their product.",
    formula=r"a_i' = a_i / (1 + \delta), \quad a_j' = a_j (1 + \delta)",
    assumptions=r"$a_i > a_j \geq 0$, $\delta > 0$ small.",
    printed=lambda high, low, t: (high / (1 + t), low * (1 + t)),
    check=Everywhere(
        _smaller_sum,
        _uneven,
        "tuples of 2 to 6 unequal numbers, one step each",
        WITH_ZERO,
        tolerance=1e-14,
    ),
    mutation=Mutation(
        "the same amount is taken from one and given to the other",
        lambda high, low, t: (high - t * low, low + t * low),
    ),
    remark="Zeros do no harm: with $a_j = 0$ the product is 0 before and after, and the mean "
    "falls.",
)

IMPROVING_COLUMNS = Entry(
    id="Z-L5",
    source="Zietlow (2022), lemma 5 (eq. 5.25 to 5.27)",
    title="Oblique columns can be turned to a smaller product",
    statement=r"If the columns of a non-singular $M = U \Sigma V^\top$ are not orthogonal, an "
    r"arbitrarily small change of $V$ makes the product of their lengths smaller.",
    formula=r"\prod_i \|c_i\| > \prod_i \|c_i'\|, \quad M' = U \Sigma V'^\top",
    assumptions="$M$ square, non-singular, columns not orthogonal.",
    printed=lambda v, turn: turn @ v,
    check=Everywhere(
        _smaller_product,
        _oblique,
        "square matrices, with $V' = R V$ at 15 angles of either sign",
        (*GENERAL, "equal"),
        count=12,
    ),
    mutation=Mutation(
        "the turn on the other side, V' = V R, as the published proof writes it",
        lambda v, turn: v @ turn,
    ),
    remark="The lemma stands; its proof writes $V' = V R$, which turns two singular directions "
    "and changes all columns. $V' = R V$ turns the two columns that are meant. If they are "
    "equally long the slope is zero and every small turn helps at second order: a saddle.",
)

ENTRIES = (IMPROVING_MEANS, IMPROVING_COLUMNS)
