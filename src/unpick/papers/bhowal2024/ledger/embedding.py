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
from unpick.study.ledger.entry import Correction, Entry, Evidence, Mutation
from unpick.theory.quadrature import kl_by_quadrature

Array = np.ndarray
BETA = 0.1
T_SHAPE = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
LINE, SPACING = np.linspace(-5, 5, 201, retstep=True)  # codes on which densities are summed
ROOT, TINY = np.sqrt(2 * np.pi), 1e-300
SHARES = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class Closeness:
    """A reading of theorem 2.

    Attributes:
        loss: Reconstruction loss, from squared distances and overlaps.
        partners: Sorted distances of each point to the one whose posterior overlaps most with its
            own; from squared distances of the points and overlaps of posteriors. It is not told
            which posterior belongs to which point.
        distance: Between two codes, claimed to fall with the KL; from means and one variance.
    """

    loss: Callable[[Float[Array, "n n"], Float[Array, "n n"]], float]
    partners: Callable[[Float[Array, "n n"], Float[Array, "n n"]], Float[Array, "n"]]
    distance: Callable[[float, float, float], float]


def _densities(p: Float[Array, "8"]) -> Float[Array, "4 k"]:
    """Densities of four posteriors, from means and log standard deviations."""
    log_sd = p[4:, None]
    return np.asarray(np.exp(-0.5 * ((LINE - p[:4, None]) / np.exp(log_sd)) ** 2 - log_sd) / ROOT)


def _reconstruction(q: Float[Array, "4 k"]) -> float:
    """E |x - Dec(z)|^2, summed over the points; the best decoder is the mean of x given z."""
    decoded = T_SHAPE.T @ q / (q.sum(0) + TINY)
    errors = np.square(T_SHAPE[:, :, None] - decoded).sum(1)
    return float((q * errors).sum() * SPACING)


def _loss(p: Float[Array, "8"]) -> float:
    kl = 0.5 * (p[:4] ** 2 + np.exp(2 * p[4:]) - 2 * p[4:] - 1).sum()
    return _reconstruction(_densities(p)) + BETA * float(kl)


@cache
def best_codes() -> Float[Array, "8"]:
    """Means and log standard deviations of the best VAE for the T; a search from every order."""
    orders = [order for order in permutations((-1.5, -0.5, 0.5, 1.5)) if order[0] < order[-1]]
    starts = [np.append(order, [-1.0] * 4) for order in orders]
    searches = [minimize(_loss, start, options={"gtol": 1e-4}) for start in starts]
    return np.asarray(min(searches, key=lambda found: found.fun).x)


def _partners(squares: Float[Array, "n n"], overlap: Float[Array, "n n"]) -> Float[Array, "n"]:
    """Sorted distances to the point whose posterior overlaps most."""
    most = (overlap - np.diag(np.diag(overlap))).argmax(1)
    return np.sort(np.sqrt(squares[np.arange(len(most)), most]))


def _pair_loss(squares: Float[Array, "n n"], overlap: Float[Array, "n n"]) -> float:
    """Overlap times squared distance, summed over pairs."""
    return float((squares * overlap).sum() / 2)


def _partners_at_least_loss(
    squares: Float[Array, "n n"], overlap: Float[Array, "n n"]
) -> Float[Array, "n"]:
    """The same for the assignment of points to posteriors with the least sum over pairs."""
    orders = [np.ix_(order, order) for order in permutations(range(len(squares)))]
    best = min(orders, key=lambda order: _pair_loss(squares[order], overlap))
    return _partners(squares[best], overlap)


def _listed(numbers: Array | list[float]) -> str:
    return ", ".join(f"{number:.2f}" for number in numbers)


def _overlaps(reading: Closeness) -> tuple[bool, str]:
    """Part (a), at the best codes."""
    codes = best_codes()
    q, along = _densities(codes), np.argsort(codes[:4])
    overlap = (q / (q.sum(0) + TINY)) @ q.T * SPACING
    squares = np.square(T_SHAPE[:, None] - T_SHAPE).sum(-1)
    found, loss = _partners(squares, overlap), _reconstruction(q)
    claimed = reading.partners(squares, overlap[np.ix_(along, along)])
    claimed_loss = reading.loss(squares, overlap)
    text = (
        "(a) Best VAE of (0, 0), (1, 0), (-1, 0), (0, 1) with one latent and $\\beta = 0.1$, of "
        "12 searches: distances to the point whose posterior overlaps most "
        f"{_listed(found)}, said {_listed(claimed)}; reconstruction loss {loss:.3f}, said "
        f"{claimed_loss:.3f}"
    )
    return bool(np.allclose(found, claimed) and abs(claimed_loss / loss - 1) < 1e-9), text


def _distances(reading: Closeness) -> tuple[bool, str]:
    """Part (b), in the best linear VAE of three points."""
    x = torch.tensor([[-1.0], [0.0], [1.0]], dtype=torch.float64)
    kls, distances = [], []
    for share in SHARES:
        model = linear_vae(x, 1, share * float(x.var(correction=0)))
        codes, variance = model.encode(x).numpy(), model.posterior_covariance[0].numpy()
        kls.append(sum(kl_by_quadrature(code, variance) for code in codes))
        pairs = [reading.distance(*pair, float(variance[0])) for pair in pairwise(codes[:, 0])]
        distances.append(float(np.mean(pairs)))
    falling = bool((np.diff(kls) < 0).all() and (np.diff(distances) < 0).all())
    text = "(b) Best linear VAE of -1, 0, 1 if the decoder's noise has 0.1, 0.5, 0.9 of their "
    text += f"variance: KL {_listed(kls)}, squared distance of codes {_listed(distances)}"
    return falling, text


def _theorem_check(reading: Closeness) -> Evidence:
    (overlaps, first), (distances, second) = _overlaps(reading), _distances(reading)
    return Evidence(overlaps and distances, f"{first}. {second}")


def _nearest(squares: Float[Array, "n n"], overlap: Float[Array, "n n"]) -> Float[Array, "n"]:
    return np.sort(np.sqrt(np.where(np.eye(len(squares)), np.inf, squares).min(1)))


EMBEDDING = Entry(
    id="B-T2",
    source="Bhowal et al. (2024), theorem 2",
    title="Neighbours in data space are neighbours in latent space",
    statement="(a) In the best VAE, posteriors that overlap belong to nearest neighbours. All "
    "Gaussians overlap; we read: the one that overlaps most belongs to the nearest neighbour. "
    "(b) If the KL falls, so does the expected squared distance between codes of neighbours.",
    formula=r"L_{KL'} < L_{KL} \Rightarrow Dist(L_{KL'}) < Dist(L_{KL}), \quad"
    r" Dist = E \sum_k \|z_i - z_k\|^2",
    assumptions="Ideal encoder and decoder; the latent space is arranged so that the "
    "reconstruction loss is least at the given KL.",
    printed=Closeness(
        _pair_loss, _nearest, distance=lambda a, b, variance: (a - b) ** 2 + 2 * variance
    ),
    check=_theorem_check,
    mutation=Mutation(
        "(a) put right, (b) left as printed: codes drawn come closer, not only their means",
        Closeness(
            _pair_loss,
            _partners_at_least_loss,
            distance=lambda a, b, variance: (a - b) ** 2 + 2 * variance,
        ),
    ),
    correction=Correction(
        "(a) With the best decoder the reconstruction loss is a sum over pairs of their overlap "
        "times their squared distance. The best arrangement makes this sum least, not each "
        "point's share of it. (b) Mean codes of neighbours approach each other as the KL "
        "falls along the optima of a linear VAE; the codes drawn need not.",
        r"L_{rec} = \sum_{i<j} O_{ij} \|x_i - x_j\|^2, \quad"
        r" O_{ij} = \int \frac{q_i(z)\, q_j(z)}{\sum_k q_k(z)} dz",
        Closeness(
            _pair_loss, _partners_at_least_loss, distance=lambda a, b, variance: (a - b) ** 2
        ),
        changes="claim",
        charitable="As a statement about mean codes, and about the loss summed over pairs, it "
        "holds.",
    ),
    remark="(a) The middle of the T is nearest to three points, but on a line it has two "
    "neighbours. (b) A lower KL also means more noise: where all posteriors are the prior, the KL "
    "is 0 and $Dist$ is 2 for each neighbour and latent, more than between sharp codes closer "
    "than $\\sqrt{2}$.",
)
ENTRIES = (EMBEDDING,)
