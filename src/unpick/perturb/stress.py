"""How much of its score a method owes to the local variance structure of the data.

It is trained on a data set, on the twin with noise and on the perturbed twin, which has the same
largest change, but such that directions of large local variance are not those of the factors
(Zietlow 2022, chapter 4). What it loses on the perturbed twin and not on the noisy one, it owes.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.stats import t as student
from torch import Tensor

from unpick.data import DataConfig, Dataset, Noisy, Perturbed, split
from unpick.data.files import report_damage
from unpick.data.twins import DOCUMENT, read_document
from unpick.probe import FACTOR_SCORES, NotFinite, Probe, take
from unpick.probe.cache import SAMPLES, encoder_of
from unpick.runs import Runner, make
from unpick.training import RunConfig
from unpick.training.config import from_json, to_json

Twin = Literal["original", "noisy", "perturbed"]
TWINS: tuple[Twin, ...] = get_args(Twin)
LOOKED_AT = 1000  # test images on which the size of a change is taken
PROJECTIONS = 5  # random ones, of which chance is the mean

Encode = Callable[[Any], Any]
Fit = Callable[[Dataset, int], Encode]


@dataclass(frozen=True)
class Owed:
    """A share of a score, with its 95 % interval over seeds; nan for a single seed."""

    share: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Stress:
    """The scores of a method on a data set and its twins.

    Attributes:
        values: A value for every seed that did not diverge.
        chance: What random linear projections of the original to as many latents score, on
            average.
        change: Root mean square of what each twin changes, on test images.
        seeds: How many there were on each of the three.
    """

    values: Mapping[Twin, Mapping[str, Float[np.ndarray, "_"]]]
    chance: Mapping[str, float]
    change: Mapping[Twin, float]
    seeds: int

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the scores."""
        return tuple(self.values["original"])

    def owed(self, measure: str) -> Owed:
        r"""(noisy - perturbed) / original, of means over seeds; nan if that is not above chance.

        The interval is Student's, with the variance of the share by the delta method,

        .. math:: (v_{noisy} + v_{perturbed} + share^2 v_{original}) / original^2,

        v the squared standard errors of the means, and Welch's degrees of freedom.
        """
        samples = [self.values[twin][measure] for twin in TWINS]
        original, noisy, perturbed = (float(each.mean()) for each in samples)
        if original <= self.chance[measure]:
            return Owed(np.nan, np.nan, np.nan)
        share = (noisy - perturbed) / original
        if min(map(len, samples)) < 2:
            return Owed(share, np.nan, np.nan)
        slopes = np.array([share, 1, 1]) / original
        parts = slopes**2 * [each.var(ddof=1) / len(each) for each in samples]
        if not parts.any():
            return Owed(share, share, share)
        freedom = parts.sum() ** 2 / sum(parts**2 / [len(each) - 1 for each in samples])
        reach = float(student.ppf(0.975, freedom) * np.sqrt(parts.sum()))
        return Owed(share, share - reach, share + reach)


def twins(perturbed: Perturbed) -> dict[Twin, DataConfig]:
    """The data set of a perturbed twin, and a noisy one with the same largest change."""
    epsilon = read_document(perturbed.folder)["epsilon"]
    noisy = Noisy(perturbed.original, epsilon)
    return {"original": perturbed.original, "noisy": noisy, "perturbed": perturbed}


def base_of(perturbed: Perturbed) -> RunConfig:
    """The models that a twin was made against, trained on its original."""
    with report_damage(perturbed.folder / DOCUMENT):
        base = read_document(perturbed.folder).get("recipe", {}).get("base")
    if base is None:
        raise ValueError(
            f"{perturbed.folder}: twin.json has no recipe, so what to train like is not known"
        )
    return from_json({**base, "data": to_json(perturbed.original)}, RunConfig)


def stress(
    config: RunConfig,
    perturbed: Perturbed,
    runner: Runner,
    *,
    seeds: int = 3,
) -> Stress:
    """Train an objective on a data set and its twins, and score it on each.

    Args:
        config: What is trained; its data are put in their place, its seed is the first.
        perturbed: The twin; what it is a twin of follows from it.
        runner: How it is trained; finished runs in its folder are read.
        seeds: How many, on each of the three.
    """
    if config.model.latents < 2:
        raise ValueError(f"latents must be at least 2 to be scored, got {config.model.latents}")
    check(perturbed, seeds)
    configs = {
        (twin, seed): replace(config, data=data, seed=config.seed + seed)
        for twin, data in twins(perturbed).items()
        for seed in range(seeds)
    }
    made = make([*configs.values()], runner)
    runs = dict(zip(configs, made, strict=True))

    def encoder(twin: Twin, dataset: Dataset, seed: int) -> Encode | None:
        run = runs[twin, seed]
        if run.results["stopped"] is not None:
            return None
        return encoder_of(run.model())

    return compare(encoder, perturbed, seeds)


def stress_model(
    fit: Fit,
    perturbed: Perturbed,
    *,
    seeds: int = 3,
    on_progress: Callable[[str], object] = lambda text: None,
) -> Stress:
    """The same for anybody's model.

    Args:
        fit: Takes a data set and a seed, trains, and returns `encode`: observations to latent
            means, or any of the posteriors that `unpick.diagnose` reads. It should learn from
            `split(dataset).train` only; scores are taken on the test part.
        perturbed: The twin.
        seeds: How many trainings on each of the three.
        on_progress: Called with what is being trained.
    """
    check(perturbed, seeds)

    def encoder(twin: Twin, dataset: Dataset, seed: int) -> Encode:
        on_progress(f"{twin}, seed {seed}")
        encode = fit(dataset, seed)
        if not callable(encode):
            got = type(encode).__name__
            raise ValueError(f"fit must return encode, a function of observations, got {got}")
        return encode

    return compare(encoder, perturbed, seeds)


def compare(
    encoder: Callable[[Twin, Dataset, int], Encode | None], perturbed: Perturbed, seeds: int
) -> Stress:
    """Score the encoder of every twin and seed on test images; one that diverged is left out.

    `encoder` gives None for it, or a function of which codes come that are not finite.
    """
    datasets = {twin: data.load() for twin, data in twins(perturbed).items()}
    original = datasets["original"]
    test = split(original).test[:SAMPLES]
    factors = original.factor_values(test).numpy()
    values: dict[Twin, list[dict[str, float]]] = {twin: [] for twin in TWINS}
    latents = 0
    for twin, dataset in datasets.items():
        x = dataset.observe(test)
        for seed in range(seeds):
            encode = encoder(twin, dataset, seed)
            if encode is not None:
                with suppress(NotFinite):
                    probe = Probe(encode, None, x, factors)
                    latents = probe.latents
                    values[twin].append(take(probe, FACTOR_SCORES))
        if not values[twin]:
            raise ValueError(f"every training on {dataset.name} diverged")
    looked_at = original.observe(test[:LOOKED_AT])
    change = {
        twin: float((dataset.observe(test[:LOOKED_AT]) - looked_at).square().mean().sqrt())
        for twin, dataset in datasets.items()
    }
    return Stress(columns(values), untrained(original, test, latents), change, seeds)


def untrained(dataset: Dataset, test: Int[Tensor, "n"], latents: int) -> dict[str, float]:
    """Mean scores of random linear projections: what there is to have without learning."""
    x = dataset.observe(test).flatten(1)
    shape, generator = (PROJECTIONS, x.shape[1], latents), torch.Generator().manual_seed(0)
    factors = dataset.factor_values(test).numpy()
    drawn = [
        take(Probe(partial(torch.matmul, other=weights), None, x, factors), FACTOR_SCORES)
        for weights in torch.randn(shape, generator=generator)
    ]
    return {name: float(np.mean([one[name] for one in drawn])) for name in drawn[0]}


def columns(
    values: Mapping[Twin, Sequence[Mapping[str, float]]],
) -> dict[Twin, dict[str, Float[np.ndarray, "_"]]]:
    """A value a seed for every score."""
    return {
        twin: {name: np.array([one[name] for one in each]) for name in each[0]}
        for twin, each in values.items()
    }


def check(perturbed: Perturbed, seeds: int) -> None:
    """Raise for what would else come out after the trainings."""
    if seeds < 1:
        raise ValueError(f"seeds must be at least 1, got {seeds}")
    factors = perturbed.load().factors  # refuses what is damaged
    if len(factors) < 2:
        raise ValueError(
            f"scores need at least 2 factors, and {perturbed.original.name} has {len(factors)}"
        )
