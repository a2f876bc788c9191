"""The settings of Zietlow (2022), chapter 4, at three scales: data sets, their twins, methods.

What the thesis does not say is chosen here and noted: it gives the primary hyperparameters (table
4.1), epsilon, and how the change is trained (section 4.3.1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from unpick.data import Noisy
from unpick.data.shapes3d import Shapes3D
from unpick.data.sprites import Sprites
from unpick.models import MLP, Conv, ModelConfig
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
from unpick.perturb import PerturbConfig
from unpick.studies.study import Scale, departures
from unpick.training import Adam, RunConfig
from unpick.training.presets import with_objective

Data = Literal["sprites", "shapes3d"]
Twin = Literal["original", "modified", "noise"]
Method = Literal["ae", "beta-vae", "factor-vae", "tc-vae", "slow-vae", "pcl", "weak-gan"]

TWINS: tuple[Twin, ...] = ("original", "modified", "noise")
NAMES: dict[Method, str] = {
    "ae": "AE",
    "beta-vae": "beta-VAE",
    "factor-vae": "FactorVAE",
    "tc-vae": "TC-VAE",
    "slow-vae": "SlowVAE",
    "pcl": "PCL",
    "weak-gan": "weak GAN",
}
VARIATIONAL: tuple[Method, ...] = ("beta-vae", "factor-vae", "tc-vae", "slow-vae")
OTHERS: tuple[Method, ...] = ("pcl", "weak-gan")  # disentangle without a variational bound
FACTORS: Mapping[Data, int] = {"sprites": 5, "shapes3d": 6}  # and latents


@dataclass(frozen=True)
class Setting:
    """What is chosen for a data set at one scale.

    Attributes:
        data: The original.
        network: Of every method.
        steps: Of every method, but for those in `lengths`.
        learning_rate: Of Adam; PCL and the weak GAN have their own.
        weights: The primary hyperparameters: beta of the beta-VAE, gamma of the FactorVAE, beta of
            TC-VAE and SlowVAE.
        critic: Hidden layers of the FactorVAE's critic, and their width.
        epsilon: The largest change of a pixel.
        seeds: Of every cell, but for the beta-VAE's.
        restarts: Seeds of the beta-VAE; among those on the original the most and the least
            disentangled are chosen.
        ensemble: How many of each.
        change_steps: On which the change is trained.
        change_rate: Learning rate of the change.
        decoder_rate: Of the decoders it plays against.
        change_batch: Observations a step of that.
        batch: Observations a step of every method; PCL has its own.
        lengths: Steps of methods that need more or fewer.
        gan_width: Of the weak GAN's critic, times the encoder's.
        search: What the primary hyperparameters are multiplied with on the modified twin.
    """

    data: Sprites | Shapes3D
    network: MLP | Conv
    steps: int
    learning_rate: float
    weights: Mapping[Method, float]
    critic: tuple[int, int]
    epsilon: float
    seeds: int
    restarts: int
    ensemble: int
    change_steps: int
    change_rate: float
    decoder_rate: float
    change_batch: int = 64
    batch: int = 64
    lengths: Mapping[Method, int] = field(default_factory=dict)
    gan_width: int = 2
    search: tuple[float, ...] = (0.75, 1.0, 1.5, 2.0)


def weights(beta: float, gamma: float, tc: float, slow: float) -> Mapping[Method, float]:
    """The primary hyperparameters by method."""
    return dict(zip(VARIATIONAL, (beta, gamma, tc, slow), strict=True))


SMALL = MLP((256, 256), "relu", (256, 256, 256), "relu")
SETTINGS: Mapping[Scale, Mapping[Data, Setting]] = {
    "quick": {
        "sprites": Setting(
            data=Sprites(32),
            network=SMALL,
            steps=600,
            learning_rate=1e-3,
            weights=weights(4.0, 35.0, 6.0, 1.0),
            critic=(3, 128),
            epsilon=0.05,
            seeds=2,
            restarts=4,
            ensemble=1,
            change_steps=100,
            change_rate=1e-4,
            decoder_rate=1e-3,
            change_batch=32,
        ),
    },
    "standard": {
        "sprites": Setting(
            data=Sprites(32),
            network=SMALL,
            steps=5000,
            learning_rate=1e-3,
            weights=weights(4.0, 35.0, 6.0, 1.0),
            critic=(3, 128),
            epsilon=0.05,
            seeds=3,
            restarts=8,
            ensemble=1,
            change_steps=1500,
            change_rate=1e-4,
            decoder_rate=1e-3,
            change_batch=32,
            lengths={"pcl": 3000, "weak-gan": 8000},
            gan_width=1,
            search=(0.75, 1.0, 2.0),
        ),
        "shapes3d": Setting(
            data=Shapes3D(16),
            network=SMALL,
            steps=4000,
            learning_rate=1e-3,
            weights=weights(16.0, 7.0, 32.0, 1.0),
            critic=(3, 128),
            epsilon=0.175,
            seeds=3,
            restarts=6,
            ensemble=2,
            change_steps=1000,
            change_rate=1e-4,
            decoder_rate=1e-3,
            change_batch=32,
            lengths={"pcl": 3000, "weak-gan": 8000},
            gan_width=1,
            search=(1.0,),
        ),
    },
    "paper": {
        "sprites": Setting(
            data=Sprites(64),
            network=Conv(),
            steps=300_000,
            learning_rate=1e-4,
            weights=weights(8.0, 35.0, 6.0, 1.0),
            critic=(6, 1000),
            epsilon=0.1,
            seeds=10,
            restarts=10,
            ensemble=1,
            change_steps=20_000,
            change_rate=1e-4,
            decoder_rate=1e-4,
        ),
        "shapes3d": Setting(
            data=Shapes3D(64),
            network=Conv(),
            steps=300_000,
            learning_rate=1e-4,
            weights=weights(32.0, 7.0, 32.0, 1.0),
            critic=(6, 1000),
            epsilon=0.175,
            seeds=10,
            restarts=10,
            ensemble=4,
            change_steps=20_000,
            change_rate=1e-4,
            decoder_rate=1e-4,
        ),
    },
}
METHODS: Mapping[Scale, Sequence[Method]] = {
    "quick": ("ae", "beta-vae"),
    "standard": tuple(NAMES),
    "paper": tuple(NAMES),
}
STANDS: Mapping[Data, str] = {
    "sprites": "rendered sprites stand for dSprites",
    "shapes3d": "rendered rooms stand for 3D Shapes",
}
OPEN: Mapping[Method, str] = {
    "slow-vae": "SlowVAE: gamma 10 and sparsity 6, the loss as in the paper",
    "pcl": "PCL: pairs as for SlowVAE, score and learning rate are ours",
    "weak-gan": "weak GAN: the network of the other methods",
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
    base = replace(base, steps=chosen.lengths.get(method, base.steps))
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
