"""The nearest orthogonal matrix and the OD-Score: Bhowal et al. (2024), sections 4.4 and A.8.3."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy.linalg import polar

from unpick.study.ledger.checks import Everywhere
from unpick.study.ledger.entry import Correction, Entry, Mutation
from unpick.study.ledger.instances import Kind, decoder

Array = np.ndarray


def _tall(draw: np.random.Generator, kind: Kind) -> Float[Array, "p d"]:
    """A decoder; every second plain one is the number 2."""
    if kind == "plain" and draw.random() < 0.5:
        return np.full((1, 1), 2.0)
    return decoder(draw, kind)


def _nearest_violation(power: float, m: Float[Array, "p d"]) -> float:
    """M (M^T M)^power is not orthonormal, or farther from M than other orthonormal matrices.

    The others are 20 close to the claimed one, and 20 far away.
    """
    u, values, vt = np.linalg.svd(m, full_matrices=False)
    claimed = u * values ** (1 + 2 * power) @ vt
    off = np.abs(claimed.T @ claimed - np.eye(len(vt))).max()
    draw = np.random.default_rng(0)
    starts = draw.normal(size=(2, 20, *m.shape)) * np.reshape([0.01, 1.0], (2, 1, 1, 1))
    starts[0] += claimed
    others, r = np.linalg.qr(starts)
    others = others * np.sign(np.diagonal(r, axis1=-2, axis2=-1))[..., None, :]
    distance = np.square(m - claimed).sum()
    least = np.square(m - others).sum((-2, -1)).min()
    return float(max(off, (distance - least) / (1 + np.square(m).sum())))


NEAREST = Entry(
    id="B-P7",
    source="Bhowal et al. (2024), proposition 7",
    title="Nearest matrix with orthonormal columns",
    statement="Among matrices with orthonormal columns, $M (M^\\top M)^{1/2}$ is nearest to $M$ "
    "in the Frobenius norm.",
    formula=r"\hat{M} = M (M^\top M)^{\frac{1}{2}}",
    assumptions="Independent columns.",
    printed=0.5,
    check=Everywhere(
        _nearest_violation, _tall, "decoders, each against 40 other matrices", names=("M",)
    ),
    mutation=Mutation("exponent -1", -1.0),
    correction=Correction(
        "The exponent is $-1/2$: the polar factor, $U V^\\top$ for $M = U \\Sigma V^\\top$.",
        r"\hat{M} = M (M^\top M)^{-\frac{1}{2}}",
        -0.5,
    ),
    remark="$M = (2)$ would have $(4)$ nearest to it; it is $(1)$. The proof has it right up to "
    "the last line, where $M = \\hat{M} (M^\\top M)^{1/2}$ is solved for $\\hat{M}$. "
    "`nearest_orthogonal` computes it.",
)


def _parts_violation(reading: Callable[[Array], float], m: Float[Array, "p d"]) -> float:
    """Error of the part of V against that of U, with scipy's polar factor."""
    u, _, vt = np.linalg.svd(m, full_matrices=False)
    of_u = np.square(u - polar(m)[0]).sum()
    return abs(reading(vt.T) - float(of_u)) / len(vt)


PARTS_OF_THE_SCORE = Entry(
    id="B-S4.4",
    source="Bhowal et al. (2024), sections 4.4 and A.8.3",
    title="Two parts of the OD-Score are one",
    statement="An identity that follows from the paper's definitions, not one of its claims: the "
    "part of the OD-Score that compares $U$ with $\\hat{U}$, the matrix with orthonormal columns "
    "nearest to $M$, equals the part that compares $V$ with $I$.",
    formula=r"\|U - \hat{U}\|_F^2 = \|V - I\|_F^2, \quad \hat{U} = U V^\top",
    assumptions="Thin SVD; $\\hat{U}$ is the polar factor of $M$ (proposition 7, its exponent put "
    "right) and $\\hat{V} = I$ (lemma 4). Parts before they are normalised.",
    printed=lambda v: float(np.square(v - np.eye(len(v))).sum()),
    check=Everywhere(
        _parts_violation, decoder, "decoders, with the polar factor of scipy", names=("M",)
    ),
    mutation=Mutation(
        "spectral in place of Frobenius norm",
        lambda v: float(np.linalg.norm(v - np.eye(len(v)), 2) ** 2),
    ),
    remark="Since the columns of $U$ are orthonormal, $\\|U - U V^\\top\\| = \\|I - V^\\top\\|$. "
    "So the score counts the alignment of $V$ twice and the singular values once. This rests on "
    "$\\hat{U}$ being the polar factor of $M$; with another target the two parts differ.",
)
ENTRIES = (NEAREST, PARTS_OF_THE_SCORE)
