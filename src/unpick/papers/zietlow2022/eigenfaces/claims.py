"""What figure 3.6 of Zietlow (2022) is said to show, as predicates on results."""

import numpy as np

from unpick.metrics.association import association
from unpick.papers.zietlow2022.eigenfaces.readings import AXES, FirstAxes, find_axes
from unpick.study.study import Results, Verdict

POSE = ("azimuth", "elevation", "lighting")
TOLD = 0.1  # from which on an axis counts as predicting a factor


def ordered(results: Results) -> Verdict:
    r"""Over active latents, the logarithms of deviation and effect correlate with -0.9 or less.

    A latent whose posterior is optimal has \sigma_j^2 = 1 / (1 + effect_j / \beta), which leaves
    -1 for active ones (Allen 2024, eq. 7, with \beta). Latents that differ in nothing come in any
    order, so that ranks alone would say less.
    """
    texts, holds = [], []
    for outcome in results.outcomes:
        found = find_axes(outcome.runs[0])
        active = int(found.active.sum())
        if active < 4:
            texts.append(f"{outcome.cell.row}: only {active} latents are active")
            continue
        sizes = np.log([found.deviation[found.active], found.effect[found.active]])
        both = association(*sizes)
        holds.append(both.pearson.value <= -0.9)
        texts.append(
            f"{outcome.cell.row}: {both.pearson} over {active} latents, of ranks {both.spearman}"
        )
    return Verdict(all(holds) if holds else None, "; ".join(texts))


def meaningful(results: Results) -> Verdict:
    """More of the first latents than of the first components predict a factor alone."""
    found = _heads(results)
    if found is None:
        return Verdict(None, "")
    ours, theirs = ((f.parts.max(1) >= TOLD).sum() for f in (found.latents, found.components))
    return Verdict(bool(ours > theirs), f"{ours} of {AXES} against {theirs} of {AXES}")


def telling(results: Results) -> Verdict:
    """The best latent predicts each of pose and light better than the best component."""
    found = _heads(results)
    if found is None:
        return Verdict(None, "")
    ours, theirs = found.latents.parts.max(0), found.components.parts.max(0)
    wanted = [k for k, name in enumerate(found.factors) if name in POSE]
    texts = [f"{found.factors[k]} {ours[k]:.2f} against {theirs[k]:.2f}" for k in wanted]
    return Verdict(bool((ours > theirs)[wanted].all()), ", ".join(texts))


def faithful(results: Results) -> Verdict:
    """Traversals of latents stay nearer to the data than those of principal components."""
    texts, holds = [], []
    for outcome in results.outcomes:
        found = find_axes(outcome.runs[0])
        ours, theirs = found.latents.distance, found.components.distance
        holds.append(ours < theirs)
        texts.append(f"{outcome.cell.row}: {ours:.3f} against {theirs:.3f}")
    return Verdict(all(holds) if holds else None, "; ".join(texts))


def _heads(results: Results) -> FirstAxes | None:
    rows = results.rows()
    return find_axes(rows["heads"]["beta-VAE"].runs[0]) if "heads" in rows else None
