"""Separated attribute predictability: can one latent alone tell the values of a factor apart?"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Real
from sklearn.svm import LinearSVC

from unpick.arrays import Array
from unpick.metrics.division import FIT_SHARE, Rows, split_classes, split_rows


@dataclass(frozen=True, eq=False)
class SAP:
    """How much better the best latent separates the values of a factor than the second best.

    Attributes:
        score: Mean over factors; 0 if the two best latents are equally good.
        per_factor: The gap of each factor.
        matrix: Test accuracy of latent j for factor k, or their squared correlation.
    """

    score: float
    per_factor: Float[np.ndarray, "k"]
    matrix: Float[np.ndarray, "d k"]


def sap(
    codes: Array,
    factors: Array,
    *,
    test: Rows | None = None,
    continuous: bool = False,
    factor_bins: int | None = None,
    rng: np.random.Generator | None = None,
) -> SAP:
    r"""SAP (Kumar et al. 2018, section 3), with the settings of Locatello et al. 2019.

    .. math:: \frac1K \sum_k A_{m(k),k} - A_{s(k),k}

    A is the accuracy, on test rows, of a linear support vector machine (C = 0.01, classes weighted
    by their frequency) that sees one latent; m and s are the best and the second best latent.
    Not comparable across numbers of values: perfect codes get 1 - 1/c for up to c = 4 equally
    frequent values, 0.50 for 6, 0.08 for 10 and 0.02 for 40, because a machine that draws one
    line for each value against the rest finds none for those in the middle. A constant latent
    always names one class, and gets its share of the test rows.

    `continuous` takes the squared correlation on the rows to fit instead; there a constant latent
    (variance up to 1e-12) gets 0.

    Args:
        codes: Latent means.
        factors: The generative factors of the same observations.
        test: Codes and factors to test on; None holds out a third of the rows.
        continuous: Correlate instead of classifying.
        factor_bins: Cut each factor into so many classes of equal width first.
        rng: Draws the rows that are held out.

    Example:
        >>> factors = np.random.default_rng(0).integers(0, 2, (300, 2))
        >>> sap(factors.astype(float), factors).matrix.round(1).tolist()
        [[1.0, 0.5], [0.5, 1.0]]
    """
    if continuous:
        if factor_bins is not None:
            raise ValueError(f"factor_bins must be None for continuous factors, got {factor_bins}")
        fit, _ = split_rows(codes, factors, test, FIT_SHARE, rng)
        matrix = squared_correlations(*fit)
    else:
        (known, labels), (new, wanted) = split_classes(codes, factors, test, factor_bins, rng)
        d, k = known.shape[1], labels.shape[1]
        matrix = np.empty((d, k))
        for i, j in np.ndindex(d, k):
            matrix[i, j] = _accuracy(known[:, [i]], labels[:, j], new[:, [i]], wanted[:, j])
    ranked = np.sort(matrix, axis=0)
    gaps = ranked[-1] - ranked[-2]
    return SAP(float(gaps.mean()), gaps, matrix)


def squared_correlations(
    codes: Float[np.ndarray, "n d"], factors: Real[np.ndarray, "n k"]
) -> Float[np.ndarray, "d k"]:
    """Squared correlation of every latent with every factor; 0 for a constant latent."""
    codes = codes.astype(np.float64)
    a, w = codes - codes.mean(0), factors - factors.mean(0)
    share = 1 / (len(codes) - 1)
    variance, spread = share * (a**2).sum(0), share * (w**2).sum(0)
    if not spread.all():
        raise ValueError(f"factor {np.argmin(spread)} is constant: nothing correlates with it")
    together = (share * a.T @ w) ** 2
    alive = variance > 1e-12
    return np.where(alive[:, None], together / np.where(alive, variance, 1)[:, None] / spread, 0)


def _accuracy(known: np.ndarray, labels: np.ndarray, new: np.ndarray, wanted: np.ndarray) -> float:
    # Primal, which scikit-learn takes by itself for more rows than columns: a few Newton steps,
    # the same every time. A warning that they did not converge would be news, and is let through.
    machine = LinearSVC(C=0.01, class_weight="balanced", dual=False).fit(known, labels)
    return float((machine.predict(new) == wanted).mean())
