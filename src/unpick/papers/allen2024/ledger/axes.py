"""Which axes of the Hessian the deterministic ELBO prefers (Allen 2024, appendix B)."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from jaxtyping import Float
from scipy.optimize import linear_sum_assignment

from unpick.papers.allen2024.ledger.hessian import posterior_cost, precision
from unpick.study.ledger.checks import Everywhere
from unpick.study.ledger.entry import Correction, Entry, Mutation
from unpick.study.ledger.instances import NUMBERS, Kind, decoder, positive, rotation
from unpick.theory.columns import cosines, plane_turn

Array = np.ndarray
Square = Float[Array, "d d"]


@dataclass(frozen=True)
class Alignment:
    """A claim about the Hessian of given eigenvalues that maximises tr(H S).

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
        loss = reached - value(plane_turn(len(values), i, j, np.pi / 4), best)
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
    return -w.T @ w, float(draw.choice([0.5, 1.0, 2.0, 4.0]))


def _hadamard_violation(
    covariance: Callable[[Square, float], Square], instance: tuple[Square, float]
) -> float:
    """How far the posterior is from the best diagonal one, and the cost from least at diagonal H.

    A matrix of cosines I + E has -log det >= |E|^2 / (2 d), which is the gap asked for. The best
    diagonal posterior costs less than one with a variance changed by a tenth or a hundredth.
    """
    hessian, beta = instance
    claimed = covariance(hessian, beta)
    cost = posterior_cost(hessian, claimed, beta)
    better = 0.0
    for i, by in product(range(len(hessian)), (0.9, 0.99, 1.01, 1.1)):
        scale = np.ones(len(hessian))
        scale[i] = by
        rival = np.diag(np.diag(claimed) * scale)
        better = max(better, (cost - posterior_cost(hessian, rival, beta)) / (beta + abs(cost)))
    off_axis = float(np.abs(claimed - np.diag(np.diag(claimed))).max())
    straight = np.diag(np.linalg.eigvalsh(hessian))
    least = posterior_cost(straight, covariance(straight, beta), beta)
    gap = cost - least
    factor = np.linalg.cholesky(precision(hessian, beta)).T  # its columns' products are I - H/beta
    aside = np.square(cosines(factor) - np.eye(len(hessian))).sum()
    lacking = beta / 2 * aside / (2 * len(hessian)) - gap
    gaps = max(lacking, abs(gap) if aside < 1e-20 else 0.0) / (beta + abs(least))
    return float(max(gaps, better, off_axis))


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
        names=("eigenvalues", "variances"),
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
        "the variance is smallest, and so on: $t_{(i)}$ and $\\sigma^2_{(i)}$ are both in rising "
        "order. No other $H$ reaches it if the variances are distinct; for $\\Sigma \\propto I$ "
        "all $V$ do.",
        r"\max_V \mathrm{tr}(V T V^\top \Sigma) = \sum_i t_{(i)} \sigma^2_{(i)}",
        Alignment(_paired, lambda variances: len(set(variances)) == len(variances)),
    ),
    remark="The Cauchy-Schwarz bound $\\|T\\| \\|\\Sigma\\|$ is positive and $T \\odot \\Sigma$ "
    "negative, so the last equality fails. A diagonal $H$ in the wrong order is no maximum: for "
    "eigenvalues $-1, -2$ and variances $1, 2$ it gives $-5$, the other order $-4$. Signs are "
    "free, but with $\\Sigma$ fixed the order is not. What the paper needs follows from A-T5.",
)
HADAMARD = Entry(
    id="A-T5",
    source="Allen (2024), theorem 5 (A#4, eq. 19)",
    title="Best posterior: the Hessian is best diagonal",
    statement="If the posterior is the best one for each $H$, and the eigenvalues of $H$ are "
    "given, the det-ELBO is largest if and only if $H$ is diagonal.",
    formula=r"\Sigma = \mathrm{diag}[I - \frac{1}{\beta} H]^{-1}",
    assumptions="$H$ negative semidefinite; $\\Sigma$ is diagonal and follows $H$ (A#4, as the "
    "proof writes it for diagonal posteriors).",
    printed=lambda hessian, beta: np.diag(1 / np.diag(precision(hessian, beta))),
    check=Everywhere(
        _hadamard_violation, _curved, "Hessians $-W^\\top W$", names=("$H$", "$\\beta$")
    ),
    mutation=Mutation(
        "the diagonal of the inverse, $\\mathrm{diag}[(I - H/\\beta)^{-1}]$",
        lambda hessian, beta: np.diag(np.diag(np.linalg.inv(precision(hessian, beta)))),
    ),
    remark="The det-ELBO is $-\\frac{\\beta}{2} \\sum_i \\log(1 - H_{ii} / \\beta)$ but for terms "
    "without $H$, and Hadamard's inequality decides. With a full covariance, for which A#4 is "
    "stated as well, all $V$ are as good: the loss is "
    "$\\frac{\\beta}{2} \\log\\det(I - H/\\beta)$, which turning leaves as it is. It is the "
    "diagonal posterior that chooses: for $-H = (3, 1; 1, 3)$ and $\\beta = 1$ the full one loses "
    "$\\log \\sqrt{15}$, the diagonal one $\\log 4$. $V = I$ is read as: $H$ is diagonal. Order "
    "and signs are free (remark 3), and so is $V$ where eigenvalues are equal.",
)
ENTRIES = (DIAGONAL_HESSIAN, HADAMARD)
