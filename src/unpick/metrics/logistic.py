"""The linear classifier of the published scores."""

import warnings

import numpy as np
from jaxtyping import Float, Int
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression


def logistic_regression(
    points: Float[np.ndarray, "n d"], labels: Int[np.ndarray, "n"]
) -> LogisticRegression:
    """scikit-learn's logistic regression as it comes: penalty 1, at most 100 steps.

    Correlated latents need more steps. The published scores stop there without a word, and so does
    this: where it stops is part of their definition.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LogisticRegression().fit(points, labels)
