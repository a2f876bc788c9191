"""Scores of groups of observations that share one factor: which latent stays still?"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from unpick.arrays import Array
from unpick.metrics.draws import fixed_factor_groups, shared_factor_pairs
from unpick.metrics.inputs import classes, tables
from unpick.metrics.logistic import logistic_regression

CODES_AT_ONCE = 2**18  # numbers gathered at a time: they stay in a core's cache


@dataclass(frozen=True, eq=False)
class FactorVAEScore:
    """How often the stillest latent tells which factor was held.

    Attributes:
        score: Accuracy on fresh groups; 0 if no latent is active.
        train_accuracy: Accuracy on the groups that made the classifier.
        matrix: How often latent j (row) was the stillest while factor k (column) was held.
        active: Which latents vary: deviation of at least the threshold.
        per_factor: Accuracy on fresh groups of each factor.
    """

    score: float
    train_accuracy: float
    matrix: Int[np.ndarray, "d k"]
    active: Bool[np.ndarray, "d"]
    per_factor: Float[np.ndarray, "k"]


@dataclass(frozen=True, eq=False)
class BetaVAEScore:
    """How often a linear classifier tells which factor pairs of observations share.

    Attributes:
        score: Accuracy on fresh pairs.
        train_accuracy: Accuracy on the pairs it was fitted to.
        per_factor: Accuracy on fresh pairs of each factor.
        matrix: Mean |difference| of latent j (row) over pairs that share factor k (column).
    """

    score: float
    train_accuracy: float
    per_factor: Float[np.ndarray, "k"]
    matrix: Float[np.ndarray, "d k"]


def factor_vae_score(
    codes: Array,
    factors: Array,
    *,
    train: int = 10_000,
    evaluations: int = 5_000,
    batch: int = 64,
    threshold: float = 0.05,
    factor_bins: int | None = None,
    rng: np.random.Generator | None = None,
) -> FactorVAEScore:
    r"""The FactorVAE score (Kim and Mnih 2018, section 4), settings of Locatello et al. 2019.

    Hold a random factor and draw a batch of observations that share its value. The latent with
    the smallest variance in the batch, relative to its variance in the data, is the vote:

    .. math:: \operatorname{argmin}_j \,\mathrm{Var}_{\mathrm{batch}}(z_j) / \mathrm{Var}(z_j)

    A latent stands for the factor it was most often the vote of; the score is how often that is
    right for fresh votes. Chance is 1 / K. A rotation goes unseen while each factor keeps the
    largest share of a latent of its own.

    The batch comes from the rows of the table: a uniform row gives the value, then rows with that
    value are drawn with replacement. With the rows of a full grid this is the distribution of
    the original. With a sample, the other factors vary as they do in the sample: factors that
    are correlated there keep each other still, and a value with few rows gives batches of copies.

    Args:
        codes: Latent means, best of the whole grid.
        factors: Discrete generative factors of the same observations.
        train: Votes that make the classifier.
        evaluations: Votes that test it.
        batch: Observations a vote.
        threshold: Latents with a smaller deviation over all rows are left out.
        factor_bins: For each factor, if factors are continuous.
        rng: Draws factors, values and rows.
    """
    codes, factors = tables(codes, factors, n_factors=2)
    _check_counts(train, evaluations, batch, 2)
    labels = classes(factors, factor_bins)
    variances = codes.var(axis=0, ddof=1, dtype=np.float64)
    active = active_latents(variances, threshold)
    d, k = codes.shape[1], labels.shape[1]
    if not active.any():
        return FactorVAEScore(0.0, 0.0, np.zeros((d, k), dtype=np.int64), active, np.zeros(k))
    groups, held = fixed_factor_groups(labels, train + evaluations, batch, rng)
    votes = factor_vae_votes(codes, groups, variances, threshold)
    fitted = vote_table(votes[:train], held[:train], d, k)
    tested = vote_table(votes[train:], held[train:], d, k)
    per_factor = correct_votes(fitted, tested) / np.maximum(tested.sum(axis=0), 1)
    return FactorVAEScore(
        majority_accuracy(fitted, tested),
        majority_accuracy(fitted, fitted),
        fitted,
        active,
        per_factor,
    )


def beta_vae_score(
    codes: Array,
    factors: Array,
    *,
    train: int = 10_000,
    evaluations: int = 5_000,
    batch: int = 64,
    factor_bins: int | None = None,
    rng: np.random.Generator | None = None,
) -> BetaVAEScore:
    r"""The beta-VAE score (Higgins et al. 2017, section 3), settings of Locatello et al. 2019.

    A point is the mean of |z - z'| over a batch of pairs that share one random factor, each pair
    with its own value; its label is that factor. A logistic regression is fitted to 10 000 points
    and tested on 5 000. Chance, and the score of a constant code, is about 1 / K.

    Easy to satisfy: the classifier may combine latents, and a rotated code keeps most of it. The
    codes are not scaled for the regression, so that latents of small size count less. Rows are
    drawn as for `factor_vae_score`.

    Args:
        codes: Latent means, best of the whole grid.
        factors: Discrete generative factors of the same observations.
        train: Points to fit.
        evaluations: Points to test.
        batch: Pairs a point.
        factor_bins: For each factor, if factors are continuous.
        rng: Draws factors and rows.
    """
    codes, factors = tables(codes, factors, n_factors=2)
    _check_counts(train, evaluations, batch, 1)
    labels = classes(factors, factor_bins)
    pairs, shared = shared_factor_pairs(labels, train + evaluations, batch, rng)
    points = pair_differences(codes, pairs)
    model = logistic_regression(points[:train], shared[:train])
    right = model.predict(points) == shared
    counts = np.maximum(np.bincount(shared, minlength=labels.shape[1]), 1)
    tests = np.maximum(np.bincount(shared[train:], minlength=labels.shape[1]), 1)
    per_factor = np.bincount(shared[train:], right[train:], labels.shape[1]) / tests
    sums = [np.bincount(shared, column, labels.shape[1]) for column in points.T]
    return BetaVAEScore(
        float(right[train:].mean()), float(right[:train].mean()), per_factor, sums / counts
    )


def active_latents(
    variances: Float[np.ndarray, "d"], threshold: float = 0.05
) -> Bool[np.ndarray, "d"]:
    """Which latents vary at all and have a deviation of at least the threshold."""
    return (np.sqrt(variances) >= threshold) & (variances > 0)


def factor_vae_votes(
    codes: Float[np.ndarray, "rows d"],
    groups: Int[np.ndarray, "n batch"],
    variances: Float[np.ndarray, "d"],
    threshold: float = 0.05,
) -> Int[np.ndarray, "n"]:
    """The active latent with the smallest relative variance in each group.

    Args:
        codes: A table of codes.
        groups: Row numbers.
        variances: Of the latents over the data, with n - 1 in the denominator.
        threshold: Latents with a smaller deviation have no vote.
    """
    numbers = np.flatnonzero(active_latents(variances, threshold))
    if not len(numbers):
        raise ValueError(f"no latent has a deviation of {threshold} or more")
    votes = np.empty(len(groups), dtype=np.int64)
    for part in _parts(len(groups), groups.shape[1] * codes.shape[1]):
        # The batch comes first: sums then run along whole rows of memory. take is twice as fast
        # as an index here.
        local = codes.take(groups[part].T, axis=0).var(axis=0, ddof=1)
        votes[part] = numbers[(local[:, numbers] / variances[numbers]).argmin(axis=1)]
    return votes


def vote_table(
    votes: Int[np.ndarray, "n"], held: Int[np.ndarray, "n"], d: int, k: int
) -> Int[np.ndarray, "{d} {k}"]:
    """How often each latent was the vote for each factor."""
    return np.bincount(votes * k + held, minlength=d * k).reshape(d, k)


def correct_votes(
    fitted: Int[np.ndarray, "d k"], tested: Int[np.ndarray, "d k"]
) -> Int[np.ndarray, "k"]:
    """Votes of `tested`, by factor, for the factor with most votes of that latent in `fitted`."""
    chosen = fitted.argmax(axis=1)
    return np.where(chosen[:, None] == np.arange(fitted.shape[1]), tested, 0).sum(axis=0)


def majority_accuracy(fitted: Int[np.ndarray, "d k"], tested: Int[np.ndarray, "d k"]) -> float:
    """The share of votes in `tested` for the factor their latent stands for in `fitted`.

    Example:
        >>> majority_accuracy(np.array([[8, 2], [3, 7]]), np.array([[4, 1], [0, 5]]))
        0.9
    """
    return float(correct_votes(fitted, tested).sum() / tested.sum())


def pair_differences(
    codes: Float[np.ndarray, "rows d"], pairs: Int[np.ndarray, "n batch 2"]
) -> Float[np.ndarray, "n d"]:
    """Mean |difference| of each latent over the pairs of each batch."""
    points = np.empty((len(pairs), codes.shape[1]))
    for part in _parts(len(pairs), pairs.shape[1] * codes.shape[1]):
        first, second = pairs[part].T
        apart = codes.take(first, axis=0) - codes.take(second, axis=0)
        points[part] = np.abs(apart).mean(axis=0)
    return points


def _parts(n: int, size: int) -> list[slice]:
    """Slices of n groups, so many at a time that `size` numbers for each stay in cache."""
    step = max(1, CODES_AT_ONCE // size)
    return [slice(start, start + step) for start in range(0, n, step)]


def _check_counts(train: int, evaluations: int, batch: int, smallest: int) -> None:
    if min(train, evaluations) < 1:
        raise ValueError(
            f"train and evaluations must be at least 1, got {train} and {evaluations}"
        )
    if batch < smallest:
        raise ValueError(f"batch must be at least {smallest}, got {batch}")
