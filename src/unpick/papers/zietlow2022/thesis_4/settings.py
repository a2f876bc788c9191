"""Settings of Zietlow (2022), chapter 4, at three scales.

The thesis gives the primary hyperparameters (table 4.1), epsilon, and how the change is trained
(section 4.3.1): that is `paper`. At `standard` everything is smaller, and chosen such that the
beta-VAE has restarts of both kinds on the original data, entangled and disentangled ones.

Reconstruction is a sum over pixels, so weights go with their number: what a weight is at 64 pixels
a side, a quarter of it is at 32.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from unpick.data.shapes3d import Shapes3D
from unpick.data.sprites import Sprites
from unpick.models import MLP, Conv
from unpick.study.study import Scale

Data = Literal["sprites", "shapes3d"]
Twin = Literal["original", "perturbed", "noisy", "louder", "literal"]
Method = Literal["ae", "beta-vae", "factor-vae", "tc-vae", "slow-vae", "pcl", "weak-gan"]

TWINS: tuple[Twin, ...] = ("original", "perturbed", "noisy")  # of the tables
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
    """The setting of a data set at one scale.

    Attributes:
        data: The original.
        network: Of every method, but for those in `networks`.
        steps: Of every method, but for those in `lengths`.
        learning_rate: Of Adam; PCL and the weak GAN have their own.
        weights: The primary hyperparameters: beta of the beta-VAE, gamma of the FactorVAE, beta of
            TC-VAE and SlowVAE.
        others: What the other weights of TC-VAE and SlowVAE are multiplied with.
        critic: Hidden layers of the FactorVAE's critic, and their width.
        epsilon: The largest change of a pixel.
        seeds: Of every cell, but for the beta-VAE's and those in `counts`.
        restarts: Seeds of the beta-VAE; among those on the original the most and the least
            disentangled are chosen.
        ensemble: How many of each.
        change_steps: On which the change is trained.
        change_rate: Learning rate of the change.
        decoder_rate: Of the decoders it plays against.
        change_batch: Observations a step of that.
        batch: Observations a step of every method; PCL has its own.
        lengths: Steps of methods that need more or fewer.
        counts: Seeds of methods that need more.
        networks: Of methods that need another, as it is.
        gan_width: Of the weak GAN's critic, times the encoder's.
        search: What the primary hyperparameters are multiplied with on the perturbed twin.
        searched: For which methods.
        literal: Whether the change of the tables is trained by the printed objective alone.
        samples: Latents drawn for each observation when the change is trained.
        louder: Largest change of a second noisy twin, which has the variance of the perturbed one;
            0 for none. The beta-VAE alone is trained on it.
        tries_literal: Whether the beta-VAE is also trained on a twin of the printed objective.
        longer: What the steps of the beta-VAE are multiplied with, on the original and on the
            perturbed twin, to see whether it is misled or delayed.
        methods: What is trained.
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
    counts: Mapping[Method, int] = field(default_factory=dict)
    networks: Mapping[Method, MLP | Conv] = field(default_factory=dict)
    gan_width: int = 2
    search: tuple[float, ...] = (0.75, 1.0, 1.5, 2.0)
    searched: tuple[Method, ...] = VARIATIONAL
    literal: bool = False
    samples: int = 5
    others: float = 1.0
    louder: float = 0.0
    tries_literal: bool = False
    longer: tuple[int, ...] = ()
    methods: tuple[Method, ...] = tuple(NAMES)

    def seeds_of(self, method: Method) -> int:
        """Number of seeds of a method."""
        return self.restarts if method == "beta-vae" else self.counts.get(method, self.seeds)


def weights(beta: float, gamma: float, tc: float, slow: float) -> Mapping[Method, float]:
    """The primary hyperparameters by method."""
    return dict(zip(VARIATIONAL, (beta, gamma, tc, slow), strict=True))


SMALL = MLP((256, 256), "relu", (256, 256, 256), "relu")
# The published network without its last layer, for half the pixels a side.
ROOMS = Conv(
    encoder=((32, 4, 2, 1), (32, 4, 2, 1), (64, 4, 2, 1)), decoder=((32, 4, 2, 1), (32, 4, 2, 1))
)
# Of the weak GAN. Its authors normalise batches; without that one seed learnt three times as much.
LEAKY = replace(ROOMS, activation="leaky_relu")
QUARTER = (32 / 64) ** 2  # of the published pixels
SETTINGS: Mapping[Scale, Mapping[Data, Setting]] = {
    "quick": {
        "sprites": Setting(
            data=Sprites(32),
            network=SMALL,
            steps=600,
            learning_rate=1e-3,
            weights=weights(4.0, 35.0, 6.0, 1.0),
            critic=(3, 128),
            epsilon=0.1,
            seeds=2,
            restarts=4,
            ensemble=1,
            change_steps=100,
            change_rate=1e-4,
            decoder_rate=1e-3,
            change_batch=32,
            methods=("ae", "beta-vae"),
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
            epsilon=0.1,
            seeds=2,
            restarts=8,
            ensemble=1,
            change_steps=1500,
            change_rate=1e-4,
            decoder_rate=1e-3,
            change_batch=32,
            lengths=dict.fromkeys(("ae", "factor-vae", "tc-vae", "slow-vae", "pcl"), 3000),
            counts={"pcl": 3},
            search=(0.75, 1.0, 2.0),
            methods=tuple(method for method in NAMES if method != "weak-gan"),  # learns nothing
        ),
        "shapes3d": Setting(
            data=Shapes3D(32),
            network=ROOMS,
            steps=2000,
            learning_rate=1e-3,
            weights=weights(*(QUARTER * weight for weight in (32.0, 7.0, 32.0, 1.0))),
            critic=(3, 128),
            epsilon=0.175,
            seeds=5,
            restarts=10,
            ensemble=4,
            change_steps=800,
            change_rate=5e-4,
            decoder_rate=1e-3,
            change_batch=16,
            batch=32,
            lengths={"pcl": 600, "weak-gan": 6000},
            networks={"weak-gan": LEAKY},
            gan_width=1,
            search=(0.75, 1.0, 2.0),
            searched=("beta-vae",),
            samples=1,
            others=QUARTER,
            louder=0.23,  # 11 % of the data's variance, as the change was found to have
            tries_literal=True,
            longer=(3,),
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
            literal=True,
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
            literal=True,
        ),
    },
}
