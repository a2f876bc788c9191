"""Neighbours in data space and in latent space: theorem 2 of Bhowal et al. (2024)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, permutations

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import minimize

from unpick.models.linear import linear_vae
from unpick.theory.claims.bhowal_losses import kl_by_quadrature
from unpick.theory.entry import Correction, Entry, Evidence, Mutation

Array = np.ndarray
BETA = 0.1
T_SHAPE = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
GRID, STEP = np.linspace(-5, 5, 201, retstep=True)  # codes on which densities are summed
ROOT, TINY = np.sqrt(2 * np.pi), 1e-300


@dataclass(frozen=True)
class Neighbours:
    """A reading of theorem 2.

    Attributes:
        each_nearest: Whether posteriors overlap most with that of the nearest neighbour.
        loss: The reconstruction loss from squared distances and overlaps.
        distance: Between two codes, from means and their one variance.
    """

    each_nearest: bool
    loss: Callable[[Float[Array, "n n"], Float[Array, "n n"]], float]
    distance: Callable[[float, float, float], float]


def _densities(p: Float[Array, "8"]) -> Float[Array, "4 k"]:
    """Of four posteriors, from means and log standard deviations."""
    log_sd = p[4:, None]
    return np.asarray(np.exp(-0.5 * ((GRID - p[:4, None]) / np.exp(log_sd)) ** 2 - log_sd) / ROOT)


def _reconstruction(q: Float[Array, "4 k"], x: Float[Array, "4 2"]) -> float:
    """E |x - Dec(z)|^2, summed over the points; the best decoder is the mean of x given z."""
    decoded = x.T @ q / (q.sum(0) + TINY)
    errors = np.square(x[:, :, None] - decoded).sum(1)
    return float((q * errors).sum() * STEP)


def _loss(p: Float[Array, "8"]) -> float:
    kl = 0.5 * (p[:4] ** 2 + np.exp(2 * p[4:]) - 2 * p[4:] - 1).sum()
    return _reconstruction(_densities(p), T_SHAPE) + BETA * float(kl)


@cache
def best_codes() -> Float[Array, "8"]:
    """Means and log standard deviations of the best VAE for the T, from every order of codes."""
    orders = [order for order in permutations((-1.5, -0.5, 0.5, 1.5)) if order[0] < order[-1]]
    starts = [np.append(order, [-1.0] * 4) for order in orders]
    searches = [minimize(_loss, start, options={"gtol": 1e-4}) for start in starts]
    return np.asarray(min(searches, key=lambda found: found.fun).x)


def _overlaps(reading: Neighbours) -> tuple[bool, str]:
    """Part (a), at the best codes and with the points put in all orders."""
    q = _densities(best_codes())
    overlap = (q / (q.sum(0) + TINY)) @ q.T * STEP
    squares = np.square(T_SHAPE[:, None] - T_SHAPE).sum(-1)
    names = [f"({a:.0f}, {b:.0f})" for a, b in T_SHAPE]
    text = f"(a) Best of 12 searches for a VAE of {', '.join(names)} with one latent: "
    if reading.each_nearest:
        partner = (overlap - np.diag(np.diag(overlap))).argmax(1)
        nearest = np.where(np.eye(4), np.inf, squares).min(1)
        for i, k in enumerate(partner):
            if squares[i, k] > nearest[i]:
                text += f"the posterior of {names[i]} overlaps most with that of {names[k]}, at "
                text += f"the distance {squares[i, k] ** 0.5:.2f}; its nearest neighbour has 1"
                return False, text
    error = 0.0
    for order in permutations(range(4)):
        found = _reconstruction(q, T_SHAPE[list(order)])
        error = max(error, abs(reading.loss(squares[np.ix_(order, order)], overlap) / found - 1))
    text += f"reconstruction loss from overlaps {error:.0e} off at most, points in all 24 orders"
    return error < 1e-9, text


def _distances(reading: Neighbours) -> tuple[bool, str]:
    """Part (b), in the best linear VAE of three points."""
    x = torch.tensor([[-1.0], [0.0], [1.0]], dtype=torch.float64)
    kls, distances = [], []
    for share in (0.1, 0.5, 0.9):
        model = linear_vae(x, 1, share * float(x.var(correction=0)))
        codes, variance = model.encode(x).numpy(), model.posterior_covariance[0].numpy()
        kls.append(sum(kl_by_quadrature(code, variance) for code in codes))
        pairs = [reading.distance(*pair, float(variance[0])) for pair in pairwise(codes[:, 0])]
        distances.append(float(np.mean(pairs)))
    falling = bool((np.diff(kls) < 0).all() and (np.diff(distances) < 0).all())
    text = "(b) Best linear VAE of -1, 0, 1, noise 0.1, 0.5, 0.9 of the variance: KL "
    text += ", ".join(f"{kl:.2f}" for kl in kls)
    return falling, f"{text}, distance {', '.join(f'{d:.2f}' for d in distances)}"


def _theorem_check(reading: Neighbours) -> Evidence:
    (overlaps, first), (distances, second) = _overlaps(reading), _distances(reading)
    return Evidence(overlaps and distances, f"{first}. {second}")


NEIGHBOURS = Entry(
    id="B-T2",
    source="Bhowal et al. (2024), theorem 2",
    title="Neighbours in data space are neighbours in latent space",
    statement="(a) In the best VAE, posteriors that overlap belong to nearest neighbours. (b) If "
    "the KL falls, so does the expected squared distance between codes of neighbours.",
    formula=r"L_{KL'} < L_{KL} \Rightarrow Dist(L_{KL'}) < Dist(L_{KL}), \quad"
    r" Dist = E \sum_k \|z_i - z_k\|^2",
    assumptions="Ideal encoder and decoder; the latent space is arranged so that the "
    "reconstruction loss is least at the given KL.",
    printed=Neighbours(
        each_nearest=True,
        loss=lambda squares, overlap: float((squares * overlap).sum() / 2),
        distance=lambda a, b, variance: (a - b) ** 2 + 2 * variance,
    ),
    check=_theorem_check,
    mutation=Mutation(
        "(a) each pair counted twice",
        Neighbours(
            each_nearest=False,
            loss=lambda squares, overlap: float((squares * overlap).sum()),
            distance=lambda a, b, variance: (a - b) ** 2,
        ),
    ),
    correction=Correction(
        "(a) With the best decoder the reconstruction loss is a sum over pairs of their overlap "
        "times their squared distance. The best arrangement makes this sum least, not each "
        "point's share of it. (b) Mean codes of neighbours approach each other as the KL "
        "falls along the optima of a linear VAE; the codes drawn need not.",
        r"L_{rec} = \sum_{i<j} O_{ij} \|x_i - x_j\|^2, \quad"
        r" O_{ij} = \int \frac{q_i(z)\, q_j(z)}{\sum_k q_k(z)} dz",
        Neighbours(
            each_nearest=False,
            loss=lambda squares, overlap: float((squares * overlap).sum() / 2),
            distance=lambda a, b, variance: (a - b) ** 2,
        ),
        changes="claim",
    ),
    remark="(a) The middle of the T is nearest to three points, but on a line it has two "
    "neighbours. (b) A lower KL also means more noise: where all posteriors are the prior, the KL "
    "is 0 and $Dist$ is 2 for each neighbour and latent, more than between sharp codes closer "
    "than $\\sqrt{2}$.",
)
ENTRIES = (NEIGHBOURS,)
