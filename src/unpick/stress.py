"""How much of its score a method owes to the local variance structure of the data.

It is trained on a data set, on the twin with noise and on the perturbed twin, which has changes
of the same size, but such that directions of large local variance are not those of the factors
(Zietlow 2022, chapter 4). What it loses on the perturbed twin and not on the noisy one, it owes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from unpick.data import DataConfig, Dataset, Noisy, Perturbed, split
from unpick.data.twins import read_document
from unpick.diagnosis.subject import encode_all
from unpick.runs import make
from unpick.studies.measures import SAMPLES, posterior
from unpick.studies.thesis_4_readings import scores
from unpick.training import RunConfig, preset
from unpick.training.config import from_json, to_json

Twin = Literal["original", "noise", "perturbed"]
TWINS: tuple[Twin, ...] = get_args(Twin)
DRAWS = 2000  # resamples of the seeds, for intervals

Fit = Callable[[Dataset, int], Callable[[Any], Any]]


@dataclass(frozen=True)
class Owed:
    """A share of a score, with its 95 % interval over seeds; nan for a single seed."""

    share: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Stress:
    """The scores of a method on a data set and its twins, a value a seed."""

    values: Mapping[Twin, Mapping[str, Float[np.ndarray, "s"]]]

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the scores."""
        return tuple(self.values["original"])

    def owed(self, measure: str) -> Owed:
        """(noise - perturbed) / original, of the means over seeds."""
        samples = [self.values[twin][measure] for twin in TWINS]
        share = _share(*(float(each.mean()) for each in samples))
        if min(map(len, samples)) < 2:
            return Owed(share, np.nan, np.nan)
        rng = np.random.default_rng(0)
        drawn = [rng.choice(each, (DRAWS, len(each))).mean(1) for each in samples]
        shares = [_share(*means) for means in zip(*drawn, strict=True)]
        low, high = np.quantile(shares, (0.025, 0.975))
        return Owed(share, float(low), float(high))


def _share(original: float, noise: float, perturbed: float) -> float:
    return (noise - perturbed) / original if original > 0 else float("nan")


def twins(perturbed: Perturbed) -> dict[Twin, DataConfig]:
    """The data set of a perturbed twin, and a noisy one with changes as large as its."""
    epsilon = read_document(perturbed.folder)["epsilon"]
    noisy = Noisy(perturbed.original, epsilon)
    return {"original": perturbed.original, "noise": noisy, "perturbed": perturbed}


def base_of(perturbed: Perturbed) -> RunConfig:
    """The models that a twin was made against, trained on its original."""
    document = read_document(perturbed.folder)
    base = document.get("recipe", {}).get("base")
    if base is None:
        return preset(perturbed.original.name)
    return from_json({**base, "data": to_json(perturbed.original)}, RunConfig)


def stress(
    config: RunConfig,
    perturbed: Perturbed,
    root: Path,
    *,
    seeds: int = 3,
    jobs: int | None = None,
    progress: bool = True,
) -> Stress:
    """Train an objective on a data set and its twins, and score it on each.

    Args:
        config: What is trained; its data are put in their place, its seed is the first.
        perturbed: The twin; what it is a twin of follows from it.
        root: The folder of run folders; what is there is read.
        seeds: How many, on each of the three.
        jobs: Worker processes; as many as cores by default.
        progress: Whether to show bars.
    """
    check_seeds(seeds)
    configs = [
        replace(config, data=data, seed=config.seed + k)
        for data in twins(perturbed).values()
        for k in range(seeds)
    ]
    runs = make(configs, root, jobs=jobs, progress=progress)
    values: dict[Twin, list[dict[str, float]]] = {twin: [] for twin in TWINS}
    for twin, data in twins(perturbed).items():
        dataset = data.load()
        test = split(dataset).test[:SAMPLES]
        x = dataset.observe(test)
        for run in (run for run in runs if run.config.data == data):
            if run.results["stopped"] is None:
                codes = posterior(run.model(), x)[0].double().numpy()
                values[twin].append(scores(codes, dataset, test)[0])
    return Stress(columns(values))


def stress_model(
    fit: Fit,
    perturbed: Perturbed,
    *,
    seeds: int = 3,
    tell: Callable[[str], None] = lambda text: None,
) -> Stress:
    """The same for anybody's model.

    Args:
        fit: Takes a data set and a seed, trains, and returns `encode`: observations to latent
            means, or any of the posteriors that `unpick.diagnose` reads. It should learn from
            `split(dataset).train` only; scores are taken on the test part.
        perturbed: The twin.
        seeds: How many trainings on each of the three.
        tell: Told what is being trained.
    """
    check_seeds(seeds)
    values: dict[Twin, list[dict[str, float]]] = {twin: [] for twin in TWINS}
    for twin, data in twins(perturbed).items():
        dataset = data.load()
        test = split(dataset).test[:SAMPLES]
        x = dataset.observe(test)
        for seed in range(seeds):
            tell(f"{twin}, seed {seed}")
            mean = encode_all(fit(dataset, seed), x).mean
            codes = mean.detach().cpu().double().numpy()
            values[twin].append(scores(codes, dataset, test)[0])
    return Stress(columns(values))


def columns(
    values: Mapping[Twin, Sequence[Mapping[str, float]]],
) -> dict[Twin, dict[str, Float[np.ndarray, "_"]]]:
    """A value a seed for every score."""
    empty = [twin for twin, each in values.items() if not each]
    if empty:
        raise ValueError(f"every training on {' and '.join(empty)} diverged")
    return {
        twin: {name: np.array([one[name] for one in each]) for name in each[0]}
        for twin, each in values.items()
    }


def check_seeds(seeds: int) -> None:
    """Raise unless there is one at least."""
    if seeds < 1:
        raise ValueError(f"seeds must be at least 1, got {seeds}")
