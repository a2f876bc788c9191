"""How the methods of Zietlow (2022), chapter 4, are trained on a data set and its twins."""

from collections.abc import Mapping
from dataclasses import replace

from unpick.data import Noisy
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
from unpick.papers.zietlow2022.thesis_4.settings import (
    FACTORS,
    SETTINGS,
    Data,
    Method,
    Setting,
    Twin,
)
from unpick.perturb import PerturbConfig
from unpick.study.study import Scale, departures
from unpick.training import Adam, RunConfig
from unpick.training.presets import with_objective

STANDS: Mapping[Data, str] = {
    "sprites": "rendered sprites stand for dSprites",
    "shapes3d": "rendered rooms stand for 3D Shapes",
}
OPEN: Mapping[Method, str] = {
    "slow-vae": "SlowVAE: gamma 10 and sparsity 6, the loss as in the paper",
    "pcl": "PCL: pairs as for SlowVAE, score and learning rate are ours",
    "weak-gan": "weak GAN: widths of the other methods, leaky layers",
}


def config(data: Data, method: Method, twin: Twin, scale: Scale, times: float = 1.0) -> RunConfig:
    """How a method is trained on a twin.

    Args:
        data: Of which data set.
        method: One of the seven of table 4.2.
        twin: The original, the modified or the noisy one.
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
        case "modified":
            return replace(base, data=change(data, scale).data())
        case "noise":
            return replace(base, data=Noisy(chosen.data, chosen.epsilon))


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
            return BetaTCVAE(weight)
        case "slow-vae":
            return SlowVAE(weight)
        case "pcl":
            return PCL()
        case "weak-gan":
            return WeakGAN(chosen.gan_width)


def change(data: Data, scale: Scale) -> PerturbConfig:
    """How the modified twin is made: from restarts of the beta-VAE on the original."""
    chosen = SETTINGS[scale][data]
    return PerturbConfig(
        base=config(data, "beta-vae", "original", scale),
        epsilon=chosen.epsilon,
        restarts=chosen.restarts,
        ensemble=chosen.ensemble,
        steps=chosen.change_steps,
        batch=chosen.change_batch,
        samples=5,
        decoder_batches=3,
        learning_rate=chosen.change_rate,
        decoder_rate=chosen.decoder_rate,
    )


def note(data: Data, method: Method, twin: Twin, scale: Scale) -> str:
    """What stands for what, and what was chosen because the thesis does not say it."""
    notes = [STANDS[data], OPEN.get(method, "")]
    if twin == "modified":
        own, paper = change(data, scale), change(data, "paper")
        notes.append(
            f"open choices of the change: {own.restarts} restarts to choose from, "
            f"{own.steps} steps, factors to one neuron through layers of "
            f"{' and '.join(map(str, own.compress))}"
        )
        own = replace(own, base=paper.base, steps=paper.steps, restarts=paper.restarts)
        told = departures(own, paper)
        notes.append(f"the change has {told}" if told else "")
    return "; ".join(text for text in notes if text)
