"""Principal directions and a rotation of factors in chapter 2 of Zietlow (2022)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import polar

from unpick.metrics import mutual_information_gap
from unpick.study.ledger.checks import Everywhere
from unpick.study.ledger.entry import Correction, Entry, Evidence, Mutation
from unpick.study.ledger.instances import Kind, decoder

Array = np.ndarray
Square = Float[Array, "m m"]


@dataclass(frozen=True)
class Eigenvectors:
    """What is said of the eigenvectors of a covariance.

    Attributes:
        matrix: Q in C = Q Lambda Q^{-1}, from eigenvectors as columns, the largest first.
        order: The order of principal directions, as indices into the same.
    """

    matrix: Callable[[Square], Square]
    order: Callable[[int], Array]


def _data(draw: np.random.Generator, kind: Kind) -> Float[Array, "n m"]:
    """Centred data, one observation a row; plain ones are six rows of two integers."""
    if kind == "plain":
        half = draw.integers(-3, 4, (3, 2)).astype(float) + np.diag([0.0, 4.0, 0.0])[:, :2]
        return np.concatenate([half, -half])
    w = decoder(draw, "orthogonal" if kind == "scaled" else kind)
    x = draw.normal(size=(20, w.shape[1])) @ w.T
    x += 1e-2 * draw.normal(size=x.shape)
    return x - x.mean(0)


def _directions_violation(reading: Eigenvectors, x: Float[Array, "n m"]) -> float:
    """Error of Q Lambda Q^{-1}, and what drawn directions have more variance than those found.

    Directions are judged in their order: each is the best of those orthogonal to the ones before.
    """
    covariance = x.T @ x / (len(x) - 1)
    values, vectors = np.linalg.eigh(covariance)
    vectors = vectors[:, ::-1]
    q = reading.matrix(vectors)
    off = np.abs(q @ np.diag(values[::-1]) @ np.linalg.inv(q) - covariance).max()
    chosen = vectors[:, reading.order(len(values))]
    tried = np.random.default_rng(0).normal(size=(len(values), 200))
    excess = 0.0
    for k, direction in enumerate(chosen.T):
        rest = tried - chosen[:, :k] @ (chosen[:, :k].T @ tried)
        rest /= np.linalg.norm(rest, axis=0)
        most = np.square(x @ rest).sum(0).max() / (len(x) - 1)
        excess = max(excess, float(most - np.square(x @ direction).sum() / (len(x) - 1)))
    return float(max(off, excess) / values.max())


PRINCIPAL = Entry(
    id="Z-S2.1",
    source="Zietlow (2022), section 2.1",
    title="Principal directions are eigenvectors of the covariance",
    statement="The covariance is $Q \\Lambda Q^{-1}$ with the eigenvectors as rows of $Q$ and "
    "eigenvalues in falling order. In this order the eigenvectors are the directions of largest "
    "variance, each among those orthogonal to the ones before.",
    formula=r"C_X = Q \Lambda Q^{-1}, \quad Q = (q^{(1)}, \ldots, q^{(m)})^\top",
    assumptions="Centred data, one observation a row of $X$; $C_X = X^\\top X / (n - 1)$.",
    printed=Eigenvectors(lambda vectors: vectors.T, np.arange),
    check=Everywhere(
        _directions_violation,
        _data,
        "data sets (200 other directions each)",
        ("plain", "scaled", "orthogonal"),
        count=15,
        names=("X",),
    ),
    mutation=Mutation(
        "in order of rising eigenvalues, as routines return them",
        Eigenvectors(lambda vectors: vectors, lambda m: np.arange(m)[::-1]),
    ),
    correction=Correction(
        "The eigenvectors are the columns of $Q$.",
        r"Q = (q^{(1)}, \ldots, q^{(m)})",
        Eigenvectors(lambda vectors: vectors, np.arange),
    ),
    remark="We read the formula in a text extracted from the thesis; the transpose may be a slip "
    "of that text. Later the remaining directions are said to follow in ascending order: so it is "
    "with their index, not with their variance. With a known mean of zero, as assumed there, "
    "$n$ and not $n - 1$ makes $C_X$ unbiased; no direction depends on that.",
)


def _rotation_check(matrix: Square) -> Evidence:
    """Whether a rotation rounds to it, what it keeps, and what it mixes."""
    turn = polar(matrix)[0]
    rounding = float(np.abs(turn - matrix).max())
    draw = np.random.default_rng(0)
    factors = draw.integers(0, 10, (4000, 3))
    ideal = (factors - 4.5) / np.sqrt(8.25)
    turned = ideal @ matrix.T
    images = np.tanh(ideal @ draw.normal(size=(3, 20)))

    def left(codes: Float[Array, "n 3"]) -> float:
        """Error of a decoder with tanh, fitted to these codes."""
        logits = np.arctanh(images)
        fit = np.linalg.lstsq(codes, logits, rcond=None)[0]
        return float(np.square(np.tanh(codes @ fit) - images).mean())

    error = max(left(ideal), left(turned))
    gaps = [mutual_information_gap(codes, factors).score for codes in (ideal, turned)]
    strongest = np.abs(np.corrcoef(turned.T, ideal.T)[:3, 3:]).max(1)
    text = f"entries off those of the nearest orthogonal matrix by {rounding:.4f} at most, its "
    text += f"determinant {np.linalg.det(turn):+.0f}; squared error of a decoder fitted to turned "
    text += f"codes {error:.0e}; MIG {gaps[0]:.2f} before, {gaps[1]:.2f} after; the strongest "
    text += f"correlations of turned latents are {', '.join(f'{r:.2f}' for r in strongest)}"
    mixed = gaps[0] > 0.9 and gaps[1] < 0.2
    return Evidence(rounding < 0.005 and np.linalg.det(turn) > 0 and error < 1e-12 and mixed, text)


ROTATED = Entry(
    id="Z-E2.7",
    source="Zietlow (2022), eq. 2.7",
    title="A rotation that keeps reconstructions and mixes factors",
    statement="The printed matrix is a rotation of three latents. What is decoded from them "
    "stays the same, but single latents lose their meaning.",
    formula=r"(a, s, h) \mapsto (0.75 a + 0.25 s + 0.61 h,\ 0.25 a + 0.75 s - 0.61 h,\ "
    r"-0.61 a + 0.61 s + 0.50 h)",
    assumptions="Entries are rounded to two digits; factors independent, of unit variance.",
    printed=np.array([[0.75, 0.25, 0.61], [0.25, 0.75, -0.61], [-0.61, 0.61, 0.5]]),
    check=_rotation_check,
    mutation=Mutation(
        "a sign lost: $0.61 a$ in the third latent",
        np.array([[0.75, 0.25, 0.61], [0.25, 0.75, -0.61], [0.61, 0.61, 0.5]]),
    ),
    remark="The entries are those of a turn by 60 degrees about $(1, 1, 0)$: 3/4, 1/4, "
    "$\\sqrt{6}/4$ and 1/2. The thesis says that the meaning is lost entirely; the first two "
    "latents still go with one factor more than with the others.",
)
ENTRIES = (PRINCIPAL, ROTATED)
