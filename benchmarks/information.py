"""MIG and the FactorVAE score against the loops that are usual for them, measured in one run.

    python benchmarks/information.py

One thread. MIG: np.histogram and np.digitize for each latent, scikit-learn's mutual_info_score for
each pair; 10 000 points, 10 latents, factors of 3, 6, 40, 32 and 32 values. FactorVAE: np.var and
np.argmin for each of 15 000 votes of 64 rows from the codes of the full grid of 737 280, for the
same draws. Repeats alternate; the table shows medians.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import statistics
import time

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.metrics import mutual_info_score

from unpick.metrics.draws import fixed_factor_groups
from unpick.metrics.information import mutual_information_gap
from unpick.metrics.interventions import factor_vae_votes

SIZES, LATENTS, REPEATS = (3, 6, 40, 32, 32), 10, 9


def loop_mig(codes, factors):
    binned = [np.digitize(code, np.histogram(code, 20)[1][:-1]) for code in codes.T]
    matrix = np.array([[mutual_info_score(y, code) for y in factors.T] for code in binned])
    entropies = np.array([mutual_info_score(y, y) for y in factors.T])
    ranked = np.sort(matrix, axis=0)
    return np.append(matrix, np.mean((ranked[-1] - ranked[-2]) / entropies))


def our_mig(codes, factors):
    result = mutual_information_gap(codes, factors)
    return np.append(result.matrix, result.score)


def loop_votes(codes, groups, variances):
    return np.array([np.argmin(np.var(codes[g], axis=0, ddof=1) / variances) for g in groups])


def alternating(*works):
    """The last result and the median milliseconds of each, run in turns."""
    times, results = [[] for _ in works], [None for _ in works]
    for _ in range(REPEATS):
        for i, work in enumerate(works):
            started = time.perf_counter()
            results[i] = work()
            times[i].append(1e3 * (time.perf_counter() - started))
    return results, [statistics.median(t) for t in times]


def main():
    rng = np.random.default_rng(0)
    grid = np.indices(SIZES).reshape(len(SIZES), -1).T
    mixing = rng.standard_normal((len(SIZES), LATENTS))
    codes = (grid / SIZES @ mixing + 0.1 * rng.standard_normal((len(grid), LATENTS))).astype("f4")
    rows = rng.integers(len(grid), size=10_000)
    few_codes, few_factors = codes[rows], grid[rows]
    groups, _ = fixed_factor_groups(grid, 15_000, 64, rng)
    variances = codes.var(axis=0, ddof=1)

    table = Table(title="metrics, one thread")
    for column in ("metric", "loop", "unpick", "ratio", "largest difference"):
        table.add_column(column, justify="left" if column == "metric" else "right")
    for name, *works in (
        (
            "MIG, 10 000 points",
            lambda: loop_mig(few_codes, few_factors),
            lambda: our_mig(few_codes, few_factors),
        ),
        (
            "FactorVAE, 15 000 votes",
            lambda: loop_votes(codes, groups, variances),
            lambda: factor_vae_votes(codes, groups, variances),
        ),
    ):
        (reference, ours), (slow, fast) = alternating(*works)
        difference = np.abs(reference - ours).max()
        table.add_row(
            name, f"{slow:.0f} ms", f"{fast:.1f} ms", f"{slow / fast:.1f}x", f"{difference:.0e}"
        )
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
