"""Linear networks: probabilistic PCA in closed form, so nothing is trained."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from unpick.estimator.rows import HeldOut
from unpick.estimator.selection import standard_error
from unpick.models import MLP, Autoencoder
from unpick.models.linear import linear_vaes, spectrum
from unpick.models.networks import Dense
from unpick.objectives import BetaVAE
from unpick.training import Training

FLOOR = 1e-9  # of a noise variance, as a share of the mean variance
FULL = 1e-4  # noise beside a component for every column, as a share of the smallest variance


@dataclass(frozen=True, eq=False)
class LinearPath:
    """Probabilistic PCA of the rows to train on, with 0, 1, 2, ... components.

    Attributes:
        noise: Noise variance with k components.
        evidence: Log-density of each held-out row with k components, in nats.
        explained: Share of the variance that posterior means of k components explain.
    """

    noise: Float[np.ndarray, "k"]
    evidence: Float[np.ndarray, "n k"]
    explained: Float[np.ndarray, "k"]

    @property
    def enough(self) -> int:
        """The fewest components within one standard error of the best, over rows and in pairs.

        0 if noise alone is as good.
        """
        behind = self.evidence[:, [self.best]] - self.evidence[:, : self.best + 1]
        errors = [standard_error(each) for each in behind.T]
        return int(np.flatnonzero(behind.mean(0) <= errors)[0])

    @property
    def best(self) -> int:
        """The number of components with the most evidence, so that one direction is left."""
        return int(self.evidence[:, : max(2, len(self.noise) - 1)].mean(0).argmax())

    def reaching(self, share: float) -> int:
        """The fewest components that explain a share of the variance, or all."""
        return int(np.flatnonzero(np.append(self.explained >= share, True))[0])

    def at(self, components: int) -> int:
        """The place of a number of components; of all if there are fewer rows."""
        return min(components, len(self.noise) - 1)


def linear_path(parts: HeldOut) -> LinearPath:
    r"""Probabilistic PCA with every number of components (Tipping & Bishop 1999).

    With eigenvalues \lambda_j of the covariance, y_j the coordinates of a centred row x:

    .. math:: \log p_k(x) = -\frac12 \Big( p \log 2\pi + \sum_{j \le k} \log \lambda_j
              + (p - k) \log \sigma_k^2 + \sum_{j \le k} \frac{y_j^2}{\lambda_j}
              + \frac{|x|^2 - \sum_{j \le k} y_j^2}{\sigma_k^2} \Big)

    and \sigma_k^2 the mean of the other eigenvalues.
    """
    rows = parts.dataset.observe(parts.training_rows)
    p, known = rows.shape[1], min(rows.shape)
    mean, spread, vectors = spectrum(rows, known)
    values, held = spread.clamp(min=FLOOR).numpy(), parts.held.double() - mean
    squares = ((held @ vectors[:, :known]) ** 2).numpy()
    noise = noise_variances(values)[: known + 1]

    def sums(each: Float[np.ndarray, "*n k"]) -> Float[np.ndarray, "*n l"]:
        """Over the first 0, 1, 2, ..."""
        return np.insert(np.cumsum(each, -1), 0, 0.0, axis=-1)

    whole = held.square().sum(1, keepdim=True).numpy()
    rest = np.maximum(whole - sums(squares), 0.0)
    volume = sums(np.log(values[:known])) + (p - np.arange(known + 1)) * np.log(noise)
    fit = sums(squares / values[:known]) + rest / noise
    lost = noise**2 * sums(1 / values[:known])
    return LinearPath(
        noise,
        -0.5 * (p * math.log(2 * math.pi) + volume + fit),
        (sums(values[:known]) - lost) / values.sum(),
    )


def noise_variances(values: Float[np.ndarray, "p"]) -> Float[np.ndarray, "k"]:
    """The mean of all but the first 0, 1, 2, ... eigenvalues of a covariance.

    With a component for every column nothing is left, and noise is next to nothing.

    Example:
        >>> noise_variances(np.array([4.0, 2.0, 1.0]))[:3].tolist()
        [2.3333333333333335, 1.5, 1.0]
    """
    left = np.cumsum(values[::-1])[::-1] / np.arange(len(values), 0, -1)
    return np.maximum(np.append(left, FULL * values[-1]), FLOOR)


def is_linear(network: object) -> bool:
    """Whether encoder and decoder have no hidden layer."""
    return isinstance(network, MLP) and not network.encoder and not network.decoder


def betas_of(training: Training) -> list[float]:
    """The beta of each member."""
    return [c.objective.beta for c in training.configs if isinstance(c.objective, BetaVAE)]


@torch.no_grad()
def solve_linear(training: Training, rows: Float[Tensor, "n p"]) -> None:
    """Set the weights of each member to the optimum of a linear VAE at its beta.

    The decoder is W of Lucas et al. (2019). The encoder's mean is PPCA's, its variance the same
    for every row: sigma^2 / (w_j^2 + sigma^2), w_j the length of a column of W.
    """
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
