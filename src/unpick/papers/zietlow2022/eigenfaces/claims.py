"""What figure 3.6 of Zietlow (2022) is said to show, decided by tests over seeds."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from unpick.metrics.association import association
from unpick.papers.zietlow2022.eigenfaces.readings import FirstAxes, find_axes
from unpick.study.comparison import Comparison, Values, above
from unpick.study.study import Results, Verdict
from unpick.study.verdict import decide_all

Parts: TypeAlias = Float[np.ndarray, "k factors"]
POSE = ("azimuth", "elevation", "lighting")
TOLD = 0.1  # from which on an axis counts as predicting a factor
LEAST = 4  # active latents, for a correlation over them


def ordered(results: Results) -> Verdict:
    r"""Over active latents, the logarithms of deviation and effect correlate with -0.9 or less.

    A latent whose posterior is optimal has \sigma_j^2 = 1 / (1 + effect_j / \beta), which leaves
    -1 for active ones (Allen 2024, eq. 7, with \beta). Latents that differ in nothing come in any
    order, so that ranks alone would say less.
    """

    def correlation(found: FirstAxes) -> float:
        if found.active.sum() < LEAST:
            return np.nan
        sizes = np.log([found.deviation[found.active], found.effect[found.active]])
        return association(*sizes).pearson.value

    comparisons, texts = dict[str, Comparison](), []
    for row, axes in _by_row(results).items():
        each = _over(axes, correlation)
        texts.append(f"{row}: {_listed(each)} over {[int(a.active.sum()) for a in axes]} latents")
        if np.isfinite(each).any():
            comparisons[row] = above(-each, 0.9)
    return decide_all(comparisons, "; ".join(texts), complete=True)


def meaningful(results: Results) -> Verdict:
    """More of the first latents than of the first components predict a factor alone."""
    return _on_heads(results, lambda parts, _: {"axes": float((parts.max(1) >= TOLD).sum())})


def telling(results: Results) -> Verdict:
    """The best latent predicts each of pose and light better than the best component."""
    return _on_heads(
        results,
        lambda parts, names: {
            name: best
            for name, best in zip(names, parts.max(0).tolist(), strict=True)
            if name in POSE
        },
    )


def faithful(results: Results) -> Verdict:
    """Traversals of latents stay nearer to the data than those of principal components."""
    comparisons, texts = dict[str, Comparison](), []
    for row, axes in _by_row(results).items():
        ours = _over(axes, lambda found: found.latents.distance)
        theirs = _over(axes, lambda found: found.components.distance)
        comparisons[row] = above(theirs - ours, 0.0)
        texts.append(f"{row}: {ours.mean():.3f} against {theirs.mean():.3f}")
    return decide_all(comparisons, "; ".join(texts), complete=True)


def _on_heads(
    results: Results, read: Callable[[Parts, Sequence[str]], dict[str, float]]
) -> Verdict:
    """What is read from the parts of an axis is larger for latents than for components."""
    axes = _by_row(results).get("heads", [])
    ours = [read(found.latents.parts, found.factors) for found in axes]
    theirs = [read(found.components.parts, found.factors) for found in axes]
    comparisons, texts = dict[str, Comparison](), []
    for name in ours[0] if ours else ():
        one, other = (np.array([each[name] for each in side]) for side in (ours, theirs))
        comparisons[name] = above(one - other, 0.0)
        texts.append(f"{name} {one.mean():.2f} against {other.mean():.2f}")
    return decide_all(comparisons, ", ".join(texts), complete=True)


def _by_row(results: Results) -> dict[str, list[FirstAxes]]:
    return {o.cell.row: [find_axes(run) for run in o.runs] for o in results.outcomes}


def _over(axes: list[FirstAxes], number: Callable[[FirstAxes], float]) -> Values:
    return np.array([number(found) for found in axes])


def _listed(values: Values) -> str:
    return ", ".join(f"{value:.2f}" for value in values)
