"""Linear networks: the optimum of the linear VAE is known, so nothing is trained."""

import torch

from unpick.estimator.rows import HeldOut
from unpick.models import MLP, Autoencoder, Model
from unpick.models.linear import linear_vaes
from unpick.models.networks import Dense
from unpick.objectives import BetaVAE
from unpick.training import Training


def is_linear(model: Model) -> bool:
    """Whether encoder and decoder have no hidden layer."""
    network = model.config.network
    return isinstance(network, MLP) and not network.encoder and not network.decoder


def betas_of(training: Training) -> list[float]:
    """The beta of each member."""
    return [c.objective.beta for c in training.configs if isinstance(c.objective, BetaVAE)]


@torch.no_grad()
def solve_linear(training: Training, parts: HeldOut) -> None:
    """Set the weights of each member to the optimum of a linear VAE at its beta.

    The decoder is W of Lucas et al. (2019). The encoder's mean is PPCA's, its variance the same
    for every row: sigma^2 / (w_j^2 + sigma^2), w_j the length of a column of W.
    """
    rows = parts.dataset.observe(parts.training_rows)
    model, d, betas = training.model, training.config.model.latents, betas_of(training)
    assert isinstance(model, Autoencoder)
    assert isinstance(model.encoder, Dense)
    assert isinstance(model.decoder, Dense)
    (into, shift), (out, centre) = (
        network.weights_and_biases[0] for network in (model.encoder, model.decoder)
    )
    optima = linear_vaes(rows, [d] * len(betas), [beta / 2 for beta in betas])
    for k, best in enumerate(optima):
        lengths = best.weights.square().sum(0) + best.noise_variance
        map_ = best.weights / lengths
        into[k].copy_(torch.cat([map_, torch.zeros_like(map_)], 1))
        shift[k, 0].copy_(torch.cat([-best.mean @ map_, (best.noise_variance / lengths).log()]))
        out[k].copy_(best.weights.T)
        centre[k, 0].copy_(best.mean)
