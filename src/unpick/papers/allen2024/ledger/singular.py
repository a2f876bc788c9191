"""Singular directions of a Jacobian in Allen (2024), section 3.2.1: what they make independent."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from unpick.study.ledger.checks import Everywhere
from unpick.study.ledger.entry import Entry, Mutation
from unpick.study.ledger.instances import NUMBERS, Kind, decoder, rotation
from unpick.theory.quadrature import gaussian_grid

Array = np.ndarray
Matrix = Float[Array, "p d"]
Chain = tuple[Matrix, Float[Array, "d d"], Float[Array, "d d"]]  # dx/du, du/dv, dv/dz


def _independence_violation(directions: Callable[[Matrix], Matrix], w: Matrix) -> float:
    """How far densities along the directions are from multiplying to the density of W z."""
    along = w.T @ directions(w)
    z = np.random.default_rng(1).normal(size=(5, w.shape[1]))
    scales = np.linalg.norm(along, axis=0)  # standard deviations of the coordinates of W z
    said = -np.square(z @ along / scales).sum(1) / 2 - np.log(scales).sum()
    volume = np.abs(np.diag(np.linalg.qr(w)[1]))  # without singular values
    density = -np.square(z).sum(1) / 2 - np.log(volume).sum()
    return float((np.abs(said - density) / (1 + np.abs(density))).max())


def _gaussian_violation(
    variance: Callable[[Float[Array, "d"]], Float[Array, "d"]], w: Matrix
) -> float:
    """Error of the second and fourth moment along the images of lines, by quadrature."""
    _, values, vt = np.linalg.svd(w, full_matrices=False)
    nodes, weights = gaussian_grid(1, 8)
    worst = 0.0
    for said, v in zip(variance(values), vt, strict=True):
        start = vt.sum(0)  # the line need not pass through the origin
        foot = start - v * (v @ start)
        moved = (foot + nodes * v) @ w.T - w @ foot
        squares = np.square(moved).sum(1)
        moments = weights @ squares / said, weights @ squares**2 / (3 * said**2)
        worst = max(worst, abs(moments[0] - 1), abs(moments[1] - 1))
    return float(worst)


def _bent(draw: np.random.Generator, kind: Kind) -> tuple[Matrix, Matrix, Float[Array, "d"]]:
    """Linear and quadratic part of a decoder, and a point."""
    a = decoder(draw, kind)
    return a, draw.normal(size=a.shape) * np.abs(a), draw.normal(size=(a.shape[1],))


def _chain_violation(
    chain: Callable[[Matrix], Chain], instance: tuple[Matrix, Matrix, Float[Array, "d"]]
) -> float:
    """How far a step along v_j is from moving u_j alone, by s_j; exact for a quadratic."""
    a, b, z = instance

    def decode(at: Float[Array, "d"]) -> Float[Array, "p"]:
        return a @ at + np.square(b @ at) / 10

    jacobian = a + (b @ z)[:, None] * b / 5
    out, between, into = chain(jacobian)
    identity = np.eye(len(z))
    bases = np.abs([out.T @ out - identity, into @ into.T - identity]).max()
    moved = [decode(z + v / 2) - decode(z - v / 2) for v in np.linalg.inv(into).T]
    measured = out.T @ np.stack(moved, axis=1)
    mixed = np.abs(between * (1 - identity)).max() + np.abs(measured - between).max()
    return float(max(mixed / np.abs(jacobian).max(), bases))


def _chain(jacobian: Matrix) -> Chain:
    u, s, vt = np.linalg.svd(jacobian, full_matrices=False)
    return u, np.diag(s), vt


def _transposed(jacobian: Matrix) -> Chain:
    u, s, vt = _chain(jacobian)
    return u, s, vt.T


def _turned(draw: np.random.Generator, kind: Kind) -> tuple[Matrix, Float[Array, "2 2"]]:
    """Two columns of size 1, and an orthogonal matrix."""
    w = decoder(draw, kind)[:, :2]
    return w / np.linalg.norm(w, 2), rotation(draw, 2)


def _density_violation(
    change: Callable[[Matrix, Array], Matrix], instance: tuple[Matrix, Float[Array, "2 2"]]
) -> float:
    """Change of p(x) = E_z N(x; W z, I), by quadrature over z."""
    w, q = instance
    z, weights = gaussian_grid(2, 24)
    x = np.random.default_rng(1).normal(size=(4, len(w)))

    def density(w: Matrix) -> Float[Array, "n"]:
        return np.exp(-np.square(x[:, None] - z @ w.T).sum(2) / 2) @ weights

    return float(np.abs(density(change(w, q)) / density(w) - 1).max())


def _orthogonal(draw: np.random.Generator, kind: Kind) -> Matrix:
    """Orthogonal columns: of any lengths, far apart, almost equal or equal."""
    columns = decoder(draw, "orthogonal")
    if kind == "scaled":
        return columns * 10 ** draw.uniform(-3, 3, columns.shape[1])
    lengths = {"close": 1e-6, "equal": 0.0}.get(kind)
    if lengths is None:
        return columns
    spread = 1 + lengths * draw.uniform(size=columns.shape[1])
    return columns / np.linalg.norm(columns, axis=0) * spread


def _columns_violation(lengths: Callable[[Matrix], Float[Array, "d"]], jacobian: Matrix) -> float:
    """How far J is from U S with V = I, these lengths in S, and U orthonormal."""
    u = jacobian / lengths(jacobian)
    values = np.linalg.svd(jacobian, compute_uv=False)
    order = np.abs(np.sort(lengths(jacobian))[::-1] / values - 1).max()
    return float(max(order, np.abs(u.T @ u - np.eye(u.shape[1])).max()))


LINEAR = "$z \\sim N(0, I)$ and $f(z) = W z$, with $W$ of full rank."
SINGULAR_DIRECTIONS = Entry(
    id="A-T1",
    source="Allen (2024), theorem 1 (eq. 9 to 11)",
    title="Linear decoder: independent along left singular vectors",
    statement="The image of a Gaussian under a linear map $W = U S V^\\top$ is a product of "
    "independent densities, one along each column of $U$.",
    formula=r"p(x) = \prod_i s_i^{-1} N(v_i^\top z)",
    assumptions=LINEAR,
    printed=lambda w: np.linalg.svd(w, full_matrices=False)[0],
    check=Everywhere(
        _independence_violation,
        decoder,
        "decoders with 2 to 5 columns",
        tolerance=1e-8,
        names=("$W$",),
    ),
    mutation=Mutation(
        "along the columns of W in place of U", lambda w: w / np.linalg.norm(w, axis=0)
    ),
    remark="$|W|$ stands for the product of singular values, since $W$ need not be square. Eq. 9 "
    "pairs $s_i$ with $z_i$: only the whole product is right there, the factors are those of "
    "eq. 10.",
)
ALONG_LINES = Entry(
    id="A-R1",
    source="Allen (2024), remark 1",
    title="Linear decoder: Gaussian along each direction",
    statement="With the other coordinates in the basis $V$ held, the image of the line along "
    "$v_i$ has a Gaussian density of variance $s_i^2$, wherever the line lies.",
    formula=r"p^{(i)}(x) = s_i^{-1} N(v_i) = N(x;\, 0,\, s_i^2)",
    assumptions=LINEAR,
    printed=lambda s: s**2,
    check=Everywhere(
        _gaussian_violation,
        decoder,
        "decoders with 2 to 5 columns (moments by quadrature)",
        tolerance=1e-7,
        names=("$W$",),
    ),
    mutation=Mutation("variance $s_i$", lambda s: s),
    remark="The $x$ in $N(x; 0, s_i^2)$ is the signed distance from the point with $v_i = 0$.",
)
CHAIN_RULE = Entry(
    id="A-R2",
    source="Allen (2024), remark 2",
    title="The SVD is a chain rule",
    statement="In the bases $U$ and $V$ of a Jacobian, a step along $v_j$ moves $u_j$ alone, at "
    "the rate $s_j$.",
    formula=r"J = \frac{\partial x}{\partial u} \frac{\partial u}{\partial v} "
    r"\frac{\partial v}{\partial z},\quad \frac{\partial u_i}{\partial v_j} = s_i \delta_{ij}",
    assumptions="A differentiable decoder; the bases are those of the point.",
    printed=_chain,
    check=Everywhere(
        _chain_violation,
        _bent,
        "quadratic decoders at a point (steps along $V$, seen along $U$)",
        count=15,
        names=("linear part", "quadratic part", "$z$"),
    ),
    mutation=Mutation("$V$ in place of $V^\\top$", _transposed),
)
RIGHT_VECTORS = Entry(
    id="A-R3",
    source="Allen (2024), remark 3",
    title="Right singular vectors cannot be identified",
    statement="Turning the latent space of a linear model, $V$ as well as signs and order, leaves "
    "the density of the data as it is.",
    formula=r"p_{W Q}(x) = p_W(x), \quad Q^\top Q = I",
    assumptions="$z \\sim N(0, I)$, linear decoder.",
    printed=lambda w, q: w @ q,
    check=Everywhere(
        _density_violation,
        _turned,
        "decoders with 2 columns and a rotation (densities by quadrature)",
        count=10,
        names=("$W$", "$Q$"),
    ),
    mutation=Mutation(
        "turned by a matrix that is not orthogonal", lambda w, q: w @ (q + np.diag([0.3, 0]))
    ),
)
COLUMN_LENGTHS = Entry(
    id="A-R4",
    source="Allen (2024), remark 4",
    title="Orthogonal columns: singular values are their lengths",
    statement="If the Jacobian's columns are orthogonal, its right singular vectors can be taken "
    "as the latent axes, and $s_i$ is the length of column $i$.",
    formula=r"V = I, \quad s_i = \|\partial x / \partial z_i\|",
    assumptions="Orthogonal columns (A#3).",
    printed=lambda jacobian: np.linalg.norm(jacobian, axis=0),
    check=Everywhere(
        _columns_violation,
        _orthogonal,
        "matrices with orthogonal columns",
        NUMBERS,
        names=("$J$",),
    ),
    mutation=Mutation(
        "$s_i$ in falling order, as an SVD routine returns them",
        lambda jacobian: np.linalg.svd(jacobian, compute_uv=False),
    ),
    remark="$V = I$ up to order and signs, which are free (remark 3): the order of $s_i$ is that "
    "of the latents. Where two are equal the axes are one of many choices of $V$.",
)
ENTRIES = (SINGULAR_DIRECTIONS, ALONG_LINES, CHAIN_RULE, RIGHT_VECTORS, COLUMN_LENGTHS)
