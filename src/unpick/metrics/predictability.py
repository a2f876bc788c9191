"""The disentanglement score: how well single latents predict single factors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

NEIGHBOURS = 5


@dataclass(frozen=True, eq=False)
class DisentanglementScore:
    """How much better the best latent predicts a factor than the second best.

    Attributes:
        score: Mean over factors; 1 if each factor is in one latent alone.
        per_factor: The normalised gap of each factor.
        predictability: Of factor k from latent j, normalised: 0 for a guess, 1 for certainty.
    """

    score: float
    per_factor: Float[np.ndarray, "k"]
    predictability: Float[np.ndarray, "k d"]


def disentanglement_score(
    codes: Float[np.ndarray, "n d"],
    factors: Float[np.ndarray, "n k"],
    categorical: Sequence[bool] | None = None,
    *,
    variant: Literal["clipped", "printed"] = "clipped",
    rng: np.random.Generator | None = None,
) -> DisentanglementScore:
    r"""DS (Zietlow 2022, eq. 3.32 to 3.37): five nearest neighbours, 80 % to fit, 20 % to test.

    .. math:: \frac1K \sum_k \frac{A_{k,m(k)} - A_{k,s(k)}}{M_k}

    A is sd(w) - rmse for a regression and the accuracy for a classification, M what makes it a
    share. `clipped` measures both against the best constant guess and cuts off what is
    worse: (sd - rmse) / sd, and (accuracy - guess) / (1 - guess). `printed` is the equation as it
    stands, which can exceed 1: neighbours predict a factor they know nothing of worse than a
    constant does, and the accuracy of the guess is a strange thing to divide by.

    Args:
        codes: Latent means of a test set.
        factors: The generative factors of the same observations.
        categorical: Which factors are classes; none by default.
        variant: See above.
        rng: Draws the 80/20 split.
    """
    n, d = codes.shape
    if d < 2:
        raise ValueError(f"codes must have at least 2 columns, got {d}")
    if len(factors) != n or n < 5 * NEIGHBOURS:
        raise ValueError(
            f"codes and factors must have the same {5 * NEIGHBOURS} or more rows, "
            f"got {n} and {len(factors)}"
        )
    if not (np.isfinite(codes).all() and np.isfinite(factors).all()):
        raise ValueError("codes and factors must be finite")
    classes = categorical or [False] * factors.shape[1]
    order = (rng or np.random.default_rng(0)).permutation(n)
    fit, test = order[: 4 * n // 5], order[4 * n // 5 :]
    measure = {True: _accuracy, False: _explained}
    shares = np.array(
        [
            [measure[c](codes[:, j : j + 1], w, fit, test, variant) for j in range(d)]
            for c, w in zip(classes, factors.T, strict=True)
        ]
    )
    ranked = np.sort(shares, axis=1)
    gaps = ranked[:, -1] - ranked[:, -2]
    return DisentanglementScore(float(gaps.mean()), gaps, shares)


def _explained(
    code: np.ndarray, w: np.ndarray, fit: np.ndarray, test: np.ndarray, variant: str
) -> float:
    """(sd - rmse) / sd of a regression."""
    spread = float(w[test].std())
    if spread == 0:
        raise ValueError("a factor is constant: nothing can be predicted")
    model = KNeighborsRegressor(NEIGHBOURS).fit(code[fit], w[fit])
    error = float(np.sqrt(np.mean((model.predict(code[test]) - w[test]) ** 2)))
    share = (spread - error) / spread
    return max(0.0, share) if variant == "clipped" else share


def _accuracy(
    code: np.ndarray, w: np.ndarray, fit: np.ndarray, test: np.ndarray, variant: str
) -> float:
    """Accuracy of a classification, measured against the most frequent class."""
    labels, counts = np.unique(w[fit], return_counts=True)
    if len(labels) < 2:
        raise ValueError("a factor is constant: nothing can be predicted")
    guess = float((w[test] == labels[counts.argmax()]).mean())
    model = KNeighborsClassifier(NEIGHBOURS).fit(code[fit], w[fit])
    accuracy = float((model.predict(code[test]) == w[test]).mean())
    return accuracy / guess if variant == "printed" else max(0.0, (accuracy - guess) / (1 - guess))
