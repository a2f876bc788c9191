"""Which axes of the Hessian the deterministic ELBO prefers (Allen 2024, appendix B)."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Float
from scipy.optimize import linear_sum_assignment

from unpick.theory.checks import Everywhere
from unpick.theory.claims.allen_hessian import noise_cost, precision
from unpick.theory.entry import Correction, Entry, Mutation
from unpick.theory.instances import NUMBERS, Kind, decoder, positive, rotation

Array = np.ndarray
Square = Float[Array, "d d"]


@dataclass(frozen=True)
class Alignment:
    """What is said of the Hessian that maximises tr(H S), its eigenvalues given.

    Attributes:
        diagonal: Its diagonal, from eigenvalues and variances.
        only: Whether no Hessian off the diagonal form is as good, from the variances.
    """

    diagonal: Callable[[Float[Array, "d"], Float[Array, "d"]], Float[Array, "d"]]
    only: Callable[[Float[Array, "d"]], bool]


Spectra = tuple[Float[Array, "d"], Float[Array, "d"]]


def _spectra(draw: np.random.Generator, kind: Kind) -> Spectra:
    """Eigenvalues of a negative Hessian and variances; plain ones are two small integers."""
    if kind == "plain":
        curvature, variances = draw.integers(1, 4, (2, 2)).astype(float)
    else:
        size = int(draw.integers(3, 5))
        variances = np.concatenate([positive(draw, kind), positive(draw, kind)])[:size]
        curvature = np.exp(draw.normal(size=size))
    return -curvature, variances


def _alignment_violation(alignment: Alignment, instance: Spectra) -> float:
    """Against all pairings, drawn rotations, and turns by 45 degrees in each plane."""
    values, variances = instance
    best = np.diag(alignment.diagonal(values, variances))
    scale = np.abs(values).max() * variances.max()

    def value(turn: Square, hessian: Square) -> float:
        return float(np.einsum("ij,jk,ik,i->", turn, hessian, turn, variances) / scale)

    reached = value(np.eye(len(values)), best)
    pairs = np.outer(variances, values)
    violations = [pairs[linear_sum_assignment(pairs, maximize=True)].sum() / scale - reached]
    draw = np.random.default_rng(1)
    violations += [value(rotation(draw, len(values)), best) - reached for _ in range(10)]
    for i, j in combinations(range(len(values)), 2):
        turn = np.eye(len(values))
        turn[[i, i, j, j], [i, j, i, j]] = np.sqrt(0.5) * np.array([1, 1, -1, 1])
        loss = reached - value(turn, best)
        bend, width = abs(best[i, i] - best[j, j]), abs(variances[i] - variances[j])
        if bend > 0 and alignment.only(variances):
            lost = width * bend / scale / 2  # what a turn by 45 degrees must cost
            violations.append(0.1 if lost == 0 else lost / 2 - loss)
        elif bend > 0 and width == 0:
            violations.append(abs(loss))
    return float(max(violations))


def _paired(values: Float[Array, "d"], variances: Float[Array, "d"]) -> Float[Array, "d"]:
    """The most negative curvature where the variance is smallest."""
    return np.sort(values)[np.argsort(np.argsort(variances))]


def _curved(draw: np.random.Generator, kind: Kind) -> tuple[Square, float]:
    """A negative Hessian and beta."""
    w = decoder(draw, kind)
    return -w.T @ w, float(np.exp(draw.normal()))


def _hadamard_violation(
    covariance: Callable[[Square, float], Square], instance: tuple[Square, float]
) -> float:
    """Of: the cost is least if and only if H is diagonal, at these eigenvalues.

    A matrix of cosines I + E has -log det >= |E|^2 / (2 d), which is the gap asked for.
    """
    hessian, beta = instance
    straight = np.diag(np.linalg.eigvalsh(hessian))
    least = noise_cost(straight, covariance(straight, beta), beta)
    gap = noise_cost(hessian, covariance(hessian, beta), beta) - least
    shape = precision(hessian, beta)
    lengths = np.sqrt(np.diag(shape))
    aside = np.square(shape / np.outer(lengths, lengths) - np.eye(len(hessian))).sum()
    lacking = beta / 2 * aside / (2 * len(hessian)) - gap
    return float(max(lacking, abs(gap) if aside < 1e-20 else 0.0) / (beta + abs(least)))


DIAGONAL_HESSIAN = Entry(
    id="A-T4",
    source="Allen (2024), theorem 4",
    title="Fixed diagonal posterior: the best axes of the Hessian",
    statement="For a fixed diagonal $\\Sigma$ and given eigenvalues of $H$, the det-ELBO is "
    "largest if and only if $H$ is diagonal.",
    formula=r"\mathrm{tr}(H \Sigma) \leq \|T\|\, \|\Sigma\| = T \odot \Sigma, "
    r"\quad H = V T V^\top",
    assumptions="$\\Sigma$ diagonal and positive, $H$ symmetric and negative.",
    printed=Alignment(lambda values, variances: values, lambda variances: True),
    check=Everywhere(
        _alignment_violation,
        _spectra,
        "pairs of eigenvalues of $H$ and variances",
        NUMBERS,
        count=20,
        tolerance=1e-12,
    ),
    mutation=Mutation(
        "the most negative curvature where the variance is largest",
        Alignment(
            lambda values, variances: -_paired(-values, variances),
            lambda variances: len(set(variances)) == len(variances),
        ),
    ),
    correction=Correction(
        "The maximum (von Neumann) is at a diagonal $H$ with the most negative eigenvalue where "
        "the variance is smallest, and so on: $V$ is one signed permutation, not any. No other "
        "$H$ reaches it if the variances are distinct; for $\\Sigma \\propto I$ all $V$ do.",
        r"\max_V \mathrm{tr}(V T V^\top \Sigma) = \sum_i t_{(i)} \sigma^2_{(i)}",
        Alignment(_paired, lambda variances: len(set(variances)) == len(variances)),
        changes="claim",
    ),
    remark="The Cauchy-Schwarz bound $\\|T\\| \\|\\Sigma\\|$ is positive and $T \\odot \\Sigma$ "
    "negative, so the last equality fails. A diagonal $H$ in the wrong order is no maximum: for "
    "eigenvalues $-1, -2$ and variances $1, 2$ it gives $-5$, the other order $-4$. What the "
    "paper needs follows from theorem 5.",
)
HADAMARD = Entry(
    id="A-T5",
    source="Allen (2024), theorem 5 (eq. 19)",
    title="Best diagonal posterior: the Hessian is best diagonal",
    statement="With the best diagonal $\\Sigma$ for each $H$, and the eigenvalues of $H$ given, "
    "the det-ELBO is largest if and only if $H$ is diagonal.",
    formula=r"-\frac{\beta}{2} \sum_i \log(1 - \frac{1}{\beta} v_i^\top T v_i) \leq "
    r"-\frac{\beta}{2} \log \det(I - \frac{1}{\beta} T)",
    assumptions="$\\Sigma = \\mathrm{diag}[I - H/\\beta]^{-1}$ (A#4), $H$ negative semidefinite.",
    printed=lambda hessian, beta: np.diag(1 / np.diag(precision(hessian, beta))),
    check=Everywhere(_hadamard_violation, _curved, "Hessians $-W^\\top W$, turned and straight,"),
    mutation=Mutation(
        "$\\Sigma = (I - H/\\beta)^{-1}$, not diagonal: A#4 to the letter",
        lambda hessian, beta: np.linalg.inv(precision(hessian, beta)),
    ),
    remark="$V = I$ is read as: $H$ is diagonal. That leaves signs and order open, and $V$ itself "
    "where eigenvalues are equal. With a full covariance all $V$ are as good: it is the diagonal "
    "posterior that chooses.",
)
ENTRIES = (DIAGONAL_HESSIAN, HADAMARD)
