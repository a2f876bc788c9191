"""Which turns of the latent space keep its axes (Zietlow 2022, sections 2.4, 3.1 and 5.1)."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from unpick.study.ledger.checks import Everywhere
from unpick.study.ledger.entry import Entry, Mutation
from unpick.study.ledger.instances import Kind, decoder, orthonormal, positive, rotation
from unpick.theory.columns import largest_cosine, mixing

Array = np.ndarray
DISTINCT = 1e-10  # singular values that differ by less, as a share of the first, count as equal
Data = tuple[Float[Array, "p p"], Float[Array, "d"], Float[Array, "d d"]]


def any_shape(draw: np.random.Generator, kind: Kind) -> Float[Array, "n d"]:
    """Tall, wide, or tall with a column of zeros."""
    m, shape = decoder(draw, kind), draw.random()
    if shape < 0.3:
        return m.T
    return np.c_[m, np.zeros(len(m))] if shape < 0.5 else m


def _decomposition(
    product: Callable[[Array, Array, Array], Array], m: Float[Array, "d n"]
) -> float:
    """Of M = product(V, Sigma, U), where U turns the input space and V the output space."""
    v, values, ut = np.linalg.svd(m)
    sigma = np.zeros(m.shape)
    np.fill_diagonal(sigma, values)
    turns = max(np.abs(q @ q.T - np.eye(len(q))).max() for q in (v, ut))
    return float(max(turns, np.abs(product(v, sigma, ut.T) - m).max() / values[0]))


def _same_cosine(part: Callable[[Array, Array], Array], m: Float[Array, "n d"]) -> float:
    """Whether part(Sigma, V) has orthogonal columns where M has, and as far from it elsewhere."""
    _, values, vt = np.linalg.svd(m)
    sigma = np.zeros(m.shape)
    np.fill_diagonal(sigma, values)
    return abs(largest_cosine(m) - largest_cosine(part(sigma, vt.T)))


def _axes_violation(
    kept: Callable[[bool, bool], bool], drawn: tuple[Float[Array, "p d"], Float[Array, "d d"]]
) -> float:
    """Of "in every SVD |V| is a permutation" = kept(columns orthogonal, singular values distinct).

    An SVD leaves signs open, and turns among directions of equal singular values; the drawn
    rotation picks one. V is as inexact as the values are close. If columns are oblique, mixing
    is at least their cosine times the ratio of singular values, up to a constant.
    """
    m, turn = drawn
    _, values, vt = np.linalg.svd(m, full_matrices=False)
    gaps = np.abs(values[:, None] - values) / values[0]
    same = gaps < DISTINCT
    v = vt.T @ np.linalg.qr(turn * same)[0]  # a turn within each group of equal values
    distinct, largest = bool(same.sum() == len(v)), largest_cosine(m)
    if kept(largest < 1e-12, distinct):
        return mixing(v) * float(gaps[~same].min(initial=1.0))
    least = 0.1 * largest * values[-1] / values[0] if distinct else 1e-9
    return 1.0 if mixing(v) < least else 0.0


def _columns_or_not(
    draw: np.random.Generator, kind: Kind
) -> tuple[Float[Array, "p d"], Float[Array, "d d"]]:
    """A decoder, half of the time with orthogonal columns of the same singular values."""
    m = decoder(draw, kind)
    p, d = m.shape
    if draw.random() < 0.5:
        values = np.linalg.svd(m, compute_uv=False)
        m = orthonormal(draw, p, d) * draw.permutation(values)
    return m, rotation(draw, d)


def _autoencoder_violation(
    autoencoder: Callable[[Array, Array, Array], tuple[Array, Array]], drawn: Data
) -> float:
    """Whether decoder and encoder reach the least squared error, and keep axes only if |Q| does.

    The least error is that of alternating least squares, which knows no eigenvectors.
    """
    cov, values, q = drawn
    p, d = len(cov), len(values)
    vectors = np.linalg.eigh(cov)[1][:, ::-1].T
    y, back = autoencoder(vectors, values, q)
    basis = np.eye(p, d)
    for _ in range(60):
        encoder = np.linalg.pinv(basis)
        basis = cov @ encoder.T @ np.linalg.inv(encoder @ cov @ encoder.T)
    error, least = (
        np.trace(rest @ cov @ rest.T)
        for rest in (np.eye(p) - y @ back, np.eye(p) - basis @ np.linalg.pinv(basis))
    )
    shared = vectors[:d] @ cov @ back.T  # covariance of components and latents
    deviations = np.outer(*(np.sqrt(np.diag(e @ cov @ e.T)) for e in (vectors[:d], back)))
    seen, planted = mixing(shared / deviations), mixing(q)
    kept = seen < 1e-9 if planted < 1e-9 else seen > 1e-4 * planted
    return float(abs(error / least - 1)) if kept else 1.0


def _data(draw: np.random.Generator, kind: Kind) -> Data:
    """Covariance of 3 to 5 columns, scales of 2 or 3 latents, Q; `orthogonal`: a permutation."""
    d = int(draw.integers(2, 4))
    spread = np.array([25.0, 16.0, 9.0, 1.0, 0.25])[3 - d : 4 + int(draw.integers(2))]
    turn = rotation(draw, len(spread))
    q = np.eye(d)[draw.permutation(d)] if kind == "orthogonal" else rotation(draw, d)
    return turn * spread @ turn.T, np.resize(positive(draw, "plain"), d), q


def _rectangle(p: Float[Array, "p p"], values: Float[Array, "d"]) -> Float[Array, "p d"]:
    """Sigma: the values on the diagonal of a matrix as high as P."""
    return np.eye(len(p), len(values)) * values


SVD = Entry(
    id="Z-SVD",
    source="Zietlow (2022), theorem in section 2.4; Rolinek et al. (2019), theorem 1",
    title="Every matrix turns, scales and turns",
    statement=r"Every linear map from $R^n$ to $R^d$ is a turn $U^\top$ of the input space, "
    r"then a diagonal $\Sigma$ of $d$ rows and $n$ columns, then a turn $V$ of the output space.",
    formula=r"M = V \Sigma U^\top",
    assumptions="None; turns may reflect.",
    printed=lambda v, sigma, u: v @ sigma @ u.T,
    check=Everywhere(
        _decomposition, any_shape, "matrices, tall and wide, with and without a zero column"
    ),
    mutation=Mutation("U in place of its transpose", lambda v, sigma, u: v @ sigma @ u),
    remark="Letters: here $U$ acts on the input and $V$ on the output. For decoders both texts "
    r"write $U \Sigma V^\top$, with $V$ on the side of the latents.",
)

COLUMN_ORTHOGONALITY = Entry(
    id="Z-L3",
    source="Zietlow (2022), lemma 3",
    title="Orthogonal columns are a matter of singular values and V",
    statement=r"For $M = U \Sigma V^\top$ these are equivalent: the columns of $M$ are "
    r"orthogonal; $M^\top M$ is diagonal; the columns of $\Sigma V^\top$ are orthogonal.",
    formula=r"M'^\top M' = V \Sigma^\top \Sigma V^\top = M^\top M, \quad M' = \Sigma V^\top",
    assumptions="None.",
    printed=lambda sigma, v: sigma @ v.T,
    check=Everywhere(
        _same_cosine,
        any_shape,
        r"matrices and their $\Sigma V^\top$, by the largest cosine of two columns",
        tolerance=1e-8,
    ),
    mutation=Mutation("V in place of its transpose", lambda sigma, v: sigma @ v),
)

AXES = Entry(
    id="Z-P1",
    source="Zietlow (2022), proposition 1; Rolinek et al. (2019), proposition 1",
    title="Orthogonal columns keep the axes",
    statement=r"If the $d$ singular values of $M$ are distinct and not zero, its columns are "
    r"orthogonal if and only if $|V|$ is a permutation in every SVD $M = U \Sigma V^\top$.",
    formula=r"c_i^\top c_j = 0 \;\; (i \neq j) \;\Leftrightarrow\; |V| \in \mathrm{Perm}(d)",
    assumptions=r"$M \in R^{n \times d}$, $d < n$, singular values distinct and not zero.",
    printed=lambda orthogonal, distinct: orthogonal and distinct,
    check=Everywhere(
        _axes_violation,
        _columns_or_not,
        "decoders, half of them orthogonal, one in seven with equal singular values",
        names=("M", "a turn among equal singular values"),
    ),
    mutation=Mutation("singular values may be equal", lambda orthogonal, distinct: orthogonal),
    remark="The assumption is needed: orthonormal columns have an SVD with any $V$ at all. The "
    "check asks for this too: with equal singular values some $|V|$ must not be a permutation.",
)

OTHER_MINIMISERS = Entry(
    id="Z-X1",
    source="Zietlow (2022), example 1 (eq. 3.2); Rolinek et al. (2019), example 1 (eq. 7)",
    title="Linear autoencoders leave rotation and scale open",
    statement=r"With the principal directions $P$ as rows, $Y = P^\top \Sigma Q$ and its "
    r"pseudo-inverse reconstruct as well as PCA, whatever $\Sigma$ and the rotation $Q$ are. "
    r"Latents are principal components only if $|Q|$ is a permutation.",
    formula=r"Y Y' = P^\top \Sigma Q Q^\top \Sigma^\dagger P = P_d^\top P_d",
    assumptions=r"$\Sigma$ of $n$ rows, $d$ values on its diagonal, none of them zero.",
    printed=lambda p, values, q: (
        p.T @ _rectangle(p, values) @ q,
        q.T @ np.linalg.pinv(_rectangle(p, values)) @ p,
    ),
    check=Everywhere(
        _autoencoder_violation,
        _data,
        "covariances, error compared with that of alternating least squares",
        ("plain", "orthogonal"),
        count=15,
        names=("covariance", "scales", "Q"),
    ),
    mutation=Mutation(
        "the encoder is the decoder's transpose",
        lambda p, values, q: (
            p.T @ _rectangle(p, values) @ q,
            q.T @ _rectangle(p, values).T @ p,
        ),
    ),
    remark=r"The step in the middle is printed with its two factors exchanged: "
    r"$\Sigma \Sigma^\dagger$ is $I_{n \times d} I_{d \times n}$.",
)

ENTRIES = (SVD, OTHER_MINIMISERS, AXES, COLUMN_ORTHOGONALITY)
