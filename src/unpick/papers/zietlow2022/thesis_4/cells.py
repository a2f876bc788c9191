"""What is trained for chapter 4 of Zietlow (2022): the cells, and how each method is trained."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from jaxtyping import Bool

from unpick.data import DataDamaged, DataMissing, Noisy
from unpick.data.twins import read_document
from unpick.models import ModelConfig
from unpick.objectives import (
    AE,
    PCL,
    BetaTCVAE,
    BetaVAE,
    FactorVAE,
    ObjectiveConfig,
    SlowVAE,
    WeakGAN,
)
from unpick.papers.zietlow2022.published import published
from unpick.papers.zietlow2022.thesis_4.settings import (
    FACTORS,
    NAMES,
    SETTINGS,
    TWINS,
    VARIATIONAL,
    Data,
    Method,
    Setting,
    Twin,
)
from unpick.perturb import PerturbConfig
from unpick.study.study import Cell, Outcome, Results, Scale, departures
from unpick.training import Adam, RunConfig
from unpick.training.presets import with_objective

MEASURES = ("MIG", "DCI", "FactorVAE", "SAP")
PRINTED = {"sprites": "dsprites"}  # our look-alike stands for it
Place = tuple[Data, Method]
PLACES: tuple[Place, ...] = tuple(product(FACTORS, VARIATIONAL))  # where MIG is to be lost
STANDS: Mapping[Data, str] = {
    "sprites": "rendered sprites stand for dSprites",
    "shapes3d": "rendered rooms stand for 3D Shapes",
}
ADDITIONS = (
    "not in the thesis: the neuron is batch-normalised, and the change is not pulled by what all "
    "images share"
)
OPEN: Mapping[Method, str] = {
    "factor-vae": "FactorVAE: its KL has weight 1 at any number of pixels",
    "slow-vae": "SlowVAE: gamma 10 at 64 pixels and sparsity 6, the loss as in the paper",
    "pcl": "PCL: pairs as for SlowVAE, score and learning rate are ours",
    "weak-gan": "weak GAN: widths of the other methods, leaky layers",
}


@cache
def cells(scale: Scale) -> Sequence[Cell]:
    """Every entry of tables 4.2 to 4.5, what the beta-VAE alone is tried on, the line search."""
    entries = []
    for data, chosen in SETTINGS[scale].items():
        tried: list[Twin] = ["louder"] if chosen.louder else []
        tried += ["literal"] if chosen.tries_literal else []
        entries += [
            Cell(
                f"{data}, {twin}",
                NAMES[method],
                config(data, method, twin, scale),
                chosen.seeds_of(method),
                published("thesis-4", f"{PRINTED.get(data, data)}, {twin}", method),
                note(data, method, twin, scale),
            )
            for twin, method in product(TWINS, chosen.methods)
        ]
        entries += [
            Cell(
                f"{data}, {twin}",
                NAMES["beta-vae"],
                (own := config(data, "beta-vae", twin, scale)),
                chosen.seeds,
                note=beyond_tables(data, twin, scale, own),
            )
            for twin in tried
        ]
        entries += [
            Cell(
                f"{data}, longer",
                f"{twin} x {times}",
                (own := lengthen(config(data, "beta-vae", twin, scale), times)),
                chosen.seeds,
                note=beyond_tables(data, twin, scale, own),
            )
            for times, twin in product(chosen.longer, TWINS[:2])
        ]
        entries += [
            Cell(
                f"{data}, line search",
                f"{NAMES[method]} x {times:g}",
                config(data, method, "perturbed", scale, times),
                chosen.seeds,
                note=note(data, method, "perturbed", scale),
            )
            for method, times in product(chosen.searched, chosen.search)
            if method in chosen.methods and times != 1
        ]
    return entries


def beyond_tables(data: Data, twin: Twin, scale: Scale, own: RunConfig) -> str:
    """How an entry that is in no table departs from the nearest one that is, and its note."""
    nearest: Mapping[Twin, Twin] = {"louder": "noisy", "literal": "perturbed"}
    told = departures(own, config(data, "beta-vae", nearest.get(twin, twin), "paper"))
    return "; ".join(text for text in (told, note(data, "beta-vae", twin, scale)) if text)


def lengthen(config: RunConfig, times: int) -> RunConfig:
    """The same with so many times the steps."""
    return replace(config, steps=times * config.steps)


def twins(scale: Scale) -> Sequence[PerturbConfig]:
    """The perturbed twin of each data set, and the literal ones that are tried."""
    tables = [change(data, scale) for data in SETTINGS[scale]]
    tried = [data for data, chosen in SETTINGS[scale].items() if chosen.tries_literal]
    return [*tables, *(replace(change(data, scale), literal=True) for data in tried)]


def find_outcome(results: Results, data: Data, twin: Twin, method: Method) -> Outcome | None:
    """The outcome of a method on a twin; None if it was not run."""
    return results.rows().get(f"{data}, {twin}", {}).get(NAMES[method])


def find_longer(results: Results, data: Data, twin: Twin, times: int) -> Outcome | None:
    """The outcome of the beta-VAE after so many times the steps; None if it was not run."""
    return results.rows().get(f"{data}, longer", {}).get(f"{twin} x {times}")


def find_search(results: Results, data: Data, method: Method) -> dict[float, Outcome]:
    """Outcomes on the perturbed twin, by the multiple of the hyperparameter."""
    columns = results.rows().get(f"{data}, line search", {})
    times = multiples(results.scale, data, method)
    search = {each: columns.get(f"{NAMES[method]} x {each:g}") for each in times}
    if times:
        search[1.0] = find_outcome(results, data, "perturbed", method)
    return {each: outcome for each, outcome in search.items() if outcome is not None}


def multiples(scale: Scale, data: Data, method: Method) -> tuple[float, ...]:
    """Multiples of a hyperparameter, 1 among them; empty where there is no search."""
    chosen = SETTINGS[scale].get(data)
    if chosen is None or method not in chosen.searched or len(chosen.search) < 2:
        return ()
    return chosen.search


def latents_needed(before: Outcome, data: Data) -> float:
    """The least number of active latents of a run that is not over-pruned.

    This is the number of factors (Zietlow 2022, section 4.3.4). If the median run of the method on
    the original has fewer active latents, it is that median.
    """
    return min(float(FACTORS[data]), float(np.median(before.values["active"])))


def not_over_pruned(outcome: Outcome, least: float) -> Bool[np.ndarray, "s"]:
    """Which runs are not over-pruned."""
    return outcome.values["active"] >= least


def config(data: Data, method: Method, twin: Twin, scale: Scale, times: float = 1.0) -> RunConfig:
    """How a method is trained on a twin.

    Args:
        data: Of which data set.
        method: One of the seven of table 4.2.
        twin: The original, the perturbed or the noisy one; `louder` is noise of the variance of
            the perturbed one, `literal` is perturbed by the printed objective alone.
        scale: `paper` is as published.
        times: Scales the primary hyperparameter of a variational method.
    """
    chosen = SETTINGS[scale][data]
    model = ModelConfig(FACTORS[data], "diagonal", "bernoulli", chosen.network)
    adam = Adam(chosen.learning_rate)
    base = RunConfig(chosen.data, model, BetaVAE(), adam, chosen.steps, chosen.batch)
    base = with_objective(base, objective(chosen, method, times))
    network = chosen.networks.get(method, base.model.network)
    model, steps = replace(base.model, network=network), chosen.lengths.get(method, base.steps)
    base = replace(base, model=model, steps=steps)
    match twin:
        case "original":
            return base
        case "perturbed":
            return replace(base, data=change(data, scale).data())
        case "literal":
            return replace(base, data=replace(change(data, scale), literal=True).data())
        case "noisy":
            return replace(base, data=Noisy(chosen.data, chosen.epsilon))
        case "louder":
            return replace(base, data=Noisy(chosen.data, chosen.louder))


def objective(chosen: Setting, method: Method, times: float) -> ObjectiveConfig:
    """What a method minimises."""
    weight = times * chosen.weights.get(method, 1.0)
    layers, width = chosen.critic
    match method:
        case "ae":
            return AE()
        case "beta-vae":
            return BetaVAE(weight)
        case "factor-vae":
            return FactorVAE(weight, layers, width)
        case "tc-vae":
            plain = BetaTCVAE(weight)
            alpha, gamma = chosen.others * plain.alpha, chosen.others * plain.gamma
            return replace(plain, alpha=alpha, gamma=gamma)
        case "slow-vae":
            slow = SlowVAE(weight)
            return replace(slow, gamma=chosen.others * slow.gamma)
        case "pcl":
            return PCL()
        case "weak-gan":
            return WeakGAN(chosen.gan_width)


def change(data: Data, scale: Scale) -> PerturbConfig:
    """How the perturbed twin is made: from restarts of the beta-VAE on the original."""
    chosen = SETTINGS[scale][data]
    return PerturbConfig(
        base=config(data, "beta-vae", "original", scale),
        epsilon=chosen.epsilon,
        restarts=chosen.restarts,
        ensemble=chosen.ensemble,
        steps=chosen.change_steps,
        batch=chosen.change_batch,
        samples=chosen.samples,
        decoder_batches=3,
        learning_rate=chosen.change_rate,
        decoder_rate=chosen.decoder_rate,
        literal=chosen.literal,
    )


def read_twin_report(data: Data, scale: Scale, *, literal: bool = False) -> dict[str, Any]:
    """The report on how a perturbed twin was made; empty if the twin is missing."""
    recipe = change(data, scale)
    recipe = replace(recipe, literal=True) if literal else recipe
    try:
        return read_document(recipe.data().folder).get("report", {})
    except (DataMissing, DataDamaged):
        return {}


def note(data: Data, method: Method, twin: Twin, scale: Scale) -> str:
    """Substitutes for published data, choices that the thesis leaves open, and our additions."""
    notes = [STANDS[data], OPEN.get(method, "")]
    if twin == "louder":
        notes.append("noise of the variance of the change")
    if twin in ("perturbed", "literal"):
        own, paper = change(data, scale), change(data, "paper")
        literal = own.literal or twin == "literal"
        notes.append(
            f"open choices of the change: {own.restarts} restarts to choose from, "
            f"{own.steps} steps, factors to one neuron through layers of "
            f"{' and '.join(map(str, own.compress))}"
        )
        if not literal:
            notes.append(ADDITIONS)
        own = replace(own, base=paper.base, steps=paper.steps, restarts=paper.restarts)
        own = replace(own, literal=paper.literal)  # told above
        told = departures(own, paper)
        notes.append(f"the change has {told}" if told else "")
    return "; ".join(text for text in notes if text)
