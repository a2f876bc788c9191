"""Does a latent know one factor only, and can a linear model read the factors from the code?"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from sklearn.metrics import roc_auc_score

from unpick.arrays import Array
from unpick.metrics.division import Rows, split_classes
from unpick.metrics.information import mutual_information
from unpick.metrics.inputs import histogram_bins
from unpick.metrics.logistic import logistic_regression


@dataclass(frozen=True, eq=False)
class ModularityExplicitness:
    """Two numbers of one code.

    Attributes:
        modularity: Mean over latents; 1 if each knows at most one factor.
        explicitness: Mean over factors of the area under the ROC curve on test rows; 0.5 for
            a code that says nothing, 1 if a linear model tells all values apart.
        explicitness_train: The same on the rows it was fitted to.
        matrix: Information of latent j (row) about factor k (column), in nats.
        per_latent: Modularity of each latent; 0 for one without information.
        per_factor: Explicitness of each factor, on test rows.
    """

    modularity: float
    explicitness: float
    explicitness_train: float
    matrix: Float[np.ndarray, "d k"]
    per_latent: Float[np.ndarray, "d"]
    per_factor: Float[np.ndarray, "k"]


def modularity_explicitness(
    codes: Array,
    factors: Array,
    *,
    test: Rows | None = None,
    bins: int = 20,
    factor_bins: int | None = None,
    rng: np.random.Generator | None = None,
) -> ModularityExplicitness:
    r"""Modularity and explicitness (Ridgeway and Mozer 2018, section 3).

    .. math:: 1 - \frac{\sum_k I_{jk}^2 - \max_k I_{jk}^2}{(K - 1) \max_k I_{jk}^2}

    is the modularity of latent j, with the information I of `mutual_information_gap` on the rows
    to fit. Explicitness fits one logistic regression to each factor, on codes of mean 0 and
    deviation 1; it is the area under the ROC curve of one class against the rest, averaged over
    classes.

    Modularity does not ask whether the factors are in the code at all. Counting finds more in
    factors with more values, so that pure noise gets 0.69 for those of dSprites; one good latent
    beside nine constant ones gets 0.1.

    Args:
        codes: Latent means to fit.
        factors: Discrete generative factors of the same observations.
        test: Codes and factors to test; None holds out a random third of the rows.
        bins: For each latent.
        factor_bins: For each factor, if factors are continuous.
        rng: Draws the rows to hold out.
    """
    split = split_classes(codes, factors, test, factor_bins, rng, n_factors=2)
    (known, labels), (new, wanted) = split
    known, new = known.astype(np.float64), new.astype(np.float64)
    matrix = mutual_information(histogram_bins(known, bins) - 1, labels)
    per_latent = modularity(matrix)
    centre, spread = known.mean(axis=0), known.std(axis=0)
    spread[spread == 0] = 1  # a constant latent stays at 0
    scaled, scaled_new = (known - centre) / spread, (new - centre) / spread
    areas = np.array(
        [
            explicitness(scaled, labels[:, k], scaled_new, wanted[:, k])
            for k in range(labels.shape[1])
        ]
    )
    train, per_factor = areas.T
    return ModularityExplicitness(
        float(per_latent.mean()),
        float(per_factor.mean()),
        float(train.mean()),
        matrix,
        per_latent,
        per_factor,
    )


def modularity(information: Float[np.ndarray, "d k"]) -> Float[np.ndarray, "d"]:
    """The modularity of each latent from its information about each factor.

    Example:
        >>> modularity(np.array([[2.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]))
        array([1., 0., 0.])
    """
    squares = information**2
    best = squares.max(axis=1)
    rest = (squares.sum(axis=1) - best) / (squares.shape[1] - 1)
    return 1 - np.divide(rest, best, out=np.ones_like(best), where=best > 0)


def explicitness(
    codes: Float[np.ndarray, "n d"],
    labels: Int[np.ndarray, "n"],
    test_codes: Float[np.ndarray, "m d"],
    test_labels: Int[np.ndarray, "m"],
) -> tuple[float, float]:
    """Mean area under the ROC curve of a logistic regression on its own rows and on test rows.

    A class that is missing from the test rows, or from the others, has no curve and is left out of
    the mean on test rows.
    """
    model = logistic_regression(codes, labels)
    return (
        _mean_area(model.classes_, labels, model.predict_proba(codes)),
        _mean_area(model.classes_, test_labels, model.predict_proba(test_codes)),
    )


def _mean_area(values: np.ndarray, labels: np.ndarray, probabilities: np.ndarray) -> float:
    ours = [labels == value for value in values]
    areas = [
        roc_auc_score(mine, column)
        for mine, column in zip(ours, probabilities.T, strict=True)
        if mine.any() and not mine.all()
    ]
    if not areas:
        raise ValueError(
            "the test rows must hold at least 2 values of each factor, one of them among the "
            f"rows to fit, got {sorted(set(labels.tolist()))} against {values.tolist()}"
        )
    return float(np.mean(areas))
