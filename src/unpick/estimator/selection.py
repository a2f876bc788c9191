"""The rule that chooses beta and a restart without labels. docs/nonlinear-pca.md gives reasons.

1. Evidence. Of all betas take the largest whose held-out evidence is within one standard error of
   the best. Smaller ones code noise, and are left out. So are betas with less evidence than
   linear PCA, by more than one standard error, if any has as much.
2. Agreement. Of the rest keep the betas at which restarts find the most components again, within
   one standard error.
3. Of these take the beta of the highest evidence.
4. At this beta take, of the restarts whose evidence is within one standard error of the best, the
   one whose components the others find again most often.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from jaxtyping import Float

from unpick.estimator.members import Member
from unpick.metrics import mean_correlation, udr

FOUND_AGAIN = 0.9  # rank correlation from which two latents count as the same component


@dataclass(frozen=True)
class BetaScore:
    """What the restarts at one beta say about it.

    Attributes:
        beta: Weight of the KL.
        evidence: Mean over held-out rows of its best restart, in nats.
        behind: How far that is behind the best of all betas.
        behind_error: Standard error of that, over rows.
        linear_ahead: How far linear PCA is ahead, less its standard error over rows; below 0 if
            it is not.
        active: Median number of latents in use.
        found_again: Mean number of latents that another restart has, too.
        found_again_error: Standard error of that, over restarts.
        explained: Mean share of the variance explained.
    """

    beta: float
    evidence: float
    behind: float
    behind_error: float
    linear_ahead: float
    active: int
    found_again: float
    found_again_error: float
    explained: float


def agreement(members: Sequence[Member]) -> list[Float[np.ndarray, "_"]]:
    """For each active latent of each member: the share of the other members that have it, too.

    Two latents are the same component if an assignment matches them and their rank correlation
    over the held-out rows is 0.9 or more, in absolute value. A member without others gets nan.

    Example:
        >>> z = np.random.default_rng(0).normal(size=(200, 2))
        >>> sure = np.array([0.1, 0.1])
        >>> members = [Member(1.0, k, z[:, 0], z[:, [k, 1 - k]], sure) for k in (0, 1)]
        >>> agreement(members)[0].tolist()
        [1.0, 1.0]
    """
    found = [np.zeros(int(member.active.sum())) for member in members]
    for i, j in combinations(range(len(members)), 2):
        a, b = (members[k].codes[:, members[k].active] for k in (i, j))
        if not (a.shape[1] and b.shape[1]) or np.ptp(b, axis=0).min() == 0:
            continue
        matched = mean_correlation(a, b, method="spearman")
        same = matched.per_factor >= FOUND_AGAIN
        found[j] += same
        found[i][matched.latents[same]] += 1
    others = len(members) - 1
    return [each / others if others else np.full_like(each, np.nan) for each in found]


def score_betas(
    members: Sequence[Member], linear: Float[np.ndarray, "n"] | None = None
) -> list[BetaScore]:
    """One score a beta, the smallest beta first; members that diverged are left out.

    Args:
        members: Of all betas.
        linear: The evidence of the same rows under linear PCA.
    """
    finite = [m for m in members if np.isfinite(m.evidence).all() and np.isfinite(m.codes).all()]
    if not finite:
        raise ValueError("no member has a finite evidence: training diverged")
    groups = {b: [m for m in finite if m.beta == b] for b in sorted({m.beta for m in finite})}
    tops = {b: max(group, key=lambda m: m.evidence.mean()) for b, group in groups.items()}
    best = max(tops.values(), key=lambda m: m.evidence.mean())
    scores = []
    for beta, group in groups.items():
        behind = best.evidence - tops[beta].evidence
        ahead = np.array([-np.inf]) if linear is None else linear - tops[beta].evidence
        again = np.array([each.sum() for each in agreement(group)])
        scores.append(
            BetaScore(
                beta,
                float(tops[beta].evidence.mean()),
                float(behind.mean()),
                standard_error(behind),
                float(ahead.mean()) - standard_error(ahead),
                int(np.median([m.active.sum() for m in group])),
                float(again.mean()),
                standard_error(again),
                float(np.mean([m.explained for m in group])),
            )
        )
    return scores


def udr_of(members: Sequence[Member]) -> Float[np.ndarray, "s"]:
    """UDR of members at one beta; nan for a single one."""
    if len(members) < 2:
        return np.full(len(members), np.nan)
    kl = [-np.log(np.minimum(m.variance, 1.0)) / 2 for m in members]
    return udr([m.codes for m in members], kl).per_model


def standard_error(values: Float[np.ndarray, "n"]) -> float:
    """Of the mean; 0 for a single value."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def select_beta(
    scores: Sequence[BetaScore], *, components: int | None = None, explained: float | None = None
) -> BetaScore:
    """Choose a beta by the rule above.

    Args:
        scores: One a beta, from `score_betas`.
        components: So many latents must be in use, or as many as there are at any beta.
        explained: So much variance must be explained, or as much as there is at any beta.
    """
    left = list(scores)
    if components is not None:
        most = min(components, max(s.active for s in left))
        left = [s for s in left if s.active >= most]
    if explained is not None:
        share = min(explained, max(s.explained for s in left))
        left = [s for s in left if s.explained >= share]
    within = [s.beta for s in left if s.behind <= s.behind_error]
    least = max(within, default=min(left, key=lambda s: s.behind).beta)
    left = [s for s in left if s.beta >= least]
    left = [s for s in left if s.linear_ahead <= 0] or left
    if not np.isnan([s.found_again for s in left]).any():
        top = max(left, key=lambda s: s.found_again)
        error = max(top.found_again_error, 0.0)
        left = [s for s in left if s.found_again >= top.found_again - error]
    return max(left, key=lambda s: s.evidence)


def select_restart(members: Sequence[Member]) -> int:
    """The index of the restart to keep, of members at one beta."""
    mean = [m.evidence.mean() if np.isfinite(m.evidence).all() else -np.inf for m in members]
    best = members[int(np.argmax(mean))]
    behind = [best.evidence - m.evidence for m in members]
    near = [
        k
        for k, each in enumerate(behind)
        if np.isfinite(each).all() and each.mean() <= standard_error(each)
    ]
    again = [float(each.sum()) for each in agreement(members)]
    return max(near, key=lambda k: (np.nan_to_num(again[k]), mean[k]))
