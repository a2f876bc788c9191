"""DCI: how a boosted classifier shares the factors out among the latents."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int, Real
from scipy.stats import entropy
from sklearn.ensemble import GradientBoostingClassifier

from unpick.arrays import Array, to_numpy
from unpick.metrics.boosting import Boosted, boost, sort_codes
from unpick.metrics.division import Rows, split_classes
from unpick.names import unknown_choice

ROUNDS = 100
REPORT = 10  # rounds between two messages of the slow learner
Learner = Literal["gradient-boosting", "fast"]
LEARNERS: dict[Learner, str] = {  # as tables name them
    "gradient-boosting": "scikit-learn's gradient boosting",
    "fast": "unpick's fast boosting, a proxy",
}
Show = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class DCI:
    """Disentanglement, completeness and informativeness.

    Attributes:
        disentanglement: 1 if each latent matters to one factor only, 0 if to all alike.
        completeness: 1 if each factor needs one latent only, 0 if all alike.
        informativeness: Mean accuracy of the classifiers on test rows; None for importances
            that were given.
        informativeness_train: The same on the rows they were fitted to.
        matrix: Importance of latent j for factor k; a column sums to 1.
        per_latent: Disentanglement of each latent; 0 for one that is never used.
        per_factor: Completeness of each factor.
        learner: What gave the importances, a key of `LEARNERS`; None if they were given.
    """

    disentanglement: float
    completeness: float
    informativeness: float | None
    informativeness_train: float | None
    matrix: Float[np.ndarray, "d k"]
    per_latent: Float[np.ndarray, "d"]
    per_factor: Float[np.ndarray, "k"]
    learner: Learner | None


def dci(
    codes: Array,
    factors: Array,
    *,
    test: Rows | None = None,
    learner: Learner = "gradient-boosting",
    rounds: int = ROUNDS,
    factor_bins: int | None = None,
    progress: Show | None = None,
    rng: np.random.Generator | None = None,
) -> DCI:
    """DCI (Eastwood and Williams 2018), with the settings of Locatello et al. 2019.

    One classifier a factor, and the importances of the latents for it, go to
    `dci_from_importances`.

    `gradient-boosting` is scikit-learn's `GradientBoostingClassifier` with its defaults, as in
    published tables; 10 000 codes of ten latents and a factor of 40 values take two minutes.
    `fast` is a proxy of our own (`boosting.boost`), thirty times faster. D and C were within 0.01
    of the other's wherever we compared them on 2 000 rows or more, and within 0.02 on 400
    (docs/measures/predictability.md): do not mix the two in one table.

    Args:
        codes: Latent means.
        factors: The generative factors of the same observations, at least two.
        test: Codes and factors to test on; None holds out a third of the rows.
        learner: See above.
        rounds: Trees a class.
        factor_bins: Cut each factor into so many classes of equal width first.
        progress: Is told what is being fitted.
        rng: Draws the rows that are held out, and chooses between equally good splits.
    """
    if learner not in LEARNERS:
        raise unknown_choice("learner", learner, Learner)
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, got {rounds}")
    rng = rng or np.random.default_rng(0)
    parts = split_classes(codes, factors, test, factor_bins, rng, n_factors=2)
    (known, labels), (new, wanted) = parts
    known, new = _in_single(known, new)
    # scikit-learn knows no Generator, but an old RandomState can draw from the same bits.
    ties = np.random.RandomState(rng.bit_generator)
    ranked = sort_codes(known, new) if learner == "fast" else None
    columns, right, right_train = [], [], []
    for k, (y, z) in enumerate(zip(labels.T, wanted.T, strict=True)):
        what = f"factor {k + 1} of {labels.shape[1]}, {len(np.unique(y))} values"
        if progress:
            progress(what)
        if ranked is not None:
            fitted = boost(ranked, y, rounds=rounds, rng=rng)
        else:
            fitted = _boost_exactly(known, y, new, rounds, ties, what, progress)
        columns.append(fitted.importances)
        right.append((fitted.predicted == z).mean())
        right_train.append((fitted.fitted == y).mean())
    return replace(
        dci_from_importances(np.stack(columns, axis=1)),
        informativeness=float(np.mean(right)),
        informativeness_train=float(np.mean(right_train)),
        learner=learner,
    )


def dci_from_importances(matrix: Array) -> DCI:
    r"""Disentanglement and completeness of importances from any learner.

    .. math:: D = \sum_j \rho_j (1 - H_K(R_{j\cdot})), \quad
              C = \sum_k \rho_k (1 - H_D(R_{\cdot k}))

    R are absolute importances, H the entropy of a row or a column made a distribution, to
    the base of its length, and rho its share in the sum of R. 1e-11 is added to R before, so
    that a latent of no importance has the entropy 1, and the weight 0. Importances that are all 0
    give D = C = 0.

    Args:
        matrix: A row a latent, a column a factor; at least two of each.

    Example:
        >>> result = dci_from_importances(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]))
        >>> round(result.disentanglement, 6), round(result.completeness, 6)
        (1.0, 1.0)
    """
    matrix = to_numpy("matrix", matrix, "latents, factors")
    if min(matrix.shape) < 2:
        raise ValueError(f"matrix must have 2 or more latents and factors, got {matrix.shape}")
    size = np.abs(matrix).astype(float)
    d, k = size.shape
    per_latent = (1 - entropy(size + 1e-11, base=k, axis=1)).clip(0)  # rounding goes below 0
    per_factor = (1 - entropy(size + 1e-11, base=d, axis=0)).clip(0)
    shares = size / size.sum() if size.any() else np.full((d, k), 1 / (d * k))
    return DCI(
        disentanglement=float(per_latent @ shares.sum(1)),
        completeness=float(per_factor @ shares.sum(0)),
        informativeness=None,
        informativeness_train=None,
        matrix=size,
        per_latent=per_latent,
        per_factor=per_factor,
        learner=None,
    )


def _in_single(
    known: Float[np.ndarray, "n d"], new: Float[np.ndarray, "m d"]
) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "m d"]]:
    """Scale latents that single precision cannot hold: trees see the order of codes only."""
    size = np.abs(known).max(axis=0)
    wild = (size > 1e30) | ((size > 0) & (size < 1e-30))
    if not wild.any():
        return known, new
    powers = np.where(wild, -np.frexp(size)[1], 0)
    return np.ldexp(known, powers), np.ldexp(new, powers)


def _boost_exactly(
    codes: Real[np.ndarray, "n d"],
    labels: Int[np.ndarray, "n"],
    new: Real[np.ndarray, "m d"],
    rounds: int,
    ties: np.random.RandomState,
    what: str,
    progress: Show | None,
) -> Boosted:
    """scikit-learn's learner, with a message now and then."""

    def after_round(number: int, *_: Any) -> bool:  # noqa: ANN401
        if progress and (number + 1) % REPORT == 0:
            progress(f"{what}: {number + 1} of {rounds} rounds")
        return False  # do not stop

    model = GradientBoostingClassifier(n_estimators=rounds, random_state=ties)
    model.fit(codes, labels, monitor=after_round)
    return Boosted(model.feature_importances_, model.predict(codes), model.predict(new))
