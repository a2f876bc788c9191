"""Fit: search betas, choose one, train restarts at it, keep one of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from unpick.estimator.members import Member
from unpick.estimator.rounds import Finished, Plan, finish, search
from unpick.estimator.rows import HeldOut
from unpick.estimator.selection import (
    agreement,
    score_betas,
    select_beta,
    select_restart,
    standard_error,
)
from unpick.models import MLP, ppca

BETAS = 8  # in the search
RESTARTS = 3  # at each of them
LEAST = 1e-4  # the smallest noise variance of the search, as a share of the mean variance
MOST_LATENTS = 20
SHARE = 0.999  # of the variance, for the latents of the search


@dataclass(frozen=True, eq=False)
class Fit:
    """The model that was kept, and how it was found.

    Attributes:
        finished: All restarts at the chosen beta.
        kept: The index of the one that was kept.
        again: For each of its active latents, the share of other restarts that have it, too.
        table: One row a member, of the search and of the restarts, by column.
        wanted: How many latents the search could use.
        linear: Mean log-density of the held-out rows under PPCA with as many components; None
            where that is not defined.
    """

    finished: Finished
    kept: int
    again: Float[np.ndarray, "_"]
    table: dict[str, np.ndarray]
    wanted: int
    linear: float | None

    @property
    def member(self) -> Member:
        """What was measured of the model that was kept."""
        return self.finished.members[self.kept]


def latents_for(variances: Float[np.ndarray, "p"]) -> int:
    """How many latents the search gets: the principal directions of 99.9 % of the variance.

    A curved surface spans more directions than it has dimensions, never fewer.
    """
    shares = np.cumsum(variances) / variances.sum()
    return min(int(np.searchsorted(shares, SHARE)) + 1, MOST_LATENTS, len(variances))


def search_grid(variances: Float[np.ndarray, "p"]) -> list[float]:
    """Betas from a hundredth of the mean deviation as noise to half of the largest variance.

    A linear VAE loses its last latent where beta / 2 is the largest variance (Lucas et al. 2019).
    """
    return [float(2 * v) for v in np.geomspace(LEAST, max(variances[0] / 2, 2 * LEAST), BETAS)]


def fit(
    parts: HeldOut,
    plan: Plan,
    *,
    components: int | float | None,
    beta: float | None,
    restarts: int,
    seed: int,
) -> Fit:
    """Fit a table.

    Args:
        parts: The table, with rows held out.
        plan: How to train.
        components: A number of components, a share of the variance to explain, or None.
        beta: Weight of the KL in units of the scaled table; None searches.
        restarts: At the chosen beta.
        seed: Of everything.
    """
    columns, members, refine = parts.held.shape[1], list[Member](), False
    number = components if isinstance(components, int) else None
    share = components if isinstance(components, float) else None
    wanted = latents = latents_for(parts.variances) if number is None else number
    if beta is None:
        betas = search_grid(parts.variances)
        members = search(parts, plan, wanted, betas, min(RESTARTS, restarts), seed)
        scores = score_betas(members)
        chosen = select_beta(scores, components=number, explained=share)
        beta = chosen.beta
        if number is None:
            again = chosen.active if math.isnan(chosen.found_again) else chosen.found_again
            # A share of the variance needs all that are active, found again or not.
            latents = max(1, chosen.active if share is not None else round(again))
        refine = chosen.beta == max(scores, key=lambda s: s.evidence).beta and latents < columns
    done = finish(parts, plan, latents, beta, restarts, seed + RESTARTS, refine)
    kept = select_restart(done.members)
    shares = agreement(done.members)
    table = tabulate(members, "search") + tabulate(done.members, "restarts")
    merged = {name: np.array([row[name] for row in table]) for name in table[0]}
    return Fit(done, kept, shares[kept], merged, wanted, linear_evidence(parts, latents))


def tabulate(members: Sequence[Member], stage: str) -> list[dict[str, Any]]:
    """One row a member."""
    groups = {b: [m for m in members if m.beta == b] for b in {m.beta for m in members}}
    shares = {
        id(m): float(s.mean()) if s.size else math.nan
        for group in groups.values()
        for m, s in zip(group, agreement(group), strict=True)
    }
    return [
        {
            "stage": stage,
            "beta": m.beta,
            "restart": m.restart,
            "ELBO": float(m.evidence.mean()),
            "active": int(m.active.sum()),
            "explained": m.explained,
            "DtO": m.orthogonality,
            "agreement": shares[id(m)],
        }
        for m in members
    ]


def linear_evidence(parts: HeldOut, components: int) -> float | None:
    """Mean log-density of the held-out rows under PPCA of the others, in nats."""
    rows = parts.dataset.observe(parts.training_rows)
    try:
        return ppca(rows, components).log_likelihood(parts.held.double())
    except ValueError:  # no direction is left for noise
        return None


def better_network(parts: HeldOut, plan: Plan, widths: tuple[int, ...], **options: Any) -> Fit:  # noqa: ANN401
    """Fit a linear and a nonlinear network; keep the linear one unless the other is better.

    Better means: its held-out evidence is higher by more than one standard error over rows.
    """
    linear, bent = (fit(parts, replace(plan, network=dense(w)), **options) for w in ((), widths))
    gain = bent.member.evidence - linear.member.evidence
    return bent if gain.mean() > standard_error(gain) else linear


def dense(widths: tuple[int, ...]) -> MLP:
    """Encoder and decoder with these hidden layers; tanh, so that decoders have curvature."""
    return MLP(widths, "tanh", widths, "tanh")
