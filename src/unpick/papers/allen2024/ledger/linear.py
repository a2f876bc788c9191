"""Probabilistic PCA and the linear VAE in Allen (2024)."""

from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import minimize

from unpick.papers.allen2024.ledger.hessian import posterior_cost, searched_covariance
from unpick.study.ledger.checks import Everywhere
from unpick.study.ledger.entry import Correction, Entry, Evidence, Mutation
from unpick.study.ledger.instances import Kind, decoder, orthonormal, rotation
from unpick.theory.columns import plane_turn

Array = np.ndarray
Matrix = Float[Array, "p d"]
Seen = tuple[Matrix, float, Float[Array, "p"]]  # decoder, noise variance, observation
Posterior = tuple[Float[Array, "d"], Float[Array, "d d"]]


def _observed(draw: np.random.Generator, kind: Kind) -> Seen:
    """A decoder, the variance of the noise, and an observation of that model."""
    w = decoder(draw, kind)
    noise = float(10 ** draw.uniform(-2, 1))
    x = w @ draw.normal(size=w.shape[1]) + noise**0.5 * draw.normal(size=len(w))
    return w, noise, x


def _posterior_violation(
    posterior: Callable[[Matrix, float, Array], Posterior], instance: Seen
) -> float:
    """Error of mode and curvature of log p(x, z), by differences, exact for a quadratic."""
    w, noise, x = instance
    mean, covariance = posterior(*instance)
    steps = np.diag(1 / np.sqrt(1 + np.square(w).sum(0) / noise))  # each changes it by about 1

    def log_joint(shift: Float[Array, "d"]) -> float:
        z = mean + shift
        return float(-np.square(x - w @ z).sum() / (2 * noise) - z @ z / 2)

    slope = [log_joint(a) - log_joint(-a) for a in steps]
    bend = [
        [log_joint(a + b) - log_joint(a - b) - log_joint(b - a) + log_joint(-a - b) for b in steps]
        for a in steps
    ]
    # Claimed covariance times measured precision, in units of the steps.
    product = np.linalg.solve(steps, covariance) @ np.linalg.inv(steps) @ np.array(bend) / -4
    return float(max(np.abs(slope).max(), np.abs(product - np.eye(len(mean))).max()))


def _posterior(w: Matrix, noise: float, x: Float[Array, "p"]) -> Posterior:
    m = w.T @ w + noise * np.eye(w.shape[1])
    return np.linalg.solve(m, w.T @ x), noise * np.linalg.inv(m)


def _without_noise(w: Matrix, noise: float, x: Float[Array, "p"]) -> Posterior:
    mean, covariance = _posterior(w, noise, x)
    return mean, covariance / noise


Spectral = Callable[[Float[Array, "d d"], Float[Array, "d"], float], Float[Array, "d d"]]


def _symmetry_check(covariance: Spectral) -> Evidence:
    """Best posteriors by a search; which rotation costs a diagonal one least, on a grid."""
    draw = np.random.default_rng(0)
    noise, off = 0.5, 0.0
    for values in ((2.0, 1.0), (5.0, 0.6), (1.0, 0.9)):
        r, s = rotation(draw, 2), np.array(values)
        w = orthonormal(draw, 3, 2) @ np.diag(np.sqrt(s - noise)) @ r
        found = searched_covariance(-w.T @ w / noise, 1.0)
        off = max(off, float(np.abs(covariance(r, s, noise) - found).max()))
    angles = np.arange(0, 180, 5)
    spread = np.diag(np.sqrt(np.array([2.0, 1.0]) - noise))
    costs = []
    for angle in np.radians(angles):
        w = spread @ plane_turn(2, 0, 1, angle)
        hessian = -w.T @ w / noise
        best = searched_covariance(hessian, 1.0, diagonal=True)
        costs.append(posterior_cost(hessian, best, 1.0))
    least = [int(a) for a in angles[np.array(costs) < min(costs) + 1e-9]]
    text = f"three models: off the searched covariance by {off:.1e}; a diagonal posterior costs "
    text += f"least with R turned by {least} degrees ({min(costs):.4f}, at most {max(costs):.4f})"
    return Evidence(off < 1e-4 and least == [0, 90], text)


def searched_linear_vae(
    covariance: Float[Array, "p p"], latents: int, noise: float, beta: float = 1.0, seed: int = 0
) -> Matrix:
    """Decoder of the best linear VAE, by a search over decoder, encoder and log-variances.

    The loss is exact for data of that covariance: E |x - W z|^2 / (2 noise) + beta KL.
    """
    p, d = len(covariance), latents
    data, identity = torch.from_numpy(covariance), torch.eye(len(covariance)).double()

    def loss(flat: Float[Array, "k"]) -> tuple[float, Float[Array, "k"]]:
        values = torch.from_numpy(flat).requires_grad_()
        w, e = values[: p * d].reshape(p, d), values[p * d : 2 * p * d].reshape(d, p)
        log_variance = values[2 * p * d :]
        missed, spread = identity - w @ e, w.square().sum(0) @ log_variance.exp()
        error = (missed @ data @ missed.T).trace() + spread
        kl = (e @ data @ e.T).trace() + (log_variance.exp() - log_variance - 1).sum()
        total = error / (2 * noise) + beta / 2 * kl
        (gradient,) = torch.autograd.grad(total, values)
        return total.item(), gradient.numpy()

    start = np.random.default_rng(seed).normal(size=2 * p * d + d) * 0.5
    found = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-7})
    return found.x[: p * d].reshape(p, d)


MODELS = ((3.0, 1.0), (2.0, 1.8), (1.5, 1.5))  # singular values of the true decoder
TRUE_NOISE = 0.25


@cache
def _missed(values: tuple[float, ...]) -> float:
    """How far two searches from other starts end from U S, signs and order aside."""
    draw = np.random.default_rng(0)
    u = orthonormal(draw, 3, 2)
    w = u @ np.diag(values) @ rotation(draw, 2)
    data = w @ w.T + TRUE_NOISE * np.eye(3)
    found = [np.abs(u.T @ searched_linear_vae(data, 2, TRUE_NOISE, seed=seed)) for seed in (0, 1)]
    wanted = np.stack([np.zeros(2), values], axis=1)  # one entry in each row
    return float(max(np.abs(np.sort(each, axis=1) - wanted).max() for each in found))


def _identified_check(identified: Callable[[tuple[float, ...]], bool]) -> Evidence:
    """Searches must end at the true U S where the claim says so, and nowhere else."""
    ends = [f"{values[0]:g} and {values[1]:g}: {_missed(values):.0e}" for values in MODELS]
    text = (
        "distance of fitted decoders from $U S$, the larger of two searches, for singular values "
    )
    text += "; ".join(ends)
    return Evidence(all(identified(v) == (_missed(v) < 1e-3) for v in MODELS), text)


POSTERIOR = Entry(
    id="A-E3",
    source="Allen (2024), eq. 3",
    title="Posterior of probabilistic PCA",
    statement="The posterior of $x = W z + \\epsilon$ is Gaussian, with mean $M^{-1} W^\\top x$ "
    "and covariance $\\sigma^2 M^{-1}$ for every $x$.",
    formula=r"p(z|x) = N(M^{-1} W^\top x,\ \sigma^2 M^{-1}), \quad M = W^\top W + \sigma^2 I",
    assumptions="$z \\sim N(0, I)$, noise $N(0, \\sigma^2 I)$, centred data.",
    printed=_posterior,
    check=Everywhere(
        _posterior_violation,
        _observed,
        "models with an observation (slope and bend of the joint density)",
        count=10,
        tolerance=1e-7,
        names=("$W$", "$\\sigma^2$", "$x$"),
    ),
    mutation=Mutation("covariance $M^{-1}$ without $\\sigma^2$", _without_noise),
)
SYMMETRY = Entry(
    id="A-E4",
    source="Allen (2024), eq. 4; Lucas et al. (2019)",
    title="A diagonal posterior fixes the rotation of PPCA",
    statement="With the best decoder $W = U (S - \\sigma^2 I)^{1/2} R$ the best posterior "
    "covariance turns with $R$; it is diagonal only if $R$ is a signed permutation.",
    formula=r"\Sigma = (I + \frac{1}{\sigma^2} W^\top W)^{-1} = R S R^\top",
    assumptions="$S$ holds eigenvalues of the data's covariance, distinct and above $\\sigma^2$.",
    printed=lambda r, s, noise: r @ np.diag(s) @ r.T,
    check=_symmetry_check,
    mutation=Mutation(
        "$R$ and $R^\\top$ swapped", lambda r, s, noise: noise * r @ np.diag(1 / s) @ r.T
    ),
    correction=Correction(
        "The covariance is $\\sigma^2 R^\\top S^{-1} R$. The conclusion stands.",
        r"\Sigma = \sigma^2 R^\top S^{-1} R",
        lambda r, s, noise: noise * r.T @ np.diag(1 / s) @ r,
    ),
    remark="The middle expression is right; the last one has lost an inverse, the factor "
    "$\\sigma^2$ and the order of $R$. A direction of more variance has a sharper posterior.",
)
IDENTIFIED = Entry(
    id="A-C1.1",
    source="Allen (2024), corollary 1.1",
    title="Linear VAE finds the components of PPCA data",
    statement="Fitted to data of the model $x = W z + \\epsilon$ with $W = U S V^\\top$, a linear "
    "VAE has the columns $s_i u_i$ of $U S$, up to signs and order, if the singular values are "
    "distinct. The eigenvalues of the data's covariance are $\\lambda_i = s_i^2 + \\sigma^2$.",
    formula=r"W_{\mathrm{LVAE}} = U (\Lambda - \sigma^2 I)^{1/2} = U S",
    assumptions="Unlimited data, and a VAE with the model's own noise variance.",
    printed=lambda values: len(set(values)) == len(values),
    check=_identified_check,
    mutation=Mutation("for equal singular values too", lambda values: True),
    remark="The paper writes $S$ for $\\Lambda$ too. A VAE whose noise variance $\\tau^2$ exceeds "
    "the model's shrinks the columns to $\\sqrt{\\lambda_i - \\tau^2}$ and loses those with "
    "$\\lambda_i \\leq \\tau^2$; directions of the others stay right. $V$ is not part of what is "
    "identified (A-R3).",
)
ENTRIES = (POSTERIOR, SYMMETRY, IDENTIFIED)
