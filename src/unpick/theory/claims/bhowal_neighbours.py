"""Which points are cheapest to confuse: Bhowal et al. (2024), proposition 6 and lemma 13."""

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from jaxtyping import Float

from unpick.theory.checks import Everywhere
from unpick.theory.entry import Correction, Entry, Mutation
from unpick.theory.instances import Kind

Array = np.ndarray


def _points(draw: np.random.Generator, kind: Kind) -> Float[Array, "n p"]:
    """Three to six; `close`: two of them at almost the same distance from the first."""
    x = draw.normal(size=(int(draw.integers(3, 7)), int(draw.integers(1, 4))))
    if kind == "scaled":
        return x * 10 ** draw.uniform(-3, 3, x.shape[1])
    if kind == "close":
        x[2] = x[0] - (1 + 1e-6) * (x[1] - x[0])
    return x


def _order_violation(share: float, x: Float[Array, "n p"]) -> float:
    """Reconstructions are off by a share of the gap between distances, each the worst way.

    The nearest point moves away from the first, the others move towards it.
    """
    away = x[1:] - x[0]
    distances = np.linalg.norm(away, axis=1)
    nearest, gap = distances.argmin(), float(np.diff(np.sort(distances))[0])
    steps = np.where(np.arange(len(away)) == nearest, 1.0, -1.0) * share * gap / distances
    found = np.linalg.norm(away * (1 + steps[:, None]), axis=1)
    return float(found[nearest] - np.delete(found, nearest).min()) / gap


NEAREST_ELEMENT = Entry(
    id="B-P6",
    source="Bhowal et al. (2024), proposition 6 (eq. 61)",
    title="Nearest point has the nearest reconstruction",
    statement="If every point is reconstructed perfectly, the nearest neighbour of a point is "
    "also the one whose reconstruction is nearest to it.",
    formula=r"\|x_k - x_i\| < \|x_j - x_i\| \Rightarrow"
    r" \|\tilde{x}_k - x_i\| < \|\tilde{x}_j - x_i\|",
    assumptions="Ideal encoder and decoder: $\\tilde{x} = x$. One neighbour is nearest.",
    printed=0.0,
    check=Everywhere(
        _order_violation,
        _points,
        "sets of 3 to 6 points, reconstructions off by a share of the gap in distance",
        ("plain", "scaled", "close"),
    ),
    mutation=Mutation("each reconstruction off by 3/4 of the gap in distance", 0.75),
    remark="Reconstructions may be off by anything less than half the gap between the two "
    "smallest distances; the readings say by which share of it.",
)


@dataclass(frozen=True)
class Choice:
    """A reading of the optimisation problem.

    Attributes:
        first: Lower end of the sum over l; the upper one is k.
        distinct: Whether the chosen elements must differ from each other.
    """

    first: int
    distinct: bool


def _choice_instance(draw: np.random.Generator, kind: Kind) -> tuple[Float[Array, "n p"], int]:
    """Points and k; `equal`: 0, 1, 3 on a line."""
    x = np.array([[0.0], [1.0], [3.0]]) if kind == "equal" else _points(draw, kind)[:5]
    return x, int(draw.integers(1, len(x)))


def _choice_violation(reading: Choice, instance: tuple[Float[Array, "n p"], int]) -> float:
    """Share of the k nearest that brute force does not choose, or chooses beside them."""
    x, k = instance
    squares = np.square(x[1:] - x[0]).sum(1)
    terms, others = k - reading.first + 1, range(len(squares))
    picks = combinations(others, terms) if reading.distinct else product(others, repeat=terms)
    best = min(picks, key=lambda pick: squares[list(pick)].sum(), default=())
    return len(set(best) ^ set(np.argsort(squares)[:k].tolist())) / k


NEAREST_ELEMENTS = Entry(
    id="B-L13",
    source="Bhowal et al. (2024), lemma 13 (eq. 60)",
    title="The k cheapest confusions are with the k nearest",
    statement="Of all elements of the data that could be taken for $x_i$, those that make the sum "
    "of squared errors least are its nearest ones, $k_i$ of them, as theorem 2 uses it.",
    formula=r"\min_{x_l \in X,\, x_l \neq x_i} \sum_i \sum_{l=0}^{k_i} \|\tilde{x}_l - x_i\|^2",
    assumptions="Ideal encoder and decoder: $\\tilde{x} = x$; $k_i < |X|$.",
    printed=Choice(first=0, distinct=False),
    check=Everywhere(
        _choice_violation,
        _choice_instance,
        "sets of 3 to 5 points, all choices compared",
        ("plain", "scaled", "close", "equal"),
        count=10,
    ),
    mutation=Mutation("distinct, but the sum still from 0", Choice(first=0, distinct=True)),
    correction=Correction(
        "The elements must be distinct, and the sum must have $k_i$ terms, $l = 1$ to $k_i$.",
        r"\min_{x_1 \neq \ldots \neq x_{k_i}} \sum_i \sum_{l=1}^{k_i} \|\tilde{x}_l - x_i\|^2",
        Choice(first=1, distinct=True),
    ),
    remark="As printed, the nearest element is best for every $l$: for 0 among 0, 1, 3 it is "
    "three times 1, and 3 is never chosen. The lemma allows for repetitions "
    "($k^{(i)} \\leq k_i$); with nothing against them there is always just one element.",
)
ENTRIES = (NEAREST_ELEMENT, NEAREST_ELEMENTS)
