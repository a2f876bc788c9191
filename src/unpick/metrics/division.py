"""Split observations into rows to fit a predictor to and rows to test it on."""

import numpy as np

from unpick.arrays import Array
from unpick.metrics.inputs import classes, tables

Rows = tuple[Array, Array]  # codes and factors of the same observations
Part = tuple[np.ndarray, np.ndarray]  # the same, checked
FIT_SHARE = 2 / 3  # 10 000 of 15 000 points in Locatello et al. 2019


def split_rows(
    codes: Array,
    factors: Array,
    test: Rows | None,
    share: float,
    rng: np.random.Generator | None,
    rows: int = 10,
    n_factors: int = 1,
) -> tuple[Part, Part]:
    """Rows to fit a predictor to and rows to test it on, both checked.

    Args:
        codes: At least two latents, of which the best and the second best are compared.
        factors: Of the same observations.
        test: Codes and factors to test on; None splits the rows given.
        share: Share of the rows to fit to, if they are split.
        rng: Draws the split.
        rows: The fewest observations.
        n_factors: The fewest factors.
    """
    codes, factors = tables(codes, factors, rows=rows, latents=2, n_factors=n_factors)
    if test is None:
        order = (rng or np.random.default_rng(0)).permutation(len(codes))
        cut = round(share * len(codes))
        fit, held = order[:cut], order[cut:]
        return (codes[fit], factors[fit]), (codes[held], factors[held])
    new, wanted = tables(*test, rows=1)
    (_, d), (_, k) = new.shape, wanted.shape
    if (d, k) != (codes.shape[1], factors.shape[1]):
        raise ValueError(
            f"test must have {codes.shape[1]} latents and {factors.shape[1]} factors, "
            f"got {d} and {k}"
        )
    return (codes, factors), (new, wanted)


def split_classes(
    codes: Array,
    factors: Array,
    test: Rows | None,
    factor_bins: int | None,
    rng: np.random.Generator | None,
    n_factors: int = 1,
) -> tuple[Part, Part]:
    """Codes and classes to fit to and to test on; both parts number their classes alike."""
    parts = split_rows(codes, factors, test, FIT_SHARE, rng, n_factors=n_factors)
    (known, values), (new, more) = parts
    both = classes(np.concatenate([values, more]), factor_bins)
    labels, wanted = both[: len(known)], both[len(known) :]
    single = np.flatnonzero(np.ptp(labels, axis=0) == 0)
    if len(single):
        raise ValueError(f"factor {single[0]} is constant in the rows to fit")
    return (known, labels), (new, wanted)
