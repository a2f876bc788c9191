"""How much score a method loses when local variance no longer follows the factors.

The method is trained on a data set, on its noisy twin and on its perturbed twin. Both twins have
the same largest change. On the perturbed one, the directions of large local variance are no longer
those of the factors (Zietlow 2022, chapter 4). The loss is that on the perturbed twin, less that
on the noisy one.
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
PROJECTIONS = 5  # random ones; chance is their mean score

Encode = Callable[[Any], Any]
Fit = Callable[[Dataset, int], Encode]


@dataclass(frozen=True)
class LostShare:
    """The share of a score that is lost, with its 95 % interval over seeds.

    Attributes:
        value: nan if the score on the original is not above chance.
        low: Lower end of the interval; nan for a single seed.
        high: Upper end.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Stress:
    """The scores of a method on a data set and its twins.

    Attributes:
        values: By twin and score: a value for every seed that did not diverge.
        chance: Mean score of random linear projections of the original to as many latents.
        change: Root mean square of each twin's change, on test images.
        seeds: Trainings on each of the three data sets.
    """

    values: Mapping[Twin, Mapping[str, Float[np.ndarray, "_"]]]
    chance: Mapping[str, float]
    change: Mapping[Twin, float]
    seeds: int

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the scores."""
        return tuple(self.values["original"])

    def lost_share(self, measure: str) -> LostShare:
        r"""(noisy - perturbed) / original, of means over seeds; nan if that is not above chance.

        The interval is Student's, with the variance of the share by the delta method,

        .. math:: (v_{noisy} + v_{perturbed} + share^2 v_{original}) / original^2,

        v the squared standard errors of the means, and Welch's degrees of freedom.
        """
        samples = [self.values[twin][measure] for twin in TWINS]
        original, noisy, perturbed = (float(each.mean()) for each in samples)
        if original <= self.chance[measure]:
            return LostShare(np.nan, np.nan, np.nan)
        share = (noisy - perturbed) / original
        if min(map(len, samples)) < 2:
            return LostShare(share, np.nan, np.nan)
        slopes = np.array([share, 1, 1]) / original
        parts = slopes**2 * [each.var(ddof=1) / len(each) for each in samples]
        if not parts.any():
            return LostShare(share, share, share)
        freedom = parts.sum() ** 2 / sum(parts**2 / [len(each) - 1 for each in samples])
        reach = float(student.ppf(0.975, freedom) * np.sqrt(parts.sum()))
        return LostShare(share, share - reach, share + reach)


def twin_configs(perturbed: Perturbed) -> dict[Twin, DataConfig]:
    """The original of a perturbed twin, the noisy twin with the same largest change, and it."""
    epsilon = read_document(perturbed.folder)["epsilon"]
    noisy = Noisy(perturbed.original, epsilon)
    return {"original": perturbed.original, "noisy": noisy, "perturbed": perturbed}


def read_base(perturbed: Perturbed) -> RunConfig:
    """The configuration of the models that a twin was made against, on its original."""
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
        config: What is trained. Its data set is replaced by each of the three; its seed is the
            first.
        perturbed: The twin, which also names its original.
        runner: How it is trained; finished runs in its folder are read.
        seeds: Trainings on each of the three data sets.
    """
    if config.model.latents < 2:
        raise ValueError(f"latents must be at least 2 to be scored, got {config.model.latents}")
    check_twin(perturbed, seeds)
    configs = {
        (twin, seed): replace(config, data=data, seed=config.seed + seed)
        for twin, data in twin_configs(perturbed).items()
        for seed in range(seeds)
    }
    made = make([*configs.values()], runner)
    runs = dict(zip(configs, made, strict=True))

    def encoder(twin: Twin, dataset: Dataset, seed: int) -> Encode | None:
        run = runs[twin, seed]
        if run.results["stopped"] is not None:
            return None
        return encoder_of(run.model())

    return score_twins(encoder, perturbed, seeds)


def stress_model(
    fit: Fit,
    perturbed: Perturbed,
    *,
    seeds: int = 3,
    on_progress: Callable[[str], object] = lambda text: None,
) -> Stress:
    """Train a user's model on a data set and its twins, and score it on each.

    Args:
        fit: Takes a data set and a seed, trains, and returns `encode`: observations to latent
            means, or any of the posteriors that `unpick.diagnose` reads. It should learn from
            `split(dataset).train` only; scores are taken on the test part.
        perturbed: The twin.
        seeds: Trainings on each of the three data sets.
        on_progress: Called before each training with the twin and the seed.
    """
    check_twin(perturbed, seeds)

    def encoder(twin: Twin, dataset: Dataset, seed: int) -> Encode:
        on_progress(f"{twin}, seed {seed}")
        encode = fit(dataset, seed)
        if not callable(encode):
            got = type(encode).__name__
            raise ValueError(f"fit must return encode, a function of observations, got {got}")
        return encode

    return score_twins(encoder, perturbed, seeds)


def score_twins(
    encoder: Callable[[Twin, Dataset, int], Encode | None], perturbed: Perturbed, seeds: int
) -> Stress:
    """Score the encoder of every twin and seed on test images; leave out those that diverged.

    A training diverged if `encoder` returns None, or a function whose codes are not finite.
    """
    datasets = {twin: data.load() for twin, data in twin_configs(perturbed).items()}
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
    return Stress(stack_seeds(values), chance_scores(original, test, latents), change, seeds)


def chance_scores(dataset: Dataset, test: Int[Tensor, "n"], latents: int) -> dict[str, float]:
    """Mean scores of random linear projections: what a method gets without learning."""
    x = dataset.observe(test).flatten(1)
    shape, generator = (PROJECTIONS, x.shape[1], latents), torch.Generator().manual_seed(0)
    factors = dataset.factor_values(test).numpy()
    drawn = [
        take(Probe(partial(torch.matmul, other=weights), None, x, factors), FACTOR_SCORES)
        for weights in torch.randn(shape, generator=generator)
    ]
    return {name: float(np.mean([one[name] for one in drawn])) for name in drawn[0]}


def stack_seeds(
    values: Mapping[Twin, Sequence[Mapping[str, float]]],
) -> dict[Twin, dict[str, Float[np.ndarray, "_"]]]:
    """Turn one dictionary a seed into one array a score."""
    return {
        twin: {name: np.array([one[name] for one in each]) for name in each[0]}
        for twin, each in values.items()
    }


def check_twin(perturbed: Perturbed, seeds: int) -> None:
    """Raise before training if the twin is damaged or cannot be scored."""
    if seeds < 1:
        raise ValueError(f"seeds must be at least 1, got {seeds}")
    factors = perturbed.load().factors  # refuses what is damaged
    if len(factors) < 2:
        raise ValueError(
            f"scores need at least 2 factors, and {perturbed.original.name} has {len(factors)}"
        )
