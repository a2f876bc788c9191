"""The range of the disentanglement score (Zietlow 2022, section 3.3.1)."""

from collections.abc import Callable
from typing import Literal

import numpy as np

from unpick.metrics.predictability import nearest, vote
from unpick.study.ledger.entry import Correction, Entry, Evidence, Mutation

Task = Literal["regression", "classification"]
# of a task, and the performances of the best latent, of the second best and of a constant guess:
# root mean squared errors (for the guess: the standard deviation) or accuracies
Summand = Callable[[Task, float, float, float], float]


def performances(task: Task, points: int = 4000) -> tuple[float, float, float]:
    """Of five neighbours in the factor itself, in pure noise, and of the best constant guess."""
    draw = np.random.default_rng(0)
    factor = draw.random(points) if task == "regression" else draw.permutation(points) % 3
    known, new = np.split(np.arange(points), [points * 4 // 5])
    results = []
    for code in (factor + 1e-6 * draw.random(points), draw.random(points)):
        found = factor[known][nearest(code[known], code[new])]
        if task == "regression":
            results.append(np.sqrt(np.mean(np.square(found.mean(0) - factor[new]))))
        else:
            results.append(np.mean(vote(found) == factor[new]))
    guess = factor[new].std() if task == "regression" else np.bincount(factor[new]).max()
    return results[0], results[1], guess / (1 if task == "regression" else len(new))


def printed(task: Task, best: float, second: float, guess: float) -> float:
    """Eq. 3.32 with eq. 3.37."""
    if task == "regression":
        return ((guess - best) - (guess - second)) / guess
    return (best - second) / guess


def shares(task: Task, best: float, second: float, guess: float) -> float:
    """Both performances as shares of what the guess leaves to be predicted."""
    if task == "regression":
        return (second - best) / guess
    return (best - second) / (1 - guess)


def clipped(task: Task, best: float, second: float, guess: float) -> float:
    """The same, where a latent that predicts worse than the guess counts as the guess."""
    if task == "regression":
        return shares(task, min(best, guess), min(second, guess), guess)
    return shares(task, max(best, guess), max(second, guess), guess)


def _range(summand: Summand) -> Evidence:
    """Whether summands lie between 0 and 1, and near 1 for one latent that knows all."""
    tasks: tuple[Task, Task] = ("regression", "classification")
    rows = [(task, *performances(task)) for task in tasks]
    first, second = (summand(*row) for row in rows)
    text = (
        "one latent is the factor, the other noise (3200 points to fit, 800 to test): "
        f"{first:.3f} for a uniform factor, where the second latent errs by "
        f"{rows[0][2] / rows[0][3]:.3f} of the standard deviation; {second:.3f} for three equally "
        f"frequent classes, with accuracies {rows[1][1]:.2f} and {rows[1][2]:.2f}"
    )
    return Evidence(all(0.95 < value <= 1 for value in (first, second)), text)


SCORE = Entry(
    id="Z-E3.37",
    source="Zietlow (2022), eq. 3.32 and 3.37",
    title="The disentanglement score lies between 0 and 1",
    statement="Each factor adds the difference in prediction between its two best latents, "
    "divided by the performance of the best constant guess, which keeps it between 0 and 1.",
    formula=r"\frac{A_{i,m(i)} - A_{i,s(i)}}{M_i}, \quad "
    r"A_{ij} = \mathrm{sd}(w_i) - \mathrm{rmse}_{ij} \; or \; \mathrm{accuracy}_{ij}",
    assumptions="Five nearest neighbours; 80 % of the rows to fit, 20 % to test.",
    printed=printed,
    check=_range,
    mutation=Mutation("shares of what the guess leaves, not cut off at 0", shares),
    correction=Correction(
        "Measure what is better than the guess, as a share of what could be, not below 0: "
        r"$\max(0, 1 - \mathrm{rmse} / \mathrm{sd})$ and "
        r"$\max(0, (\mathrm{accuracy} - g) / (1 - g))$ with the accuracy $g$ of the guess.",
        r"A_{ij} = \max\left(0, \frac{\mathrm{accuracy}_{ij} - g_i}{1 - g_i}\right), \; M_i = 1",
        clipped,
    ),
    remark="Five neighbours in a latent that knows nothing predict worse than the mean does, by "
    r"$\sqrt{6/5}$: a perfect score is then 1.1. For $k$ equally frequent classes it is $k - 1$.",
)

ENTRIES = (SCORE,)
