"""Select the most and the least disentangled restarts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from unpick.data import Dataset
from unpick.geometry import polarized_regime
from unpick.metrics import udr
from unpick.names import unknown_choice
from unpick.perturb.config import RestartScore
from unpick.probe import probe_run
from unpick.probe.measures import mig
from unpick.runs import Run

SAMPLES = 10_000  # observations of the test part, at most
UDR_SAMPLES = 1000


@dataclass(frozen=True)
class Candidate:
    """A restart and its score.

    Attributes:
        seed: Of the run.
        score: MIG or UDR.
        over_pruned: Fewer latents have E(sigma^2) < 0.8 than there are factors (Zietlow 2022,
            section 4.3.4); never where there is no grid of them.
    """

    seed: int
    score: float
    over_pruned: bool


@dataclass(frozen=True)
class Choice:
    """Indices into the list of candidates, the most extreme first."""

    entangled: tuple[int, ...]
    disentangled: tuple[int, ...]


def check_score(dataset: Dataset, by: RestartScore) -> None:
    """Raise if restarts on this data set cannot be scored by `by`."""
    if by not in get_args(RestartScore):
        raise unknown_choice("choose", by, RestartScore)
    if alike := [factor.name for factor in dataset.factors if len(factor.values) == 1]:
        raise ValueError(
            f"the factors of {dataset.name} must vary for a twin, and {alike[0]} has one value"
        )
    if by == "mig" and not dataset.is_grid:
        raise ValueError(
            f"choose must be 'udr' for {dataset.name}, which is no grid of factors; got 'mig'"
        )


def score_restarts(runs: Sequence[Run], dataset: Dataset, by: RestartScore) -> list[Candidate]:
    """Score restarts on test observations of the data they were trained on."""
    check_score(dataset, by)
    samples = SAMPLES if dataset.is_grid else UDR_SAMPLES
    codes, kl, pruned, scores = [], [], [], []
    for run in runs:
        probe = probe_run(run, dataset, samples)
        assert probe.variance is not None  # the restarts are beta-VAEs
        factors = len(dataset.factors) if dataset.is_grid else 0
        regime = polarized_regime(probe.mean, probe.variance, factors=factors)
        codes.append(probe.mean.double().numpy())
        kl.append(regime.kl.numpy())
        pruned.append(bool(regime.over_pruned))
        if by == "mig":
            scores.append(mig(probe)["MIG"])
    if by == "udr":
        scores = udr([z[:UDR_SAMPLES] for z in codes], kl).per_model.tolist()
    return [
        Candidate(run.config.seed, score, each)
        for run, score, each in zip(runs, scores, pruned, strict=True)
    ]


def select_restarts(candidates: Sequence[Candidate], each: int) -> Choice:
    """Select the `each` highest and the `each` lowest scores.

    Over-pruned restarts are left out, as in Zietlow (2022), section 4.3.4. If this would leave
    fewer than half of them, or too few to choose from, all take part.
    """
    if len(candidates) < 2 * each:
        raise ValueError(f"{2 * each} restarts are needed, got {len(candidates)} that are finite")
    order = sorted(range(len(candidates)), key=lambda k: candidates[k].score)
    whole = [k for k in order if not candidates[k].over_pruned]
    pool = whole if len(whole) >= max(2 * each, len(candidates) / 2) else order
    return Choice(tuple(pool[:each]), tuple(reversed(pool[-each:])))
