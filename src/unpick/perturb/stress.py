"""How much score a method loses when local variance no longer follows the factors.

The method is trained on a data set, on its perturbed twin and on two noisy ones. On the perturbed
twin the directions of large local variance are no longer those of the factors (Zietlow 2022,
chapter 4). The noisy twins are controls: `noisy` has the same largest change, `matched` the same
variance of the change. What counts is the loss on the perturbed twin beyond that on a control.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from unpick.data import DataConfig, Dataset, Noisy, Perturbed, split
from unpick.data.files import report_damage
from unpick.data.twins import DOCUMENT, ChangedStore, read_document
from unpick.perturb.lost_share import TWINS, Stress, Twin
from unpick.perturb.own_trainings import Fit, encode_with, train_or_read
from unpick.probe import FACTOR_SCORES, NotFinite, Probe, take
from unpick.probe.cache import SAMPLES, encoder_of
from unpick.runs import Runner, make
from unpick.training import RunConfig
from unpick.training.config import from_json, to_json

LOOKED_AT = 1000  # test images on which the size of a change is taken
PROJECTIONS = 5  # random ones, whose scores are chance


def twin_configs(perturbed: Perturbed) -> dict[Twin, DataConfig]:
    """The original of a perturbed twin, the two noisy controls, and it."""
    original, epsilon = perturbed.original, read_document(perturbed.folder)["epsilon"]
    return {
        "original": original,
        "noisy": Noisy(original, epsilon),
        "matched": Noisy(original, matched_epsilon(perturbed)),
        "perturbed": perturbed,
    }


def matched_epsilon(perturbed: Perturbed) -> float:
    r"""Largest value of uniform noise that has the variance of a perturbed twin's change.

    \epsilon^2 / 3 is the variance of uniform noise in [-\epsilon, \epsilon]. To four digits, so
    that every machine trains on the same noise.
    """
    store = perturbed.load().store
    assert isinstance(store, ChangedStore)
    count = torch.bincount(store.row, minlength=len(store.rows)).double()
    variance = (count * store.rows.double().square().mean(1)).sum() / count.sum()
    return min(1.0, float(f"{float((3 * variance).sqrt()):.4g}"))


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
        config: What is trained. Its data set is replaced by each of the twins; its seed is the
            first.
        perturbed: The twin, which also names its original.
        runner: How it is trained; finished runs in its folder are read.
        seeds: Trainings on each of the data sets.
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

    def encode(twin: Twin, dataset: Dataset, seed: int, x: Tensor) -> Tensor | None:
        run = runs[twin, seed]
        if run.results["stopped"] is not None:
            return None
        try:
            return Probe(encoder_of(run.model()), None, x).mean
        except NotFinite:
            return None

    return score_twins(encode, perturbed, seeds)


def stress_model(
    fit: Fit,
    perturbed: Perturbed,
    *,
    seeds: int = 3,
    root: Path | None = None,
    on_progress: Callable[[str], object] = lambda text: None,
) -> Stress:
    """Train a user's model on a data set and its twins, and score it on each.

    Args:
        fit: Takes a data set and a seed, trains, and returns `encode`: observations to latent
            means, or any of the posteriors that `unpick.diagnose` reads. It should learn from
            `split(dataset).train` only; scores are taken on the test part.
        perturbed: The twin.
        seeds: Trainings on each of the data sets.
        root: A folder of run folders, to keep finished trainings in and to read them from. They
            are named by the content of the file that defines `fit`; None keeps nothing.
        on_progress: Called before each training with the twin and the seed.
    """
    check_twin(perturbed, seeds)
    data = twin_configs(perturbed)

    def encode(twin: Twin, dataset: Dataset, seed: int, x: Tensor) -> Tensor | None:
        tell = partial(on_progress, f"{twin}, seed {seed}")
        if root is None:
            tell()
            return encode_with(fit, dataset, seed, x)
        return train_or_read(fit, data[twin], dataset, seed, x, root, tell)

    return score_twins(encode, perturbed, seeds)


def score_twins(
    encode: Callable[[Twin, Dataset, int, Tensor], Tensor | None],
    perturbed: Perturbed,
    seeds: int,
) -> Stress:
    """Score the codes of every twin and seed on test images; leave out those that diverged.

    Args:
        encode: Gives the codes (n, d) of test images by a model that was trained on a twin with a
            seed; None if the training diverged.
        perturbed: The twin.
        seeds: Trainings on each of the data sets.
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
            codes = encode(twin, dataset, seed, x)
            if codes is not None:
                latents = codes.shape[1]
                values[twin].append(score(codes, factors))
        if not values[twin]:
            raise ValueError(f"every training on {dataset.name} diverged")
    looked_at = original.observe(test[:LOOKED_AT])
    change = {
        twin: float((dataset.observe(test[:LOOKED_AT]) - looked_at).square().mean().sqrt())
        for twin, dataset in datasets.items()
    }
    by_seed = {twin: stack_scores(each) for twin, each in values.items()}
    return Stress(by_seed, chance_scores(original, test, latents), change, seeds)


def score(codes: Float[Tensor, "n d"], factors: Float[np.ndarray, "n k"]) -> dict[str, float]:
    """The scores of codes against factors."""
    return take(Probe(lambda z: z, None, codes, factors), FACTOR_SCORES)


def chance_scores(
    dataset: Dataset, test: Int[Tensor, "n"], latents: int
) -> dict[str, Float[np.ndarray, "_"]]:
    """Scores of random linear projections: what a method gets without learning."""
    x = dataset.observe(test).flatten(1)
    shape, generator = (PROJECTIONS, x.shape[1], latents), torch.Generator().manual_seed(0)
    factors = dataset.factor_values(test).numpy()
    drawn = torch.randn(shape, generator=generator)
    return stack_scores([score(x @ weights, factors) for weights in drawn])


def stack_scores(
    scores: Sequence[Mapping[str, float]],
) -> dict[str, Float[np.ndarray, "_"]]:
    """Turn one dictionary a model into one array a score."""
    return {name: np.array([one[name] for one in scores]) for name in scores[0]}


def check_twin(perturbed: Perturbed, seeds: int) -> None:
    """Raise before training if the twin is damaged or cannot be scored."""
    if seeds < 1:
        raise ValueError(f"seeds must be at least 1, got {seeds}")
    factors = perturbed.load().factors  # refuses what is damaged
    if len(factors) < 2:
        raise ValueError(
            f"scores need at least 2 factors, and {perturbed.original.name} has {len(factors)}"
        )
