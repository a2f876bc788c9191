"""How much of each factor is in each latent, in nats, and the two gaps read from that table."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from unpick.arrays import Array, to_numpy
from unpick.metrics.inputs import classes, histogram_bins, tables
from unpick.metrics.sampled import sampled_information

ACTIVE_VARIANCE = 0.01  # of the means over the data, as in the code of Bhowal et al. 2024
ROWS_AT_ONCE = 10_000  # bounds the memory of a table over a whole grid


@dataclass(frozen=True, eq=False)
class MutualInformationGap:
    """How much more the best latent knows of a factor than the second best.

    Attributes:
        score: Mean over factors; 1 if each factor is in one latent alone.
        per_factor: The gap of each factor, as a share of its entropy.
        matrix: Information of latent j (row) about factor k (column), in nats.
        entropies: Of the factors, in nats.
    """

    score: float
    per_factor: Float[np.ndarray, "k"]
    matrix: Float[np.ndarray, "d k"]
    entropies: Float[np.ndarray, "k"]


@dataclass(frozen=True, eq=False)
class MIGSup:
    """How much more a latent knows of its best factor than of its second best.

    Attributes:
        score: Mean over active latents; 1 if each holds one factor, whole and alone. 0 if no
            latent is active.
        per_latent: The gap of each latent, active or not.
        matrix: Information of latent j (row) about factor k (column), as a share of the factor's
            entropy.
        active: Which latents vary: variance of the codes above 0.01.
    """

    score: float
    per_latent: Float[np.ndarray, "d"]
    matrix: Float[np.ndarray, "d k"]
    active: Bool[np.ndarray, "d"]


def mutual_information_gap(
    codes: Array,
    factors: Array,
    *,
    bins: int = 20,
    factor_bins: int | None = None,
    log_variances: Array | None = None,
    points: int = 10_000,
    rng: np.random.Generator | None = None,
) -> MutualInformationGap:
    r"""MIG (Chen et al. 2018, section 4; Zietlow 2022, eq. 2.8).

    .. math:: \frac1K \sum_k \frac{I(z_{j(k)}; v_k) - \max_{j \ne j(k)} I(z_j; v_k)}{H(v_k)}

    Two estimates of the information go by this name and give different numbers. By default each
    latent is cut into 20 bins of equal width and the information read from counts, as Locatello
    et al. 2019 do with 10 000 points. With `log_variances` the codes are means of posteriors and
    the information is that of a sample of them, as in the original paper (see
    `unpick.metrics.sampled`).

    At 0 a second latent knows as much of each factor as the first: so do a constant code and one
    that has every latent twice. Counting finds information in noise too, about
    (bins - 1) (values - 1) / 2n nats, but the gap between two such latents is smaller still.

    Args:
        codes: Latent means.
        factors: Discrete generative factors of the same observations.
        bins: For each latent.
        factor_bins: For each factor, if factors are continuous.
        log_variances: Of the Gaussian posteriors.
        points: Rows over which the sampled estimate averages; a random choice.
        rng: Draws from the posteriors, and those rows.

    Example:
        >>> values = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> mutual_information_gap(values.astype(float), values).score
        1.0
    """
    codes, factors = tables(codes, factors, latents=2)
    matrix, entropies = _information(codes, factors, bins, factor_bins, log_variances, points, rng)
    gaps = _gap(matrix / entropies, axis=0)
    return MutualInformationGap(float(gaps.mean()), gaps, matrix, entropies)


def mig_sup(
    codes: Array,
    factors: Array,
    *,
    bins: int = 20,
    factor_bins: int | None = None,
    log_variances: Array | None = None,
    points: int = 10_000,
    rng: np.random.Generator | None = None,
) -> MIGSup:
    r"""MIG-sup (Li et al. 2020), the gap read along the other axis: of a latent over factors.

    .. math:: \operatorname{mean}_j \Big( \tilde I(z_j; v_{k(j)}) -
        \max_{k \ne k(j)} \tilde I(z_j; v_k) \Big), \qquad \tilde I(z; v) = I(z; v) / H(v)

    MIG is 1 also for a code with all factors in one latent, where MIG-sup is 0; MIG-sup is 1 for
    a factor that is in two latents, where MIG is 0. Arguments as in `mutual_information_gap`.

    Example:
        >>> values = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> twice = np.concatenate([values, values], axis=1).astype(float)
        >>> mig_sup(twice, values).score, mutual_information_gap(twice, values).score
        (1.0, 0.0)
    """
    codes, factors = tables(codes, factors, n_factors=2)
    matrix, entropies = _information(codes, factors, bins, factor_bins, log_variances, points, rng)
    shares = matrix / entropies
    gaps = _gap(shares, axis=1)
    active = codes.var(axis=0, ddof=1, dtype=np.float64) > ACTIVE_VARIANCE
    return MIGSup(float(gaps[active].mean()) if active.any() else 0.0, gaps, shares, active)


def _information(
    codes: np.ndarray,
    factors: np.ndarray,
    bins: int,
    factor_bins: int | None,
    log_variances: Array | None,
    points: int,
    rng: np.random.Generator | None,
) -> tuple[np.ndarray, np.ndarray]:
    """The information of latents about factors (d k) and the factors' entropies (k)."""
    labels = classes(factors, factor_bins)
    if log_variances is None:
        matrix = mutual_information(histogram_bins(codes, bins) - 1, labels)
    else:
        spreads = to_numpy("log_variances", log_variances, "observations, latents", floating=True)
        matrix = sampled_information(codes, spreads, labels, points, rng)
    return matrix, class_entropies(labels)


def _gap(matrix: np.ndarray, axis: int) -> np.ndarray:
    ranked = np.sort(matrix, axis=axis)
    return np.take(ranked, -1, axis) - np.take(ranked, -2, axis)


def class_entropies(labels: Int[np.ndarray, "n k"]) -> Float[np.ndarray, "k"]:
    """The entropy of each column of classes 0, 1, ..., in nats."""
    shares = [np.bincount(column) / len(column) for column in labels.T]
    return np.array([-(p[p > 0] * np.log(p[p > 0])).sum() for p in shares])


def mutual_information(
    left: Int[np.ndarray, "n d"], right: Int[np.ndarray, "n k"]
) -> Float[np.ndarray, "d k"]:
    r"""Information of each column on the left about each on the right, from counts, in nats.

    .. math:: I_{jk} = \sum_{ab} \frac{n_{ab}}{n} \log \frac{n\, n_{ab}}{n_a n_b}

    All pairs of columns share one table of counts: column j of `left` owns a block of its rows,
    column k of `right` a block of its columns.

    Args:
        left: Classes, from 0.
        right: Classes, from 0.

    Example:
        >>> x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> mutual_information(x, x).round(3)  # log 2 = 0.693
        array([[0.693, 0.   ],
               [0.   , 0.693]])
    """
    n = len(left)
    (rows, row_starts), (columns, column_starts) = _blocks(left), _blocks(right)
    in_row, in_column = np.bincount(rows.ravel()), np.bincount(columns.ravel())
    height, width = len(in_row), len(in_column)
    counts = np.zeros(height * width, dtype=np.int64)
    for start in range(0, n, ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        cells = (rows[:, None, part] * width + columns[None, :, part]).ravel()
        counts += np.bincount(cells, minlength=height * width)
    table = counts.reshape(height, width).astype(np.float64)
    # Products of counts are exact in double precision: a constant column has exactly 0.
    chance = np.outer(in_row, in_column).astype(np.float64)
    ratio = np.divide(n * table, chance, out=np.ones_like(table), where=table > 0)
    blocks = np.add.reduceat(table * np.log(ratio), row_starts, axis=0)
    return np.maximum(np.add.reduceat(blocks, column_starts, axis=1) / n, 0.0)


def _blocks(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns (as rows, contiguous) renumbered so that each has classes of its own, and starts."""
    sizes = labels.max(axis=0) + 1
    starts = np.cumsum(sizes) - sizes
    return np.ascontiguousarray((labels + starts).T), starts
