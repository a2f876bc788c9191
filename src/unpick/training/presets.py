"""The training set-ups of the papers, by data set.

Thesis: Zietlow (2022), table 3.1. It gives epochs; batch size and likelihood are not stated:
128, and `gaussian` for point clouds, `bernoulli` for images.

Bhowal: Bhowal et al. (2024), table 3. Printed there are a ReLU on the latents and on the image,
which a Gaussian mean and a Bernoulli logit cannot have, and decoders that end at 16 (faces) and
128 pixels (3D Shapes) instead of 64; here the heads are linear and the decoders mirror the
encoders. Epochs and batch size are not stated: 50 and 128.

Locatello: the convolutional network and training of Locatello et al. (2019), for any images of 64
pixels.

A data set that no paper has a set-up for gets a network that fits its shape (`fit_shape`).
"""

from collections.abc import Callable
from dataclasses import fields, replace
from math import prod
from typing import Any, Literal

from unpick.data import DATASETS, DataConfig, Dataset, OwnData, split
from unpick.data.mpi3d import MPI3D
from unpick.models import MLP, Conv, ModelConfig, OwnNetwork, fitting_network
from unpick.models.networks import ConvLayer
from unpick.names import pick
from unpick.objectives import PCL, BetaVAE, ObjectiveConfig, WeakGAN
from unpick.training.config import Adagrad, Adam, RunConfig

Source = Literal["default", "thesis", "bhowal", "locatello"]

SPRITES, DIGITS = 737_280, 70_000
DOWN: ConvLayer = (32, 4, 2, 1)


def preset(data: str, source: Source = "default") -> RunConfig:
    """How a paper trained a beta-VAE on this data set.

    Args:
        data: Name of the data set, with its default options.
        source: The paper. `default` is the thesis where it has the data set, Locatello for other
            images of 64 pixels, and `fit_shape` for data that are new here (it loads them).

    Example:
        >>> preset("synth-lin").objective
        BetaVAE(beta=0.0001)
    """
    pick(DATASETS, data, "data set")
    if source == "default":
        known = TABLES["thesis"] | WITHOUT_PAPER | dict.fromkeys(IMAGES, locatello)
        return known.get(data, loaded)(data)
    if source == "locatello":
        return locatello(data)
    if data not in TABLES[source]:
        has = ", ".join(TABLES[source])
        raise ValueError(f"{source} has no set-up for {data!r}; it has {has}")
    return TABLES[source][data](data)


def with_objective(config: RunConfig, objective: ObjectiveConfig) -> RunConfig:
    """The same set-up for another objective, with the posterior and the training that it needs.

    PCL and the weak GAN bring their own optimiser and batch size, the weak GAN also its kind of
    layers. A second call does not undo this: start from the set-up of the data for each objective.

    Example:
        >>> with_objective(preset("sprites"), WeakGAN()).optimiser
        Adam(learning_rate=0.001, beta1=0.5, beta2=0.999)
    """
    model = replace(config.model, posterior=objective.posteriors[0])
    own = OWN_TRAINING.get(type(objective), {})
    changed = replace(config, objective=objective, model=model, **own)
    return with_network(changed, model.network)


def same_beta(kind: type[ObjectiveConfig], before: ObjectiveConfig) -> ObjectiveConfig:
    """An objective of that kind with the beta of another one, if both have a beta.

    A set-up's beta belongs to its data. The other hyperparameters are the defaults of the kind.

    Example:
        >>> from unpick.objectives import BetaTCVAE
        >>> same_beta(BetaTCVAE, preset("synth-lin").objective)
        BetaTCVAE(beta=0.0001, alpha=1.0, gamma=1.0, estimator='weighted')
    """
    both = [{field.name for field in fields(each)} for each in (kind, before)]
    return kind(**{name: getattr(before, name) for name in {"beta"} & both[0] & both[1]})


def with_network(config: RunConfig, network: MLP | Conv | OwnNetwork) -> RunConfig:
    """The same set-up with another network, in layers of the kind that the objective needs.

    Example:
        >>> gan = with_objective(preset("sprites"), WeakGAN())
        >>> with_network(gan, Conv()).model.network.activation
        'leaky_relu'
    """
    if isinstance(config.objective, WeakGAN) and not isinstance(network, OwnNetwork):
        network = leaky_layers(network)
    return replace(config, model=replace(config.model, network=network))


def leaky_layers(network: MLP | Conv) -> MLP | Conv:
    """The same widths with leaky ReLUs; the decoder's hidden convolutions are batch-normalised.

    After Shu et al. (2020). Their code differs in three things: the generator's dense layers are
    ReLU; it also normalises dense layers, and after the activation; the encoder is spectrally
    normalised.
    """
    if isinstance(network, Conv):
        return replace(network, activation="leaky_relu", decoder_norm=len(network.decoder))
    return replace(network, encoder_activation="leaky_relu", decoder_activation="leaky_relu")


def steps(epochs: int, observations: int, batch: int = 128) -> int:
    """Optimiser steps in so many epochs over the training part (four fifths)."""
    return epochs * ((observations - 2 * (observations // 10)) // batch)


def fit_shape(data: DataConfig, dataset: Dataset) -> RunConfig:
    """A set-up for data that no paper has trained on.

    The network follows from the shape of an observation. Images in [0, 1] get the cross-entropy,
    everything else the squared error. Ten latents, or as many as there are values. Beta is that of
    Locatello et al. (2019) for images and 1 otherwise: a guess, to be chosen by `--beta`.

    Args:
        data: What the run is named by.
        dataset: What it loads.
    """
    train, size = split(dataset).train, prod(dataset.shape)
    pixels, network = are_pixels(data, dataset), fitting_network(dataset.shape)
    return RunConfig(
        data,
        ModelConfig(min(10, size), "diagonal", "bernoulli" if pixels else "gaussian", network),
        BetaVAE(4.0 if pixels else 1.0),
        Adam(1e-4 if isinstance(network, Conv) else 1e-3),
        steps=20_000,
        batch=min(64, len(train)),
    )


def are_pixels(data: DataConfig, dataset: Dataset) -> bool:
    """Whether the observations are images with values in [0, 1]; by a sample, if not your own."""
    if isinstance(data, OwnData):
        low, high = data.notes()["range"]
    else:
        some = dataset.observe(split(dataset).train[:256])
        low, high = float(some.min()), float(some.max())
    return len(dataset.shape) == 3 and 0 <= low <= high <= 1


def loaded(data: str) -> RunConfig:
    """What fits the data set, which is loaded to see its shape."""
    config = DATASETS[data]()
    return fit_shape(config, config.load())


def locatello(data: str) -> RunConfig:
    """Convolutions, Adam 1e-4, batch 64, 300 000 steps."""
    model = ModelConfig(10, "diagonal", "bernoulli", Conv())
    return RunConfig(DATASETS[data](), model, BetaVAE(4.0), Adam(1e-4), 300_000, 64)


def linear(data: str) -> RunConfig:
    """No hidden layers."""
    model = ModelConfig(2, network=MLP((), "tanh", (), "tanh"))
    return RunConfig(DATASETS[data](), model, BetaVAE(1e-4), Adam(1e-3), steps(600, 50_000))


def curved(data: str) -> RunConfig:
    """60-40-20 both ways, tanh."""
    widths = (60, 40, 20)
    model = ModelConfig(2, network=MLP(widths, "tanh", widths, "tanh"))
    return RunConfig(DATASETS[data](), model, BetaVAE(1e-3), Adam(1e-3), steps(600, 50_000))


def sprites(data: str) -> RunConfig:
    """1200-1200 ReLU, 1200-1200-1200 tanh."""
    network = MLP((1200, 1200), "relu", (1200, 1200, 1200), "tanh")
    model = ModelConfig(5, "diagonal", "bernoulli", network)
    return RunConfig(DATASETS[data](), model, BetaVAE(4.0), Adagrad(1e-2), steps(50, SPRITES))


def digits(data: str, epochs: int = 400) -> RunConfig:
    """400 ReLU, 500-500 tanh."""
    model = ModelConfig(6, "diagonal", "bernoulli", MLP((400,), "relu", (500, 500), "tanh"))
    return RunConfig(DATASETS[data](), model, BetaVAE(1.0), Adagrad(1e-2), steps(epochs, DIGITS))


def celeba(data: str) -> RunConfig:
    """Four convolutions each way, one dense layer before the decoder's."""
    network = Conv(encoder_dense=(), decoder_dense=())
    model = ModelConfig(32, "diagonal", "bernoulli", network)
    return RunConfig(DATASETS[data](), model, BetaVAE(4.0), Adam(1e-4), steps(50, 202_599))


def bhowal_sprites(data: str) -> RunConfig:
    """1200-1200 ReLU both ways."""
    model = ModelConfig(10, "diagonal", "bernoulli", MLP((1200, 1200), "relu", (1200, 1200)))
    return RunConfig(DATASETS[data](), model, BetaVAE(6.0), Adam(1e-3), steps(50, SPRITES))


def bhowal_faces(data: str) -> RunConfig:
    """Five batch-normalised convolutions each way, 512 channels at the narrow end."""
    network = Conv(
        encoder=(DOWN, DOWN, (64, 4, 2, 1), (64, 4, 2, 1), (512, 4, 1, 0)),
        encoder_dense=(),
        decoder_dense=(),
        start_channels=512,
        decoder=((64, 4, 1, 0), (64, 4, 2, 1), (32, 4, 2, 1), DOWN),
        encoder_norm=5,
        decoder_norm=4,
    )
    model = ModelConfig(10, "diagonal", "bernoulli", network)
    return RunConfig(DATASETS[data](), model, BetaVAE(6.0), Adam(1e-3), steps(50, 127_050))


def bhowal_mpi3d(data: str) -> RunConfig:
    """As for 3D Shapes, on the complex objects."""
    return replace(bhowal_shapes(data), data=MPI3D("complex"), steps=steps(50, 460_800))


def bhowal_shapes(data: str) -> RunConfig:
    """Five convolutions each way, the last two of the encoder batch-normalised."""
    network = Conv(
        encoder=(DOWN, DOWN, (64, 4, 2, 1), (64, 4, 2, 1), (256, 4, 1, 0)),
        encoder_dense=(),
        decoder_dense=(),
        start_channels=64,
        decoder=((64, 4, 1, 0), (64, 4, 2, 1), DOWN, DOWN),
        encoder_norm=2,
    )
    model = ModelConfig(10, "diagonal", "bernoulli", network)
    return RunConfig(DATASETS[data](), model, BetaVAE(6.0), Adam(1e-3), steps(50, 480_000))


def planted(data: str) -> RunConfig:
    """A linear VAE with as many latents as planted directions, and the planted noise."""
    config = linear(data)
    return replace(
        config, model=replace(config.model, latents=3), objective=BetaVAE(0.02), steps=20_000
    )


def cloud(data: str) -> RunConfig:
    """A small network with two latents, for pictures."""
    model = ModelConfig(2, network=MLP((100, 100), "tanh", (100, 100), "tanh"))
    return RunConfig(DATASETS[data](), model, BetaVAE(0.55), Adam(1e-3), 20_000)


def numerals(data: str) -> RunConfig:
    """Two dense layers of 128 units; as many latents and the beta of the thesis for MNIST."""
    model = ModelConfig(6, "diagonal", "bernoulli", MLP((128, 128), "relu", (128, 128), "relu"))
    return RunConfig(DATASETS[data](), model, BetaVAE(1.0), Adam(1e-3), 20_000)


# Images of 64 pixels that the thesis has no set-up for: that of Locatello.
IMAGES = ("shapes3d", "shapes3d-file", "heads", "faces", "mpi3d", "smallnorb", "cars3d")

# Other data that no paper has a set-up for.
WITHOUT_PAPER: dict[str, Callable[[str], RunConfig]] = {
    "linear-gaussian": planted,
    "circles": cloud,
    "bent": cloud,
    "numerals": numerals,
}

# Objectives that need another training than the set-ups of the data: the weak GAN that of Shu et
# al. (2020); PCL many pairs at once, as the loss of a few says little (Hyvarinen & Morioka 2017).
OWN_TRAINING: dict[type, dict[str, Any]] = {
    WeakGAN: {"optimiser": Adam(1e-3, 0.5, 0.999), "batch": 64},
    PCL: {"optimiser": Adam(1e-3), "batch": 512},
}

TABLES: dict[Source, dict[str, Callable[[str], RunConfig]]] = {
    "thesis": {
        "synth-lin": linear,
        "synth-nonlin": curved,
        "sprites": sprites,
        "dsprites": sprites,
        "mnist": digits,
        "fmnist": lambda data: digits(data, epochs=500),
        "celeba": celeba,
    },
    "bhowal": {
        "sprites": bhowal_sprites,
        "dsprites": bhowal_sprites,
        "heads": bhowal_faces,
        "faces": bhowal_faces,
        "shapes3d": bhowal_shapes,
        "shapes3d-file": bhowal_shapes,
        "mpi3d": bhowal_mpi3d,
    },
}
