"""Lemmas and formulas around theorem 2 (Zietlow 2022, sections 4.2.1 and 5.2)."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize_scalar

from unpick.study.ledger.checks import Everywhere
from unpick.study.ledger.entry import Correction, Entry, Mutation
from unpick.study.ledger.instances import Kind, square

Array = np.ndarray


def _empty(diagonal: Callable[[Array], Array], drawn: tuple[Array, Array]) -> float:
    """Of diag(M D) = diag(D M) = diag(D M D) = 0 where diag(M) = 0."""
    m, d = drawn[0] - np.diag(np.diag(drawn[0])), diagonal(drawn[1])
    size = np.linalg.norm(m) * np.linalg.norm(d)
    products = (m @ d / size, d @ m / size, d @ m @ d / size / np.linalg.norm(d))
    return float(max(np.abs(np.diag(product)).max() for product in products))


def _two_squares(
    draw: np.random.Generator, kind: Kind
) -> tuple[Float[Array, "m m"], Float[Array, "m m"]]:
    """Matrices of one size, the second symmetric."""
    m = square(draw, kind)
    other = draw.normal(size=m.shape)
    return m, other + other.T


def _scale_violation(
    scale: Callable[[Array], float], drawn: tuple[Float[Array, "n"], Float[Array, "n"]]
) -> float:
    """Of the c > 0 that minimises sum(c^2 x^2 - log(c^2 y^2)), against a search."""
    x, y = drawn

    def loss(log_c: float) -> float:
        c = np.exp(log_c)
        return float((np.square(c * x) - np.log(np.square(c * y))).sum())

    found = float(np.exp(minimize_scalar(loss, bracket=(-1.0, 1.0)).x))
    return abs(scale(x) / found - 1)


def _means(draw: np.random.Generator, kind: Kind) -> tuple[Float[Array, "n"], Float[Array, "n"]]:
    """One to five means and deviations, integers."""
    x, y = draw.integers(1, 6, (2, int(draw.integers(1, 6)))).astype(float)
    return x, y


def _principal_violation(
    decoder: Callable[[Array, Array, Array], Array],
    drawn: tuple[Float[Array, "n m"], Float[Array, "m m"]],
) -> float:
    """Whether columns are principal directions and the codes uncorrelated, of unit variance."""
    x, order = drawn
    _, values, vt = np.linalg.svd(x, full_matrices=False)
    m = decoder(vt.T, np.diag(values), order)
    codes = x @ np.linalg.inv(m).T
    unit = m / np.linalg.norm(m, axis=0)
    image = x.T @ x @ unit / values[0] ** 2
    off_axis = np.abs(image - unit * (unit * image).sum(0)).max()
    return float(max(off_axis, np.abs(codes.T @ codes - np.eye(len(m))).max()))


def _data(
    draw: np.random.Generator, kind: Kind
) -> tuple[Float[Array, "n m"], Float[Array, "m m"]]:
    """Integers in 2 to 4 columns, centred, of distinct singular values; and a permutation."""
    m = int(draw.integers(2, 5))
    while True:
        x = draw.integers(-3, 4, (m + 1, m)).astype(float)
        x[-1] = -x[:-1].sum(0)
        values = np.linalg.svd(x, compute_uv=False)
        if np.append(-np.diff(values), values[-1]).min() > 0.05 * values[0]:
            return x, np.eye(m)[draw.permutation(m)]


EMPTY_DIAGONAL = Entry(
    id="Z-L8",
    source="Zietlow (2022), lemma 8",
    title="A zero diagonal stays zero under diagonal factors",
    statement=r"If $D$ is diagonal and the diagonal of $M$ is zero, so are the diagonals of "
    "$M D$ and $D M$, and their traces.",
    formula=r"\mathrm{diag}(M D) = \mathrm{diag}(D M) = 0",
    assumptions=r"$D$ diagonal, $\mathrm{diag}(M) = 0$.",
    printed=lambda other: np.diag(np.diag(other)),
    check=Everywhere(_empty, _two_squares, "pairs of matrices", tolerance=1e-14, names=("M", "D")),
    mutation=Mutation("D symmetric in place of diagonal", lambda other: other),
    remark=r"Its use for $D M D$ in the proof of theorem 2 is covered.",
)

UNIT_VARIANCE = Entry(
    id="Z-L7",
    source="Zietlow (2022), lemma 7 (eq. 5.46)",
    title="The scale of the latents that the KL loss prefers",
    statement=r"Multiplying means $x_i$ and deviations $y_i$ of a latent by $c$, the (polarized) "
    r"KL loss is least for $c$ equal to the root of the sum of squares of the means.",
    formula=r"\mathrm{arg}\,\min_c \sum_i \left(c^2 x_i^2 - \log (c^2 y_i^2)\right) "
    r"= \sqrt{\sum_i x_i^2}",
    assumptions="Not all means are zero, no deviation is.",
    printed=lambda x: float(np.sqrt(np.square(x).sum())),
    check=Everywhere(
        _scale_violation,
        _means,
        "latents, $c$ by a search",
        ("plain",),
        tolerance=1e-6,
        names=("x", "y"),
    ),
    mutation=Mutation(
        "the inverse, without the number of terms",
        lambda x: float(1 / np.sqrt(np.square(x).sum())),
    ),
    correction=Correction(
        r"$c = \sqrt{n / \sum_i x_i^2}$: after scaling the mean square of the means is one.",
        r"\mathrm{arg}\,\min_c \sum_i \left(c^2 x_i^2 - \log (c^2 y_i^2)\right) "
        r"= \sqrt{n / \sum_i x_i^2}",
        lambda x: float(np.sqrt(len(x) / np.square(x).sum())),
    ),
    remark="Unit variance of every active latent, which the lemma is there to show, follows from "
    "the corrected formula and not from the printed one.",
)

PCA_DECODER = Entry(
    id="Z-E4.4",
    source="Zietlow (2022), eq. 4.4",
    title="The decoder of PCA",
    statement=r"With $X = U_X \Sigma_X V_X^\top$ and a permutation $P$, PCA decodes by the "
    "printed matrix. Read for latents of unit variance, as in theorem 2.",
    formula=r"M_{PCA} = V_X^\top \Sigma_X^2 P",
    assumptions="Data centred, one observation a row; singular values distinct, not zero.",
    printed=lambda v, sigma, p: v.T @ sigma**2 @ p,
    check=Everywhere(
        _principal_violation,
        _data,
        "data sets of integers",
        ("plain",),
        tolerance=1e-10,
        names=("X", "P"),
    ),
    mutation=Mutation("singular values squared", lambda v, sigma, p: v @ sigma**2 @ p),
    correction=Correction(
        r"Principal directions are the columns of $V_X$, and latents of unit variance have the "
        "singular values for scales.",
        r"M_{PCA} = V_X \Sigma_X P",
        lambda v, sigma, p: v @ sigma @ p,
    ),
    remark=r"For codes that keep the variances of the data it is $V_X P$, as in section 2.1 of "
    r"the thesis. The printed matrix has multiples of the rows of $V_X$ for columns, which are "
    "not principal directions in general.",
)

ENTRIES = (EMPTY_DIAGONAL, UNIT_VARIANCE, PCA_DECODER)
