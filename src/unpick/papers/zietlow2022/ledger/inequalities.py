"""Inequalities between means, and between columns and volume (Zietlow 2022, chapter 5)."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from unpick.study.ledger.checks import Everywhere
from unpick.study.ledger.column_checks import (
    PRODUCT_OF_COLUMNS,
    WITH_ZERO,
    column_violation,
    numbers,
    short_of,
)
from unpick.study.ledger.entry import Entry, Mutation
from unpick.study.ledger.instances import (
    Kind,
    covariance,
    square,
)

Array = np.ndarray


def semidefinite(draw: np.random.Generator, kind: Kind) -> Float[Array, "d d"]:
    """Symmetric, no negative eigenvalue; `equal` a multiple of the identity, one in four singular.

    `parallel` and `flat` are almost singular.
    """
    m = covariance(draw, kind)
    if draw.random() < 0.25 and kind != "equal":
        m[0] = m[:, 0] = 0.0
    return m


def _mean_violation(bound: Callable[[Array], float], a: Float[Array, "k"]) -> float:
    return short_of(bound(a), float(a.mean()), a.min(), a.max(), len(a))


def _trace_violation(bound: Callable[[Array], float], m: Float[Array, "d d"]) -> float:
    """Of tr M >= bound; the spread is that of the eigenvalues."""
    values = np.linalg.eigvalsh(m).clip(0)
    n = len(m)
    return short_of(bound(m) / n, float(np.trace(m)) / n, values[0], values[-1], n)


AM_GM = Entry(
    id="Z-L1",
    source="Zietlow (2022), lemma 1 (eq. 5.1)",
    title="Arithmetic mean at least geometric mean",
    statement="The arithmetic mean of non-negative numbers is at least their geometric mean; the "
    "two are equal only if all numbers are.",
    formula=r"\frac{1}{N}\sum_i a_i \geq \left(\prod_i a_i\right)^{1/N}",
    assumptions=r"$a_i \geq 0$.",
    printed=lambda a: float(a.prod() ** (1 / len(a))),
    check=Everywhere(
        _mean_violation, numbers, "tuples of 2 to 6 numbers", WITH_ZERO, tolerance=1e-13
    ),
    mutation=Mutation(
        "exponent 1/(N-1) in place of 1/N", lambda a: float(a.prod() ** (1 / (len(a) - 1)))
    ),
)

HADAMARD = Entry(
    id="Z-L2",
    source="Zietlow (2022), lemma 2 (eq. 5.2); Hadamard's inequality",
    title="Column lengths multiply to at least the determinant",
    statement=r"For a non-singular $M$ with columns $c_i$ the product of the column lengths is at "
    r"least $|\det M|$, with equality if and only if the columns are orthogonal.",
    formula=r"\prod_i \|c_i\| \geq |\det M|",
    assumptions="$M$ square and non-singular.",
    printed=lambda m: abs(float(np.linalg.det(m))),
    check=Everywhere(column_violation, square, "square matrices", tolerance=1e-12),
    mutation=Mutation(
        "Hadamard's other bound, k^(k/2) max |m_ij|^k, which lies above the determinant too",
        lambda m: float(len(m) ** (len(m) / 2) * np.abs(m).max() ** len(m)),
    ),
)

COLUMNS = Entry(
    id="Z-P6",
    source="Zietlow (2022), proposition 6 (eq. 5.7)",
    title="Column lengths multiply to at least the singular values",
    statement=r"For $M$ with more rows than columns the product of the column lengths is at "
    "least that of the singular values, with equality if and only if the columns are orthogonal.",
    formula=r"\prod_{j=1}^{d} \|c_j\| \geq \prod_{j=1}^{d} s_j",
    assumptions=r"$M \in R^{n \times d}$, $d < n$, singular values not zero.",
    printed=lambda m: float(np.linalg.svd(m, compute_uv=False).prod()),
    check=PRODUCT_OF_COLUMNS,
    mutation=Mutation(
        "eigenvalues of M^T M, without their root",
        lambda m: float(np.linalg.eigvalsh(m.T @ m).prod()),
    ),
    remark="Also true with a singular value of zero, but then equality does not imply orthogonal "
    "columns: a zero column is enough.",
)

TRACE = Entry(
    id="Z-P7",
    source="Zietlow (2022), proposition 7 (eq. 5.47)",
    title="Trace at least n times the n-th root of the determinant",
    statement=r"For positive semi-definite $M$ the trace is at least $n \det(M)^{1/n}$, with "
    r"equality if and only if $M$ is a multiple of the identity.",
    formula=r"\mathrm{tr}(M) \geq n \det(M)^{1/n}",
    assumptions=r"$M \in R^{n \times n}$ symmetric with no negative eigenvalue.",
    printed=lambda m: float(len(m) * max(0.0, np.linalg.det(m)) ** (1 / len(m))),
    check=Everywhere(
        _trace_violation, semidefinite, "positive semi-definite matrices, some singular"
    ),
    mutation=Mutation(
        "without the factor n: still below the trace, but never equal to it",
        lambda m: float(max(0.0, np.linalg.det(m)) ** (1 / len(m))),
    ),
    remark="Singular matrices are covered: equality is then left for $M = 0$ alone. Symmetry is "
    "needed, and is meant: the matrix with rows (1, -1) and (1, 1) has no negative quadratic "
    r"form, a trace of 2, and $2 \det^{1/2} = 2.83$.",
)

ENTRIES = (AM_GM, HADAMARD, COLUMNS, TRACE)
