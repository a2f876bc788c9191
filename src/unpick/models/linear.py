"""Linear models with a known optimum: PCA, probabilistic PCA, the linear VAE.

Notation: covariance eigenvalues lambda_1 >= lambda_2 >= ... with eigenvectors U; noise variance
sigma^2. In the units of `gaussian` distortion a beta-VAE has sigma^2 = beta / 2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, eq=False)
class LinearModel:
    """x = W z + mean + noise, with z and the noise Gaussian.

    Attributes:
        mean: Of the data.
        weights: W, one column a latent.
        noise_variance: sigma^2; zero for PCA.
    """

    mean: Float[Tensor, "p"]
    weights: Float[Tensor, "p d"]
    noise_variance: float

    @property
    def posterior_covariance(self) -> Float[Tensor, "d d"]:
        r"""Var[z|x] = (I + W^T W / \sigma^2)^{-1}, the same for every x (Allen 2024, eq. 3)."""
        d = self.weights.shape[1]
        if self.noise_variance == 0:
            return self.weights.new_zeros(d, d)
        identity = torch.eye(d, dtype=self.weights.dtype)
        return torch.linalg.inv(identity + self.weights.T @ self.weights / self.noise_variance)

    def encode(self, x: Float[Tensor, "n p"]) -> Float[Tensor, "n d"]:
        r"""E[z|x] = (W^T W + \sigma^2 I)^{-1} W^T (x - mean)."""
        identity = torch.eye(self.weights.shape[1], dtype=self.weights.dtype)
        gram = self.weights.T @ self.weights + self.noise_variance * identity
        solution = torch.linalg.lstsq(gram, self.weights.T @ (x.to(gram) - self.mean).T).solution
        return solution.T

    def decode(self, z: Float[Tensor, "n d"]) -> Float[Tensor, "n p"]:
        """W z + mean."""
        return z.to(self.weights) @ self.weights.T + self.mean

    def log_likelihood(self, x: Float[Tensor, "n p"]) -> float:
        """Mean log-density of the data under N(mean, W W^T + sigma^2 I), in nats."""
        p = x.shape[1]
        noise = self.noise_variance * torch.eye(p, dtype=self.weights.dtype)
        density = torch.distributions.MultivariateNormal(
            self.mean, self.weights @ self.weights.T + noise
        )
        return float(density.log_prob(x.to(self.weights)).mean())


def pca(x: Float[Tensor, "n p"], latents: int) -> LinearModel:
    """Principal components, unit columns, largest variance first."""
    mean, _, vectors = spectrum(x, latents)
    return LinearModel(mean, vectors[:, :latents], 0.0)


def from_axes(model: LinearModel, x: Float[Tensor, "n p"], axes: slice) -> Float[Tensor, "n p"]:
    r"""Reconstruct from some principal axes: mean + sum_j v_j v_j^T (x - mean).

    On the data that the axes were fitted to, the squared error is the sum of the eigenvalues of
    the axes left out, so errors of disjoint sets of axes add up.

    Args:
        model: From `pca`: its columns v_j are orthonormal.
        x: Observations.
        axes: Which, the one of largest variance first.

    Example:
        >>> x = torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
        >>> torch.allclose(from_axes(pca(x, 3), x, slice(None)).float(), x, atol=1e-5)
        True
    """
    if model.noise_variance != 0:
        raise ValueError(f"model must come from pca, got noise {model.noise_variance:g}")
    chosen = model.weights[:, axes]
    return model.mean + (x.to(chosen) - model.mean) @ chosen @ chosen.T


def ppca(x: Float[Tensor, "n p"], latents: int) -> LinearModel:
    r"""Maximum likelihood probabilistic PCA (Tipping & Bishop 1999; Allen 2024, after eq. 3).

    .. math:: W = U (\Lambda - \sigma^2 I)^{1/2} R, \qquad
              \sigma^2 = \frac{1}{p - d} \sum_{j > d} \lambda_j

    The rotation R is free; here R = I.
    """
    mean, values, vectors = spectrum(x, latents)
    if latents >= x.shape[1]:
        raise ValueError(f"latents must be below the {x.shape[1]} columns of x, got {latents}")
    noise = float(values[latents:].mean())
    if not noise > 1e-12 * float(values[0]):
        raise ValueError(f"x varies in at most {latents} directions: there is no noise to fit")
    return LinearModel(mean, vectors[:, :latents] * (values[:latents] - noise).sqrt(), noise)


def ppca_em(
    x: Float[Tensor, "n p"], latents: int, steps: int = 5000, seed: int = 0
) -> LinearModel:
    r"""PPCA by expectation maximisation (Tipping & Bishop 1999).

    .. math:: W \leftarrow C W (\sigma^2 I + M^{-1} W^\top C W)^{-1}, \qquad
              \sigma^2 \leftarrow \tfrac1p tr(C - C W_{old} M^{-1} W^\top)

    C is the covariance of the data and M = W^T W + sigma^2 I.

    Reaches the likelihood of `ppca`, with columns of W turned by an arbitrary rotation; the less
    noise, the more slowly.
    """
    _check_latents(x, latents)
    x = x.double()
    cov, p = torch.cov(x.T, correction=0).reshape(x.shape[1], -1), x.shape[1]
    weights = torch.randn(p, latents, generator=torch.Generator().manual_seed(seed)).to(cov)
    noise, identity = torch.tensor(1.0).to(cov), torch.eye(latents).to(cov)
    for _ in range(steps):
        inverse = torch.linalg.inv(weights.T @ weights + noise * identity)
        image = cov @ weights
        updated = image @ torch.linalg.inv(noise * identity + inverse @ weights.T @ image)
        noise = torch.trace(cov - image @ inverse @ updated.T) / p
        weights = updated
    return LinearModel(x.mean(0), weights, float(noise))


def linear_vae(x: Float[Tensor, "n p"], latents: int, noise_variance: float) -> LinearModel:
    r"""The optimum of a linear VAE with diagonal posterior and given noise (Lucas et al. 2019).

    .. math:: W = U (\Lambda - \sigma^2 I)_+^{1/2}

    The diagonal posterior fixes the rotation that PPCA leaves open, up to signs and order
    (Allen 2024, eq. 4). Latents with lambda_j <= sigma^2 are passive: their column is zero.
    """
    return linear_vaes(x, [latents], [noise_variance])[0]


def linear_vaes(
    x: Float[Tensor, "n p"], latents: Sequence[int], noise_variances: Sequence[float]
) -> list[LinearModel]:
    """`linear_vae` for several numbers of latents, each with its noise, by one decomposition."""
    mean, values, vectors = spectrum(x, max(latents))
    found = []
    for d, noise in zip(latents, noise_variances, strict=True):
        if not noise > 0:
            raise ValueError(f"noise_variance must be positive, got {noise}")
        lengths = (values[:d] - noise).clamp(min=0).sqrt()
        found.append(LinearModel(mean, vectors[:, :d] * lengths, noise))
    return found


def spectrum(
    x: Float[Tensor, "n p"], latents: int
) -> tuple[Float[Tensor, "p"], Float[Tensor, "p"], Float[Tensor, "p k"]]:
    """Mean, eigenvalues (largest first) and first eigenvectors of the covariance, in doubles."""
    _check_latents(x, latents)
    x, (n, p) = x.double(), x.shape
    mean = x.mean(0)
    if n < p:
        _, singular, rows = torch.linalg.svd(x - mean, full_matrices=latents > n)
        return mean, torch.cat([singular**2 / n, singular.new_zeros(p - n)]), rows.T
    values, vectors = torch.linalg.eigh(torch.cov(x.T, correction=0).reshape(p, -1))
    return mean, values.flip(0), vectors.flip(1)


def _check_latents(x: Float[Tensor, "n p"], latents: int) -> None:
    if not 1 <= latents <= x.shape[1]:
        raise ValueError(f"latents must lie in 1..{x.shape[1]}, got {latents}")
