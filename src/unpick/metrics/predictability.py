"""The disentanglement score: how well single latents predict single factors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float, Int, Real

from unpick.arrays import Array
from unpick.metrics.division import Rows, split_rows
from unpick.names import unknown_choice

Variant = Literal["clipped", "printed"]
NEIGHBOURS = 5


@dataclass(frozen=True, eq=False)
class DisentanglementScore:
    """How much better the best latent predicts a factor than the second best.

    Attributes:
        score: Mean over factors; 1 if each factor is in one latent alone.
        per_factor: The gap of each factor.
        matrix: How well latent j predicts factor k: 0 for a guess, 1 for certainty.
    """

    score: float
    per_factor: Float[np.ndarray, "k"]
    matrix: Float[np.ndarray, "d k"]


def disentanglement_score(
    codes: Array,
    factors: Array,
    categorical: Sequence[bool] | None = None,
    *,
    test: Rows | None = None,
    variant: Variant = "clipped",
    rng: np.random.Generator | None = None,
) -> DisentanglementScore:
    r"""DS (Zietlow 2022, eq. 3.32 to 3.37): five nearest neighbours, 80 % to fit, 20 % to test.

    .. math:: \frac1K \sum_k \frac{A_{m(k),k} - A_{s(k),k}}{M_k}

    A is sd(w) - rmse for a regression and the accuracy for a classification, M what makes it a
    share. `clipped` measures both against the best constant guess and cuts off what is
    worse: (sd - rmse) / sd, and (accuracy - guess) / (1 - guess). `printed` is the equation as it
    stands, which can exceed 1: neighbours predict a factor they know nothing of worse than a
    constant does, and the accuracy of the guess is a strange thing to divide by.

    A constant latent has no nearest neighbours and counts as the constant guess: 0, and 1 for a
    printed accuracy.

    Args:
        codes: Latent means.
        factors: The generative factors of the same observations.
        categorical: Which factors are classes; none by default.
        test: Codes and factors to test on; None holds out 20 % of the rows.
        variant: See above.
        rng: Draws the 80/20 split.

    Example:
        >>> factors = np.random.default_rng(0).random((1000, 2))
        >>> round(disentanglement_score(factors, factors).score, 2)
        1.0
    """
    if variant not in get_args(Variant):
        raise unknown_choice("variant", variant, Variant)
    fit, held = split_rows(codes, factors, test, 0.8, rng, rows=5 * NEIGHBOURS)
    count = fit[1].shape[1]
    kinds = [bool(kind) for kind in categorical or ()] or [False] * count
    if len(kinds) != count:
        raise ValueError(
            f"categorical must have one entry for each of {count} factors, got {len(kinds)}"
        )
    neighbours = [
        None if np.ptp(known) == 0 else nearest(known, new)
        for known, new in zip(fit[0].T, held[0].T, strict=True)
    ]
    shares = [
        (_accuracies if kind else _explained)(neighbours, known, wanted, variant)
        for kind, known, wanted in zip(kinds, fit[1].T, held[1].T, strict=True)
    ]
    matrix = np.array(shares).T
    ranked = np.sort(matrix, axis=0)
    gaps = ranked[-1] - ranked[-2]
    return DisentanglementScore(float(gaps.mean()), gaps, matrix)


def nearest(
    known: Real[np.ndarray, "n"], new: Real[np.ndarray, "m"], k: int = NEIGHBOURS
) -> Int[np.ndarray, "k m"]:
    """The k known values nearest to each new one, as positions in `known`, the nearest first.

    Of values equally far the one that stands first in `known` is taken, whichever side it lies
    on. (A k-d tree takes the one it happens to meet first.)

    Example:
        >>> nearest(np.array([5.0, 1.0, 3.0, 1.0]), np.array([2.0, 9.0]), k=2).T
        array([[1, 2],
               [0, 2]])
    """
    n = len(known)
    if n < k:
        raise ValueError(f"known must have at least {k} values, got {n}")
    known, order = known.astype(float), np.argsort(new)
    new = new[order].astype(float)  # sorted, because that is six times as fast to search for
    up = down = np.argsort(known)
    if (np.diff(known[up]) == 0).any():
        # Walking away from a new value, equal ones must come in the order of their positions.
        up = np.argsort(known, kind="stable")
        down = n - 1 - np.argsort(known[::-1], kind="stable")
    # An infinite value ends the walk up, and, at -1, the walk down.
    ranked, up, down = np.append(known[up], np.inf), np.append(up, n), np.append(down, n)
    right = np.searchsorted(ranked, new)
    left = right - 1
    found = np.empty((k, len(new)), np.intp)
    for row in found:
        low, high = np.abs(new - ranked[left]), ranked[right] - new
        below, above = down[left], up[right]
        lower = (low < high) | ((low == high) & (below < above))
        row[order] = np.where(lower, below, above)
        left, right = left - lower, right + ~lower
    return found


def _explained(
    neighbours: list[np.ndarray | None], known: np.ndarray, wanted: np.ndarray, variant: str
) -> list[float]:
    """(sd - rmse) / sd of a regression on each latent."""
    spread = float(wanted.std())
    if spread == 0:
        raise ValueError("a factor is constant in the test rows: nothing can be predicted")
    errors = [
        spread if rows is None else float(np.sqrt(np.mean((known[rows].mean(0) - wanted) ** 2)))
        for rows in neighbours
    ]
    shares = [(spread - error) / spread for error in errors]
    return [max(0.0, share) for share in shares] if variant == "clipped" else shares


def _accuracies(
    neighbours: list[np.ndarray | None], known: np.ndarray, wanted: np.ndarray, variant: str
) -> list[float]:
    """Accuracy of a classification by each latent, against that of the most frequent class."""
    labels, counts = np.unique(known, return_counts=True)
    guess = float((wanted == labels[counts.argmax()]).mean())
    if not 0 < guess < 1:
        raise ValueError(
            "a factor is constant, or its most frequent class does not occur in the test rows: "
            "there is no guess to compare with"
        )
    accuracies = [
        guess if rows is None else float((vote(known[rows]) == wanted).mean())
        for rows in neighbours
    ]
    if variant == "printed":
        return [accuracy / guess for accuracy in accuracies]
    return [max(0.0, (accuracy - guess) / (1 - guess)) for accuracy in accuracies]


def vote(labels: Real[np.ndarray, "k n"]) -> Float[np.ndarray, "n"]:
    """The most frequent label of each column, of equally frequent ones the smallest.

    Example:
        >>> vote(np.array([[2, 3], [1, 1], [2, 2]])).tolist()
        [2.0, 1.0]
    """
    votes = (labels[:, None] == labels).sum(0, dtype=np.int8)
    return np.where(votes == votes.max(0), labels, np.inf).min(0)
