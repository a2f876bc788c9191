"""Do models that were trained alike find the same latents? A score without factors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float
from sklearn.linear_model import Lasso
from sklearn.preprocessing import StandardScaler

from unpick.arrays import Array, to_numpy
from unpick.metrics.correlation import unit_columns
from unpick.names import unknown_choice

Variant = Literal["lasso", "spearman"]
PENALTY = 0.1  # of the Lasso, as in disentanglement_lib


@dataclass(frozen=True, eq=False)
class UDR:
    """How much each of several models agrees with the others.

    Attributes:
        per_model: Median over the other models; higher is better.
        matrix: Score of models i and j; latents of i explain those of j. 0 on the diagonal.
        best: The model with the highest score.
    """

    per_model: Float[np.ndarray, "m"]
    matrix: Float[np.ndarray, "m m"]
    best: int


def udr(
    codes: Sequence[Array],
    kl: Sequence[Array],
    *,
    variant: Variant = "lasso",
    threshold: float = 0.01,
) -> UDR:
    r"""Unsupervised disentanglement ranking (Duan et al. 2020), as in disentanglement_lib.

    .. math:: \mathrm{UDR}_j = \mathrm{median}_{i \ne j}\; \mathrm{strength}(R^{ij})

    R^ij compares the informative latents of model i (rows) and j (columns), those with a KL above
    the threshold: |coefficients| of a Lasso (penalty 0.1) from the standardised codes of i to
    each of j, or |Spearman correlation|. `relative_strength` turns it into a number.

    A copy, up to order and sign, of uncorrelated latents scores 0.9 by Lasso, whose penalty takes
    0.1 off a coefficient. By Spearman it scores 1 in the limit; at 1000 observations the small
    correlations that add up leave 0.90 (5 latents) or 0.81 (10). A rotated copy scores 0.3 and
    0.15, unrelated codes 0 and 0.02. A model without informative latents agrees with nobody: 0,
    and 0 enters the medians of the others. A constant code that is called informative counts as
    unrelated.

    Models that fail in the same way agree too, above all those with one informative latent. Pass
    models of the same settings and different seeds (UDR), or of all settings (UDR-A2A).

    Args:
        codes: Latent means of the same observations, one array a model; the number of latents may
            differ.
        kl: Mean KL divergence of each latent to its prior, in nats.
        variant: How latents are compared.
        threshold: Latents with at most this KL are left out.
    """
    pairs = _checked(codes, kl)
    if variant not in get_args(Variant):
        raise unknown_choice("variant", variant, Variant)
    kept = [z[:, k > threshold].astype(np.float64) for z, k in pairs]
    pairwise = _lasso(kept) if variant == "lasso" else _spearman(kept)
    matrix = np.array([[relative_strength(r) for r in row] for row in pairwise])
    np.fill_diagonal(matrix, 0.0)
    others = ~np.eye(len(codes), dtype=bool)
    per_model = np.array([np.median(matrix[others[:, j], j]) for j in range(len(codes))])
    return UDR(per_model, matrix, int(per_model.argmax()))


def relative_strength(matrix: Float[np.ndarray, "a b"]) -> float:
    r"""How far every row and every column of a similarity has one entry (Duan et al. 2020).

    .. math:: \frac12 \Big( \frac1B \sum_b \frac{\max_a R_{ab}^2}{\sum_a R_{ab}} +
        \frac1A \sum_a \frac{\max_b R_{ab}^2}{\sum_b R_{ab}} \Big)

    A row or column of zeros counts 0, a matrix without rows or columns too.

    Example:
        >>> relative_strength(np.eye(3)), round(relative_strength(np.ones((3, 3))), 3)
        (1.0, 0.333)
    """
    if not matrix.size:
        return 0.0
    sides = []
    for axis in (0, 1):
        peak, total = matrix.max(axis=axis), matrix.sum(axis=axis)
        sides.append(np.mean(peak**2 / np.where(total == 0, 1.0, total)))
    return float(sum(sides) / 2)


def _lasso(codes: list[np.ndarray]) -> list[list[np.ndarray]]:
    scaled = [StandardScaler().fit_transform(z) if z.size else z for z in codes]
    return [[_coefficients(source, target) for target in scaled] for source in scaled]


def _coefficients(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """|Weights| from source to target, one column a target; fitted one target at a time."""
    if source is target or not (source.size and target.size):
        return np.zeros((source.shape[1], target.shape[1]))
    weights = Lasso(alpha=PENALTY).fit(source, target).coef_
    # A single row or column comes back flat.
    return abs(weights.reshape(target.shape[1], source.shape[1])).T


def _spearman(codes: list[np.ndarray]) -> list[list[np.ndarray]]:
    columns = unit_columns(np.concatenate(codes, axis=1), "spearman")
    ends = np.cumsum([z.shape[1] for z in codes])[:-1]
    rows = np.split(abs(columns.T @ columns), ends, axis=0)
    return [np.split(block, ends, axis=1) for block in rows]


def _checked(codes: Sequence[Array], kl: Sequence[Array]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Codes and KL of each model as numpy arrays."""
    if len(codes) < 2 or len(codes) != len(kl):
        raise ValueError(
            f"codes and kl must be of the same 2 or more models, got {len(codes)} and {len(kl)}"
        )
    pairs: list[tuple[np.ndarray, np.ndarray]] = []
    for i, (own, nats) in enumerate(zip(codes, kl, strict=True)):
        z, k = (
            to_numpy(f"{name} of model {i}", array, axes, floating=True, empty=True)
            for name, array, axes in (
                ("codes", own, "observations, latents"),
                ("kl", nats, "latents"),
            )
        )
        pairs.append((z, k))
        first = pairs[0][0].shape
        if k.shape != z.shape[1:] or len(z) != first[0] or len(z) < 2:
            raise ValueError(
                f"model {i} must have codes of as many rows as model 0, 2 or more, and one kl a "
                f"latent; got codes {z.shape} and kl {k.shape}, and codes {first} for model 0"
            )
    return pairs
