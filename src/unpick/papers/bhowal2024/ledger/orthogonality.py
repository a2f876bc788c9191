"""Orthogonal columns and inequalities in Bhowal et al. (2024), sections A.4 and A.5."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from unpick.study.ledger.checks import Everywhere
from unpick.study.ledger.column_checks import (
    PRODUCT_OF_COLUMNS,
    SMALLER_MEAN,
    SMALLER_PRODUCT,
)
from unpick.study.ledger.entry import Correction, Entry, Mutation
from unpick.study.ledger.instances import Kind, decoder, orthonormal
from unpick.theory.columns import cosines, mixing

Array = np.ndarray


def _same_cosines(
    reading: Callable[[Array, Array, Array], Array], m: Float[Array, "p d"]
) -> float:
    """Equal cosines imply the claim: then both are orthogonal or neither is."""
    part = reading(*np.linalg.svd(m, full_matrices=False))
    return float(np.abs(cosines(part) - cosines(m)).max())


EQUIVALENCE = Entry(
    id="B-P5",
    source="Bhowal et al. (2024), proposition 5",
    title="Three ways to say orthogonal columns",
    statement="The columns of $M = U \\Sigma V^\\top$ are orthogonal if and only if "
    "$M^\\top M$ is diagonal, and if and only if the columns of $\\Sigma V^\\top$ are "
    "orthogonal.",
    formula=r"c_i^\top c_j = 0 \Leftrightarrow M^\top M \ \mathrm{diagonal}"
    r" \Leftrightarrow (\Sigma V^\top)^\top \Sigma V^\top \ \mathrm{diagonal}",
    assumptions="None.",
    printed=lambda u, values, vt: values[:, None] * vt,
    check=Everywhere(
        _same_cosines,
        decoder,
        "decoders, cosines between columns of $\\Sigma V^\\top$ and of $M$",
        names=("M",),
    ),
    mutation=Mutation("columns of $U \\Sigma$", lambda u, values, vt: u * values),
    remark="Columns of zeros do no harm, though the proof excludes them.",
)


def _orthogonal_columns(draw: np.random.Generator, kind: Kind) -> Float[Array, "p d"]:
    """Lengths all different; `orthogonal`: 1, 2, ... on the axes; `close`: apart by 1e-4."""
    d = int(draw.integers(1 if kind == "orthogonal" else 2, 5))
    if kind == "orthogonal":
        return np.diag(np.arange(1.0, d + 1))
    steps = 1e-4 if kind == "close" else 0.5
    lengths = 1 + steps * (draw.permutation(d) + 0.5 * draw.random(d))
    return orthonormal(draw, d + int(draw.integers(1, 3)), d) * lengths


def _svd_violation(off: Callable[[Array], float], m: Float[Array, "p d"]) -> float:
    """Errors of the claimed form of V, of the singular values, and of the columns of U."""
    u, values, vt = np.linalg.svd(m, full_matrices=False)
    lengths = np.sort(np.linalg.norm(m, axis=0))[::-1]
    norms = np.abs(values / lengths - 1).max()
    return float(max(off(vt.T), norms, np.abs(u.T @ u - np.eye(len(vt))).max()))


SVD_OF_ORTHOGONAL = Entry(
    id="B-L4",
    source="Bhowal et al. (2024), lemma 4",
    title="SVD of a matrix with orthogonal columns",
    statement="If the columns of $M = U \\Sigma V^\\top$ are orthogonal and its singular values "
    "distinct and not zero, then $U$ is orthogonal, the singular values are the lengths of the "
    "columns, and $V = I$.",
    formula=r"U^\top U = I, \quad \Sigma = diag(\|c_1\|, \ldots, \|c_d\|), \quad V = I",
    assumptions="Orthogonal columns; singular values distinct and not zero.",
    printed=lambda v: float(np.abs(v - np.eye(len(v))).max()),
    check=Everywhere(
        _svd_violation,
        _orthogonal_columns,
        "matrices with orthogonal columns of distinct lengths",
        ("plain", "close", "orthogonal"),
        names=("M",),
    ),
    mutation=Mutation(
        "a permutation without signs",
        lambda v: mixing(v) + float(-v.min().clip(max=0)),
    ),
    correction=Correction(
        "$V$ is a permutation $P$ with signs: an SVD orders singular values and leaves signs "
        "open.",
        r"V = P\, diag(\pm 1, \ldots, \pm 1)",
        mixing,
    ),
    remark="$M = diag(1, 2)$ has the singular values 2, 1, in this order, and $V$ swaps the axes. "
    "With the order and the signs of the columns $V = I$ (here with $\\Sigma = diag(1, 2)$); the "
    "lemma does not say that order and signs are free. $U$ has orthonormal columns; with more "
    "outputs than latents it is not square.",
)

COLUMNS_AND_VOLUME = Entry(
    id="B-L10",
    source="Bhowal et al. (2024), lemma 10",
    title="Column lengths multiply to at least the singular values",
    statement="The product of the column lengths is at least that of the singular values; the two "
    "are equal if and only if the columns are orthogonal.",
    formula=r"\prod_{j=1}^{d} \|c_j\| \geq Sing(M_D)",
    assumptions="$M_D \\in R^{n \\times d}$, $d < n$; singular values not zero.",
    printed=lambda m: float(np.linalg.svd(m, compute_uv=False).prod()),
    check=PRODUCT_OF_COLUMNS,
    mutation=Mutation(
        "the largest singular value to the power $d$",
        lambda m: float(np.linalg.norm(m, 2) ** m.shape[1]),
    ),
    remark="The same as proposition 6 of Zietlow (2022). Printed as singular vectors, meant are "
    "values.",
)

IMPROVING_NUMBERS = Entry(
    id="B-L11",
    source="Bhowal et al. (2024), lemma 11 (eq. 54)",
    title="Unequal numbers can be moved to a smaller mean",
    statement="If the arithmetic mean of non-negative numbers exceeds the geometric mean, a small "
    "change lowers the first and keeps the second.",
    formula=r"a_i' = \frac{a_i}{d + \delta}, \quad a_j' = a_j (d + \delta)",
    assumptions="$a_i \\geq 0$. The proof takes any $i \\neq j$; we take $a_i$ the largest, $a_j$ "
    "the smallest, $d = 1$ and $\\delta$ small and positive.",
    printed=lambda high, low, t: (high / (1 + t), low * (1 + t)),
    check=SMALLER_MEAN,
    mutation=Mutation(
        "$i$ and $j$ swapped, which the proof allows",
        lambda high, low, t: (high * (1 + t), low / (1 + t)),
    ),
    remark="Lemma 4 of Zietlow (2022). The gain is not $(a_i + a_j)\\,\\delta / (1+\\delta)$, as "
    "printed, but $\\delta\\,(a_i/(1+\\delta) - a_j)$, positive only if $a_i > a_j (1+\\delta)$. "
    "For $a = (2, 1)$ and $\\delta = 1/2$ it is 1/6, not 1, and for $(1, 2)$ it is $-2/3$.",
)

IMPROVING_COLUMNS = Entry(
    id="B-L12",
    source="Bhowal et al. (2024), lemma 12 (eq. 55, 56)",
    title="Columns can be turned to a smaller product",
    statement="If the column lengths of a square matrix multiply to more than its determinant, a "
    "small rotation of $V$ lowers their product. We take $V' = R V$, with $R$ turning two axes.",
    formula=r"\prod_j \|c_j\| > |\det M| \Rightarrow \prod_j \|c_j'\| < \prod_j \|c_j\|",
    assumptions="$M = U \\Sigma V^\\top$ square, columns not orthogonal.",
    printed=lambda v, turn: turn @ v,
    check=SMALLER_PRODUCT,
    mutation=Mutation(
        "$V' = V R$, as the proof prints it: two singular directions turned, not two columns",
        lambda v, turn: v @ turn,
    ),
    remark="Lemma 5 of Zietlow (2022). Two columns turn, and the others stay, if $V' = R V$. The "
    "proof writes $V' = V R$, which is the same for two columns only, up to the sense of "
    "rotation.",
)
ENTRIES = (
    SVD_OF_ORTHOGONAL,
    COLUMNS_AND_VOLUME,
    IMPROVING_NUMBERS,
    IMPROVING_COLUMNS,
    EQUIVALENCE,
)
