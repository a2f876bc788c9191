"""Our neighbours and our boosting against scikit-learn's, measured in one run, one thread.

    python benchmarks/predictability.py

Neighbours: 10 000 codes to fit, 10 000 to test, one latent; scikit-learn answers for all factors
at once. Boosting: DCI of 10 000 codes of ten latents with factors of 3, 6, 40, 32 and 32
values, 5 000 to test, with 5 boosting rounds of the usual 100 for both. Repeats take turns, and
medians are shown.
"""

import statistics
import time

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from unpick.metrics.importance import dci
from unpick.metrics.predictability import nearest, vote

SIZES, LATENTS = (3, 6, 40, 32, 32), 10
FIT, TEST, ROUNDS = 10_000, 5_000, 5


def compare(reference, ours, repeats: int):
    """Median seconds of both, and what they answered last."""
    times: tuple[list[float], list[float]] = ([], [])
    answers = [None, None]
    for _ in range(repeats):
        for which, work in enumerate((reference, ours)):
            started = time.perf_counter()
            answers[which] = work()
            times[which].append(time.perf_counter() - started)
    return *(statistics.median(t) for t in times), *answers


def codes_and_factors(rng):
    """Latents that know one factor, two, or none, with noise."""
    factors = np.stack([rng.integers(0, size, FIT + TEST) for size in SIZES], axis=1)
    turn = np.zeros((len(SIZES), LATENTS))
    turn[:, :5] = np.eye(5)
    turn[[0, 1, 2], [3, 4, 5]] = 0.7
    codes = (factors / factors.std(0)) @ turn
    return codes + 0.3 * rng.standard_normal(codes.shape), factors


def main():
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    table = Table(title="scikit-learn and ours, one thread")
    for column in ("what", "reference", "ours", "ratio", "equal?"):
        table.add_column(column, justify="left" if column in ("what", "equal?") else "right")

    def row(what: str, reference: float, ours: float, equal: str):
        times = f"{1e3 * reference:.1f} ms", f"{1e3 * ours:.1f} ms"
        table.add_row(what, *times, f"{reference / ours:.1f}x", equal)

    known, new = rng.standard_normal((2, 10_000))
    factors, labels = rng.random((10_000, 5)), rng.integers(0, 10, 10_000)

    def predict(rows):
        return np.stack([w[rows].mean(0) for w in factors.T], axis=1)

    slow, fast, a, b = compare(
        lambda: KNeighborsRegressor(5).fit(known[:, None], factors).predict(new[:, None]),
        lambda: predict(nearest(known, new)),
        15,
    )
    row("5 neighbours, 5 factors", slow, fast, "yes" if np.array_equal(a, b) else "NO")
    slow, fast, a, b = compare(
        lambda: KNeighborsClassifier(5).fit(known[:, None], labels).predict(new[:, None]),
        lambda: vote(labels[nearest(known, new)]),
        15,
    )
    row("5 neighbours, 10 classes", slow, fast, "yes" if np.array_equal(a, b) else "NO")

    codes, factors = codes_and_factors(rng)
    fit, test = (codes[:FIT], factors[:FIT]), (codes[FIT:], factors[FIT:])
    slow, fast, a, b = compare(
        lambda: dci(*fit, test=test, rounds=ROUNDS),
        lambda: dci(*fit, test=test, rounds=ROUNDS, learner="fast"),
        3,
    )
    apart = np.abs(a.matrix - b.matrix).max()
    row(f"DCI, {ROUNDS} rounds", slow, fast, f"importances within {apart:.3f}")
    Console(width=100).print(table)
    for name in ("disentanglement", "completeness", "informativeness"):
        print(f"{name:16} {getattr(a, name):.4f} exact, {getattr(b, name):.4f} fast")


if __name__ == "__main__":
    main()
