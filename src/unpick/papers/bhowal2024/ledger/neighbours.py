"""The points that are cheapest to confuse: Bhowal et al. (2024), proposition 6, lemma 13."""

from collections.abc import Callable
from itertools import product

import numpy as np
from jaxtyping import Float

from unpick.study.ledger.checks import Everywhere
from unpick.study.ledger.entry import Entry, Mutation
from unpick.study.ledger.instances import Kind

Array = np.ndarray


def _points(draw: np.random.Generator, kind: Kind) -> Float[Array, "n p"]:
    """Three to six points; `close`: two of them almost equally far from the first."""
    x = draw.normal(size=(int(draw.integers(3, 7)), int(draw.integers(1, 4))))
    if kind == "scaled":
        return x * 10 ** draw.uniform(-3, 3, x.shape[1])
    if kind == "close":
        x[2] = x[0] - (1 + 1e-6) * (x[1] - x[0])
    return x


def order_violation(share: float, x: Float[Array, "n p"]) -> float:
    """Error in the order if reconstructions are off by a share of the gap, in 21 directions.

    The first is the worst one: the nearest point moves away from x_1 and the others towards it.
    The others are drawn.
    """
    away = x[1:] - x[0]
    distances = np.linalg.norm(away, axis=1)
    nearest, gap = int(distances.argmin()), float(np.diff(np.sort(distances))[0])
    steps = np.random.default_rng(0).normal(size=(21, *away.shape))
    steps[0] = -away
    steps[0, nearest] = away[nearest]
    steps *= share * gap / np.linalg.norm(steps, axis=2, keepdims=True)
    found = np.linalg.norm(away + steps, axis=2)
    return float((found[:, nearest] - np.delete(found, nearest, 1).min(1)).max()) / gap


NEAREST_ELEMENT = Entry(
    id="B-P6",
    source="Bhowal et al. (2024), proposition 6 (eq. 61)",
    title="Nearest point has the nearest reconstruction",
    statement="If every point is reconstructed perfectly, the nearest neighbour of a point is "
    "also the one whose reconstruction is nearest to it. We ask for more: that this holds with "
    "reconstructions off by 0.499 of the gap between the two smallest distances.",
    formula=r"\|x_k - x_i\| < \|x_j - x_i\| \Rightarrow"
    r" \|\tilde{x}_k - x_i\| < \|\tilde{x}_j - x_i\|",
    assumptions="Ideal encoder and decoder: $\\tilde{x} = x$. One neighbour is nearest.",
    printed=0.499,
    check=Everywhere(
        order_violation,
        _points,
        "sets of 3 to 6 points, reconstructions off by that share of the gap in the worst "
        "directions and in 20 that were drawn",
        ("plain", "scaled", "close"),
        names=("X",),
    ),
    mutation=Mutation("reconstructions off by 0.501 of the gap", 0.501),
    remark="With $\\tilde{x} = x$ the proposition says the same thing twice; the margin is what "
    "makes it useful. Half the gap is the most that is safe for all points.",
)


def _points_and_terms(draw: np.random.Generator, kind: Kind) -> tuple[Float[Array, "n p"], int]:
    """Points and k; `equal`: 0, 1, 3 on a line."""
    x = np.array([[0.0], [1.0], [3.0]]) if kind == "equal" else _points(draw, kind)[:5]
    return x, int(draw.integers(1, len(x)))


def _chosen_violation(
    reading: Callable[[Float[Array, "m"], int], list[set[int]]],
    instance: tuple[Float[Array, "n p"], int],
) -> float:
    """1 if the elements that brute force chooses for x_1, in k + 1 terms, are no claimed set."""
    x, k = instance
    squares = np.square(x[1:] - x[0]).sum(1)
    choices = np.array(list(product(range(len(squares)), repeat=k + 1)))
    best = choices[squares[choices].sum(1).argmin()]
    return float(set(best.tolist()) not in reading(squares, k))


def _nearest(squares: Float[Array, "m"], k: int) -> set[int]:
    return set(np.argsort(squares)[:k].tolist())


NEAREST_ELEMENTS = Entry(
    id="B-L13",
    source="Bhowal et al. (2024), lemma 13 (eq. 60)",
    title="The cheapest confusions are with the nearest",
    statement="Of all elements of the data that could be taken for $x_i$, in each of the terms of "
    "the sum, those that make it least are the $k^{(i)}$ nearest to $x_i$, for some "
    "$k^{(i)} \\leq k_i$.",
    formula=r"\min_{x_l \in X,\, x_l \neq x_i} \sum_i \sum_{l=0}^{k_i} \|\tilde{x}_l - x_i\|^2",
    assumptions="Ideal encoder and decoder: $\\tilde{x} = x$; $k_i < |X|$.",
    printed=lambda squares, k: [_nearest(squares, count) for count in range(1, k + 1)],
    check=Everywhere(
        _chosen_violation,
        _points_and_terms,
        "sets of 3 to 5 points, all choices for the first of them compared",
        ("plain", "scaled", "close", "equal"),
        count=10,
        names=("X", "k"),
    ),
    mutation=Mutation(
        "$k^{(i)} = k_i$: as many different elements as theorem 2 speaks of",
        lambda squares, k: [_nearest(squares, k)],
    ),
    remark="Nothing keeps the terms from choosing the same element, so the lemma comes down to "
    "one neighbour, $k^{(i)} = 1$: for 0 among 0, 1, 3 all choose 1. The $k_i$ nearest, each "
    "once, are the answer if elements must be distinct and $l$ runs from 1; from 0 there is one "
    "term too many.",
)
ENTRIES = (NEAREST_ELEMENT, NEAREST_ELEMENTS)
