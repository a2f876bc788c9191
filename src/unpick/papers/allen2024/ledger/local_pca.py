"""The covariance of posteriors as in probabilistic PCA, point by point (Allen 2024, eq. 8)."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from unpick.study.ledger.checks import Order
from unpick.study.ledger.entry import Entry, Evidence, Mutation
from unpick.theory.quadrature import gaussian_grid

Array = np.ndarray
Matrix = Float[Array, "p d"]
Square = Float[Array, "d d"]
Decode = Callable[[Float[Array, "n 2"]], Float[Array, "n p"]]
Covariance = Callable[[Matrix, float], Square]  # of a Jacobian and the likelihood's variance
WEIGHTS = np.array([[1.2, -0.5], [0.4, 0.9], [-0.7, 0.6]])
CODE = np.array([0.4, -0.3])
SCALES = (0.3, 0.1, 0.03, 0.01)  # deviations of the likelihood


def linear(z: Float[Array, "n 2"]) -> Float[Array, "n 3"]:
    """Probabilistic PCA."""
    return z @ WEIGHTS.T


def bent(z: Float[Array, "n 2"]) -> Float[Array, "n 3"]:
    """A decoder whose Jacobian differs from point to point."""
    return np.tanh(z @ WEIGHTS.T)


def _jacobian(decode: Decode, at: Float[Array, "2"], step: float = 1e-5) -> Matrix:
    steps = step * np.eye(2)
    return (decode(at + steps) - decode(at - steps)).T / (2 * step)


def posterior_of(decode: Decode, noise: float) -> tuple[Float[Array, "2"], Square]:
    """Mean and covariance of p(z|x) at the observation decode(CODE), by quadrature."""
    jacobian = _jacobian(decode, CODE)
    width = np.linalg.cholesky(noise * np.linalg.inv(jacobian.T @ jacobian))  # of the grid
    nodes, weights = gaussian_grid(2, 40)
    z = CODE + nodes @ width.T
    log_joint = -np.square(decode(z) - decode(CODE[None])).sum(1) / (2 * noise)
    log_joint -= np.square(z).sum(1) / 2
    share = weights * np.exp(log_joint - log_joint.max() + np.square(nodes).sum(1) / 2)
    share /= share.sum()
    mean = share @ z
    return mean, (share[:, None] * (z - mean)).T @ (z - mean)


def _error(decode: Decode, covariance: Covariance, scale: float) -> float:
    mean, exact = posterior_of(decode, scale**2)
    said = covariance(_jacobian(decode, mean), scale**2)
    return float(np.linalg.norm(said - exact) / np.linalg.norm(exact))


def _local_check(covariance: Covariance) -> Evidence:
    """Equal for a linear decoder; to second order for a bent one; growing with the noise."""
    flat = max(_error(linear, covariance, scale) for scale in SCALES)
    found = Order(
        partial(_error, bent),
        2.0,
        "error of the covariance of $p(z|x)$ of a tanh decoder, as a share of it",
        SCALES,
    )(covariance)
    exact = [posterior_of(bent, scale**2)[1] for scale in SCALES]
    grows = min(np.linalg.eigvalsh(a - b).min() for a, b in pairwise(exact))
    text = f"posteriors by quadrature: covariance of a linear decoder's off by {flat:.0e}; "
    text += f"{found.text}; with more noise it grows in every direction"
    return replace(found, holds=found.holds and flat < 1e-9 and bool(grows > 0), text=text)


LOCAL_PCA: Entry[Covariance] = Entry(
    id="A-E8",
    source="Allen (2024), section 3.1, eq. 8",
    title="Posteriors of a VAE are locally those of PPCA",
    statement="At each observation the best posterior covariance of a Gaussian VAE is that of "
    "probabilistic PCA with the decoder's Jacobian there in the place of $W$. More noise in $x$ "
    "given $z$ goes with more noise in $z$ given $x$.",
    formula=r"\Sigma_x = (I + \frac{1}{\sigma^2} D_{e(x)}^\top D_{e(x)})^{-1}",
    assumptions="$\\beta = 1$; the observation is what is decoded, so that the residual's term of "
    "eq. 6 is zero; noise small against the decoder's bends. Linear decoders need neither.",
    printed=lambda d, noise: np.linalg.inv(np.eye(d.shape[1]) + d.T @ d / noise),
    check=_local_check,
    mutation=Mutation(
        "without the prior, $\\sigma^2 (D^\\top D)^{-1}$",
        lambda d, noise: noise * np.linalg.inv(d.T @ d),
    ),
    approximation=True,
    remark="The approximation is of second order in $\\sigma$. The two objectives above eq. 8 "
    "agree for a linear decoder but for the entropy of the posterior, as the paper's footnote "
    "says. That both variances go together is shown for a given decoder; a VAE trained with more "
    "noise has another one.",
)
ENTRIES = (LOCAL_PCA,)
