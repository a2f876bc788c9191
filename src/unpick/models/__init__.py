"""Autoencoders with a member axis, and linear models with a closed form."""

from unpick.models.autoencoder import Autoencoder, ModelConfig, build
from unpick.models.linear import LinearModel, linear_vae, pca, ppca, ppca_em
from unpick.models.model import Model
from unpick.models.networks import MLP, Conv, fitting_network
from unpick.models.own import NetworkFactory, OwnNetwork
from unpick.models.posterior import Delta, Diagonal, Full, Posterior

__all__ = [
    "MLP",
    "Autoencoder",
    "Conv",
    "Delta",
    "Diagonal",
    "Full",
    "LinearModel",
    "Model",
    "ModelConfig",
    "NetworkFactory",
    "OwnNetwork",
    "Posterior",
    "build",
    "fitting_network",
    "linear_vae",
    "pca",
    "ppca",
    "ppca_em",
]
