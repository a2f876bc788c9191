"""Fit: search betas, choose one, train restarts at it, keep one of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from unpick.estimator.linear import (
    LinearPath,
    is_linear,
    linear_path,
    noise_variances,
    solve_linear,
)
from unpick.estimator.members import Member, measure_members, with_orthogonality
from unpick.estimator.rounds import (
    RATES,
    Finished,
    Plan,
    finish,
    make_training,
    search,
    with_rate,
)
from unpick.estimator.rows import HeldOut
from unpick.estimator.selection import (
    agreement,
    score_betas,
    select_beta,
    select_restart,
    standard_error,
)
from unpick.models import MLP
from unpick.models.linear import spectrum

BETAS = 8  # in the search
RESTARTS = 3  # at each of them
LEAST = 1e-4  # the smallest noise variance of the search, as a share of the mean variance
MOST_LATENTS = 20  # of the search, unless a share of the variance needs more
SHARE = 0.999  # of the variance, for the latents of the search, at least


@dataclass(frozen=True, eq=False)
class Fit:
    """The model that was kept, and how it was found.

    Attributes:
        finished: All restarts at the chosen beta.
        kept: The index of the one that was kept.
        again: For each of its active latents, the share of other restarts that have it, too.
        table: One row a member, of the search and of the restarts, by column.
        wanted: How many latents the search could use.
        linear: Mean log-density of the held-out rows under PPCA with as many components.
        silent: Whether noise alone, alike in all directions, describes the held-out rows as well
            as any number of linear components.
    """

    finished: Finished
    kept: int
    again: Float[np.ndarray, "_"]
    table: dict[str, np.ndarray]
    wanted: int
    linear: float
    silent: bool = False

    @property
    def member(self) -> Member:
        """What was measured of the model that was kept."""
        return self.finished.members[self.kept]


def latents_for(variances: Float[np.ndarray, "p"], share: float | None = None) -> int:
    """How many latents the search gets: the principal directions of 99.9 % of the variance.

    A curved surface spans more directions than it has dimensions, never fewer. There are 20 at
    most, unless a larger share of the variance is asked for.
    """
    shares = np.cumsum(variances) / variances.sum()
    count = int(np.searchsorted(shares, max(SHARE, share or 0.0))) + 1
    return min(count, len(variances) if share else MOST_LATENTS, len(variances))


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
    wanted = latents = latents_for(parts.variances, share) if number is None else number
    path = linear_path(parts)
    if is_linear(plan.network):
        return fit_linear(parts, plan, path, components, wanted, beta, seed)
    if beta is None:
        betas = search_grid(parts.variances)
        members = search(parts, plan, wanted, betas, min(RESTARTS, restarts), seed)
        scores = score_betas(members, path.evidence[:, path.at(number or path.best)])
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
    return Fit(
        done,
        kept,
        shares[kept],
        by_column(table),
        wanted,
        float(path.evidence[:, path.at(latents)].mean()),
    )


def fit_linear(
    parts: HeldOut,
    plan: Plan,
    path: LinearPath,
    components: int | float | None,
    wanted: int,
    beta: float | None,
    seed: int,
) -> Fit:
    """Fit a linear network: probabilistic PCA of all rows; held-out rows choose its components.

    There is one optimum, so there are no restarts. Evidence is that of the rows that were held
    out, without them.
    """
    latents, first, table = wanted, beta, list[dict[str, Any]]()
    if first is None:
        if isinstance(components, float):
            latents = max(1, path.at(path.reaching(components)))
        elif components is None:
            latents = max(1, path.enough)
        first = 2 * float(path.noise[path.at(latents)])
        table = [step_of(path, k) for k in range(1, len(path.noise))]
    training = make_training(parts, plan, latents, [first], [seed])
    solve_linear(training, parts.dataset.observe(parts.training_rows))
    evidence = measure_members(training.model.eval(), parts.held, [first], [0])[0].evidence
    rows = parts.every
    last = beta or 2 * float(noise_variances(spectrum(rows, 1)[1].numpy())[latents])
    training = with_rate(training, RATES[-1], last)
    solve_linear(training, rows)
    model, some = training.model.eval(), torch.from_numpy(parts.some).float()
    (whole,) = measure_members(model, some, [last], [0])
    (member,) = with_orthogonality(model, measure_members(model, parts.held, [last], [0]))
    members = [replace(member, evidence=evidence, distortion=whole.distortion)]
    mean = float(evidence.mean())
    return Fit(
        Finished(last, model, members, [[mean]], 0, True),
        0,
        agreement(members)[0],
        by_column(table + tabulate(members, "restarts")),
        wanted,
        mean,
        path.enough == 0,
    )


def step_of(path: LinearPath, k: int) -> dict[str, Any]:
    """The row of a table for probabilistic PCA with k components."""
    return {
        "stage": "search",
        "beta": 2 * float(path.noise[k]),
        "restart": 0,
        "ELBO": float(path.evidence[:, k].mean()),
        "active": k,
        "explained": float(path.explained[k]),
        "DtO": math.nan,
        "agreement": math.nan,
    }


def by_column(rows: Sequence[dict[str, Any]]) -> dict[str, np.ndarray]:
    """A table by column."""
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


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
