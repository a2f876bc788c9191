"""A short recipe of a twin, a tiny data set, and a contest of untrained models on it."""

import torch

from unpick.data import ArrayStore, Dataset, Factor
from unpick.data.shapes3d import Shapes3D
from unpick.models import MLP, Autoencoder, ModelConfig
from unpick.objectives import BetaVAE
from unpick.perturb import PerturbConfig
from unpick.perturb.contest import Contest
from unpick.training import Adam, RunConfig

MODEL = ModelConfig(2, "diagonal", "gaussian", MLP((16,), "tanh", (16,), "tanh"))
BASE = RunConfig(Shapes3D(8), MODEL, BetaVAE(0.1), Adam(1e-3), steps=30, batch=32)
CONFIG = PerturbConfig(BASE, 0.1, restarts=3, steps=12, batch=16, samples=2, levels=16)


def grid(shape=(1, 4, 4)):
    """Twelve random images on a grid of a class and a number."""
    factors = (
        Factor("kind", (0.0, 1.0, 2.0), categorical=True),
        Factor("x", (0.0, 1.0, 2.0, 5.0)),
    )
    return Dataset("tiny", ArrayStore(torch.rand(12, *shape, generator=seeded())), factors)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def contest(config=CONFIG, dataset=None):
    dataset = dataset or grid()
    return Contest(config, dataset, Autoencoder(config.base.model, dataset.shape, [0, 1]))


def weights(module):
    return {name: tensor.clone() for name, tensor in module.state_dict().items()}
