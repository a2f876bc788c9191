"""Point clouds: all methods along training, ten seeds as one ensemble in memory.

Members of an ensemble take the steps that they would take alone, but for rounding, at a fraction
of the time. So they are trained here and not as runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from unpick.data import Dataset, split
from unpick.data.synthetic import SynthLin, SynthNonlin
from unpick.geometry import distance_to_orthogonality
from unpick.metrics import disentanglement_score, mutual_information_gap
from unpick.objectives.jacobian import columns
from unpick.papers.across.explicit.methods import ALIGNING, METHODS, Method
from unpick.study.study import Scale
from unpick.training import Adam, RunConfig, Training, preset

MARKS = (30, 100, 200, 300, 500, 700, 1000, 1500, 2000, 3000)  # steps
POINTS = 300  # validation observations at which DtO is read
SCORED = 2000  # test observations for the scores
FACTOR_BINS = 20
JACOBIANS = 32  # observations of a batch of 128 at which the decoder is linearised
SEEDS: Mapping[Scale, int] = {"quick": 2, "standard": 10}


@dataclass(frozen=True)
class Cloud:
    """How a cloud is trained.

    Attributes:
        base: Data, networks, optimiser and length.
        beta: Weight of the KL.
        gamma: Weight of penalties.
    """

    base: RunConfig
    beta: float = 1e-3
    gamma: float = 0.1


def cloud(name: str, data: SynthLin | SynthNonlin, steps: int) -> Cloud:
    """The networks of the thesis, Adam at 3e-3 and fewer steps."""
    return Cloud(replace(preset(name), data=data, optimiser=Adam(3e-3), steps=steps))


DEGENERATE = "synth-lin, ratio 1"
CLOUDS: Mapping[str, Cloud] = {
    "synth-lin": cloud("synth-lin", SynthLin(), 3000),
    DEGENERATE: cloud("synth-lin", SynthLin(ratio=1.0), 3000),
    "synth-nonlin": cloud("synth-nonlin", SynthNonlin(data_seed=7), 2000),
}


def compute_course(name: str, scale: Scale) -> dict[str, Any]:
    """By method: DtO of every seed at some `steps`, then `DS`, `MIG` and `error` at the end.

    `error` is the root mean square error of mean reconstructions of test observations, as a share
    of the data's deviation. Nothing at scale `paper`: no paper did this.
    """
    if scale == "paper":
        return {}
    chosen = CLOUDS[name]
    if scale == "quick":
        chosen = replace(chosen, base=replace(chosen.base, steps=100))
    dataset = chosen.base.data.load()
    labels = ("AE", "beta-VAE", *ALIGNING) if name == DEGENERATE else METHODS
    return {label: train_method(METHODS[label], chosen, dataset, SEEDS[scale]) for label in labels}


def train_method(method: Method, chosen: Cloud, dataset: Dataset, seeds: int) -> dict[str, Any]:
    """One method on one cloud."""
    config = method.config(chosen.base, chosen.beta, chosen.gamma, JACOBIANS)
    training = Training([replace(config, seed=seed) for seed in range(seeds)], dataset)
    marks = [n for n in MARKS if n < config.steps] + [config.steps]
    course = []
    for steps in marks:
        if not training.all_stopped:
            training.advance(steps)
        course.append(alignment(training))
    return {"steps": marks, "DtO": course, **final_scores(training)}


@torch.no_grad()
def alignment(training: Training) -> list[float]:
    """DtO of every member; nan for one that diverged."""
    x = training.validation[:POINTS].expand(len(training.configs), -1, -1)
    jacobians = columns(training.model.decode_mean, training.model.encode(x).mean)
    return [
        float("nan") if k in training.stopped else distance_to_orthogonality(each).mean
        for k, each in enumerate(jacobians)
    ]


@torch.no_grad()
def final_scores(training: Training) -> dict[str, list[float]]:
    """`DS`, `MIG` and `error` of every member; nan for one that diverged."""
    test = split(training.dataset).test[:SCORED]
    x, factors = training.dataset.observe(test), training.dataset.factor_values(test).numpy()
    codes = training.model.encode(x.expand(len(training.configs), -1, -1)).mean
    errors = (training.model.decode_mean(codes) - x).square().mean((1, 2)) / x.var(0).mean()
    scores: dict[str, list[float]] = {"DS": [], "MIG": [], "error": errors.sqrt().tolist()}
    for k, each in enumerate(codes.double().numpy()):
        known = k not in training.stopped
        mig = partial(mutual_information_gap, factor_bins=FACTOR_BINS)
        for name, score in (("DS", disentanglement_score), ("MIG", mig)):
            scores[name].append(score(each, factors).score if known else float("nan"))
    return scores


COMPUTED = {name: partial(compute_course, name) for name in CLOUDS}
