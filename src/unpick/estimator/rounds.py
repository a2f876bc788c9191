"""Train an ensemble in rounds: first all betas at once, then the restarts at the chosen one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
import torch
from torch import Tensor

from unpick.data.synthetic import SynthLin
from unpick.estimator.alignment import turn_latents
from unpick.estimator.linear import betas_of
from unpick.estimator.members import POINTS, Member, measure_members, with_orthogonality
from unpick.estimator.rows import HeldOut
from unpick.models import MLP, Model, ModelConfig, NetworkFactory, OwnNetwork
from unpick.objectives import BetaVAE
from unpick.training import Adam, RunConfig, Tick, Training
from unpick.training.progress import Bars, progress_update

BATCH = 128
RATES = (1e-2, 3e-3, 1e-3, 3e-4)  # of Adam, one after the other
SHARES = (0.4, 0.3, 0.2, 0.1)  # of the steps, at most, for each of them
SEARCH = 4  # the search takes the steps divided by this
ROUNDS = 40  # in all; the held-out rows are looked at after each
TURN_EVERY = 4  # rounds
STILL = 0.01  # a latent whose correlation with its former self is 1 - STILL has not turned


@dataclass(frozen=True, eq=False)
class Plan:
    """How to train.

    Attributes:
        network: Hidden layers of our own networks, or a function that makes the user's.
        steps: Optimiser steps a member, at most.
        tol: Gain in evidence a round, in nats a row, that counts as none.
        device: Where.
        progress: Whether to show a bar.
    """

    network: MLP | NetworkFactory
    steps: int
    tol: float
    device: str
    progress: bool


@dataclass(frozen=True, eq=False)
class Finished:
    """Restarts at one beta, trained to the end.

    Attributes:
        beta: The weight of the KL, perhaps refined.
        model: The ensemble, each member as it was when its evidence was best.
        members: What was measured of each.
        curve: Mean evidence of each member, a row a round.
        steps: Optimiser steps taken.
        converged: Whether evidence and axes stood still at the end.
    """

    beta: float
    model: Model
    members: list[Member]
    curve: list[list[float]]
    steps: int
    converged: bool


def make_training(
    parts: HeldOut, plan: Plan, latents: int, betas: Sequence[float], seeds: Sequence[int]
) -> Training:
    """An ensemble of one member for each beta and seed, not trained yet."""
    own = None if isinstance(plan.network, MLP) else plan.network
    network = plan.network if isinstance(plan.network, MLP) else OwnNetwork.of(plan.network)
    base = RunConfig(
        data=SynthLin(),  # not read: a configuration names a data set, and the rows are given
        model=ModelConfig(latents, network=network),
        optimiser=Adam(RATES[0]),
        steps=plan.steps,
        batch=min(BATCH, parts.rows) if parts.rows > 1 else 2,
    )
    configs = [
        replace(base, objective=BetaVAE(beta), seed=seed)
        for beta, seed in zip(betas, seeds, strict=True)
    ]
    return Training(configs, parts.dataset, plan.device, network=own)


def with_rate(
    training: Training,
    rate: float,
    beta: float | None = None,
    states: Sequence[dict[str, Tensor]] | None = None,
) -> Training:
    """The same ensemble at another rate, perhaps at another beta or with other weights."""
    configs = [
        replace(
            c,
            optimiser=Adam(rate),
            objective=c.objective if beta is None else BetaVAE(beta),
        )
        for c in training.configs
    ]
    factory = getattr(training.model, "factory", None)
    other = Training(configs, training.dataset, str(training.device), network=factory)
    members = range(len(configs))
    other.restore(training.step, states or [training.state(k) for k in members])
    return other


def look(training: Training, parts: HeldOut) -> list[Member]:
    """Measure all members on the held-out rows."""
    training.model.eval()
    members = measure_members(
        training.model, parts.held, betas_of(training), range(len(training.configs))
    )
    training.model.train()
    return members


def turn_all(training: Training, parts: HeldOut) -> None:
    """Turn the latent space of every member to where noise costs least."""
    members = look(training, parts)
    if not all(np.isfinite(m.codes).all() for m in members):
        return
    weight = next(training.model.parameters())
    z = torch.from_numpy(np.stack([m.codes[:POINTS] for m in members])).to(weight)
    known = [m.log_variance for m in members if m.log_variance is not None]
    log_variance = torch.from_numpy(np.stack(known)).to(weight)
    training.model.eval()
    turn_latents(training.model, z, log_variance, np.array([m.beta for m in members]))
    training.model.train()


def search(
    parts: HeldOut,
    plan: Plan,
    latents: int,
    betas: Sequence[float],
    restarts: int,
    seed: int,
) -> list[Member]:
    """Train every beta with several restarts, all at once and for a part of the steps."""
    each = [beta for beta in betas for _ in range(restarts)]
    seeds = [seed + k % restarts for k in range(len(each))]
    plan = replace(plan, steps=max(2, plan.steps // SEARCH))
    training = make_training(parts, plan, latents, each, seeds)
    with shown(plan) as bars:
        for rate, until in zip(RATES, np.cumsum(SHARES), strict=True):
            training = with_rate(training, rate)
            end = min(plan.steps, max(training.step + 1, round(until * plan.steps)))
            while training.step < end:
                advance(training, max(1, plan.steps // 4), end, bars, f"{len(betas)} betas")
                turn_all(training, parts)
    members = look(training, parts)
    members = with_orthogonality(training.model.eval(), members)
    return [replace(m, restart=k % restarts) for k, m in enumerate(members)]


def finish(
    parts: HeldOut,
    plan: Plan,
    latents: int,
    beta: float,
    restarts: int,
    seed: int,
    refine: bool,
) -> Finished:
    """Train restarts at one beta until held-out evidence and axes stand still.

    Each learning rate starts from the best weights of the one before.

    Args:
        parts: The table.
        plan: How to train.
        latents: Of each model.
        beta: Weight of the KL.
        restarts: Members.
        seed: Of the first.
        refine: Whether to set beta to twice the residual variance before each further rate.
    """
    first = beta
    training = make_training(parts, plan, latents, [beta] * restarts, range(seed, seed + restarts))
    every, curve, still = max(1, plan.steps // ROUNDS), list[list[float]](), False
    with shown(plan) as bars:
        for stage, rate in enumerate(RATES):
            if stage:
                if refine:
                    beta = refined_beta(look(training, parts), first, parts.held.shape[1])
                training = with_rate(training, rate, beta)
                turn_all(training, parts)
            end = min(plan.steps, training.step + max(1, round(SHARES[stage] * plan.steps)))
            before, best = look(training, parts), Best(training)
            still, quiet = False, 0
            for number in count(1):
                if still or training.step >= end:
                    break
                advance(training, every, end, bars, f"{restarts} restarts")
                if number % TURN_EVERY == 0:
                    turn_all(training, parts)
                now = look(training, parts)
                curve.append([float(m.evidence.mean()) for m in now])
                gained = best.update(training, now)
                turned = max(turn(a, b) for a, b in zip(before, now, strict=True))
                quiet = quiet + 1 if gained < plan.tol and turned < STILL else 0
                still, before = quiet == 2, now
            training = with_rate(training, rate, states=best.states)
    members = look(training, parts)
    model = training.model.eval()
    members = with_orthogonality(model, members)
    return Finished(beta, model, members, curve, training.step, still)


class Best:
    """The weights of each member when its evidence was best."""

    def __init__(self, training: Training) -> None:
        count = len(training.configs)
        self.evidence = np.full(count, -np.inf)
        self.states = [training.state(k) for k in range(count)]

    def update(self, training: Training, members: Sequence[Member]) -> float:
        """Keep what is better; return the mean gain over the members in nats a row."""
        now = np.array([m.evidence.mean() for m in members])
        better = now > self.evidence
        for k in np.flatnonzero(better):
            self.states[k] = training.state(int(k))
        gain = np.where(better, now - self.evidence, 0.0)
        self.evidence = np.where(better, now, self.evidence)
        return float(gain.mean())


def turn(before: Member, now: Member) -> float:
    """How far the active latent that turned most since the last look has turned.

    One minus the absolute correlation with its former self; 0 if none is active.
    """
    active = now.active & before.active
    a, b = (m.codes[:, active] - m.codes[:, active].mean(0) for m in (before, now))
    lengths = np.linalg.norm(a, axis=0) * np.linalg.norm(b, axis=0)
    same = np.abs((a * b).sum(0)) / np.where(lengths > 0, lengths, 1.0)
    return float(1 - same.min()) if same.size else 0.0


def refined_beta(members: Sequence[Member], beta: float, columns: int) -> float:
    """Twice the residual variance, within a factor of three of the beta that was chosen."""
    found = [noise_variance(m, columns) for m in members if np.isfinite(m.distortion)]
    return float(np.clip(2 * np.median(found), beta / 3, beta * 3)) if found else beta


def noise_variance(member: Member, columns: int) -> float:
    r"""The variance of what the active latents leave, in each direction that they leave.

    .. math:: \hat\sigma^2 = \frac{D - a \beta / 2}{p - a}

    a latents are active, D is the squared error with posterior noise. A linear VAE at its optimum
    has D = a beta / 2 + the sum of the principal variances without a latent, whatever beta is, so
    this is the noise variance of probabilistic PCA. With a latent for every column it is D / p.
    """
    active = int(member.active.sum())
    if active >= columns:
        return member.distortion / columns
    left = (member.distortion - active * member.beta / 2) / (columns - active)
    return max(left, member.distortion / columns * 1e-3)


def advance(training: Training, steps: int, end: int, bars: Bars, label: str) -> None:
    """Train for so many steps, not beyond `end`; show progress under a label."""
    terms = training.advance(min(training.step + steps, end))
    values = {name: value.cpu() for name, value in terms.items()}
    tick = Tick(training.step, values, {}, due=False, last=False)
    # The configuration names a data set that is not read, and changes with the learning rate.
    bars.update(progress_update(training, tick)._replace(key=label, label=label))


@contextmanager
def shown(plan: Plan) -> Iterator[Bars]:
    """Progress bars, if they are wanted; members that diverge are left to the warnings."""
    with Bars(plan.progress) as bars:
        if not plan.progress:
            bars.progress.console.quiet = True
        yield bars
