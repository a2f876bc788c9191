"""Pairs of observations that differ in some factors, on the grid of a data set.

The second observation of a pair is a function of the first and of uniform random numbers, so the
same numbers give the same pair. It may be any point of the grid, also one outside the training
part.
"""

from dataclasses import dataclass
from functools import cache
from math import inf, log
from typing import ClassVar, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unpick.data.dataset import Dataset


@dataclass(frozen=True)
class LaplacePairs:
    r"""Every factor moves a little (Klindt et al. 2021).

    A factor with n values goes from i to j with a probability in proportion to
    exp(-|i - j| rate / \log n). Categorical factors keep their value. (In the authors' code the
    colours of MPI3D and the lighting of smallNORB move, although they are categorical.) If no
    factor has moved, one of those that can is drawn and moved.
    """

    name: ClassVar[str] = "laplace"
    transition_rate: float = 1.0  # the higher, the less factors move

    def __post_init__(self) -> None:
        if not 0 < self.transition_rate < inf:
            got = self.transition_rate
            raise ValueError(f"transition_rate must be positive and finite, got {got}")

    def uniforms_per_pair(self, dataset: Dataset) -> int:
        """Number of uniform random numbers that determine a pair."""
        return len(dataset.sizes) + 2

    def partners(
        self, dataset: Dataset, indices: Int[Tensor, "n"], uniform: Float[Tensor, "n m"]
    ) -> Int[Tensor, "n"]:
        """Index of the second observation of each pair."""
        movable = [
            k for k, f in enumerate(dataset.factors) if not f.categorical and len(f.values) > 1
        ]
        if not movable:
            raise ValueError(f"{dataset.name} has no factor that can move a little")
        old = dataset.positions(indices)
        new = old.clone()
        for k in movable:
            table = _transition_cdf(dataset.sizes[k], self.transition_rate, stay=True)
            new[:, k] = _sample_cdf(table[old[:, k]], uniform[:, k])
        forced = (uniform[:, -2] * len(movable)).long()
        still = (new == old).all(1)
        for place, k in enumerate(movable):
            rows = (still & (forced == place)).nonzero()[:, 0]
            table = _transition_cdf(dataset.sizes[k], self.transition_rate, stay=False)
            new[rows, k] = _sample_cdf(table[old[rows, k]], uniform[rows, -1])
        return dataset.index_of(new)


@dataclass(frozen=True)
class UniformPairs:
    """Some factors take another value, drawn uniformly (Locatello et al. 2020)."""

    name: ClassVar[str] = "uniform"
    changing: int = 0  # number of factors that change; 0 draws it from 1 to all but one

    def __post_init__(self) -> None:
        if self.changing < 0:
            raise ValueError(f"changing must be at least 0, got {self.changing}")

    def uniforms_per_pair(self, dataset: Dataset) -> int:
        """Number of uniform random numbers that determine a pair."""
        return 2 * len(dataset.sizes) + 1

    def partners(
        self, dataset: Dataset, indices: Int[Tensor, "n"], uniform: Float[Tensor, "n m"]
    ) -> Int[Tensor, "n"]:
        """Index of the second observation of each pair."""
        sizes = torch.tensor(dataset.sizes)
        count = len(sizes)
        if self.changing > count or count < 2:
            raise ValueError(
                f"changing must be at most the {count} factors of {dataset.name}, and there must "
                f"be two, got {self.changing}"
            )
        number, order, values = uniform.split([1, count, count], dim=1)
        change = self.changing or 1 + (number * (count - 1)).long()
        changes = order.argsort(1).argsort(1) < change
        old = dataset.positions(indices)
        other = (old + 1 + (values * (sizes - 1)).long()) % sizes
        return dataset.index_of(torch.where(changes, other, old))


@dataclass(frozen=True)
class SharePairs:
    """One factor keeps its value, all others are drawn anew (Shu et al. 2020).

    The shared factor is drawn uniformly, and the learner knows it (`shared`). The others may
    keep their value by chance.
    """

    name: ClassVar[str] = "share"

    def uniforms_per_pair(self, dataset: Dataset) -> int:
        """Number of uniform random numbers that determine a pair."""
        return len(dataset.sizes) + 1

    def shared(self, dataset: Dataset, uniform: Float[Tensor, "n m"]) -> Int[Tensor, "n"]:
        """Index of the factor that each pair shares."""
        return (uniform[:, 0] * len(dataset.sizes)).long()

    def partners(
        self, dataset: Dataset, indices: Int[Tensor, "n"], uniform: Float[Tensor, "n m"]
    ) -> Int[Tensor, "n"]:
        """Index of the second observation of each pair."""
        sizes = torch.tensor(dataset.sizes)
        new = (uniform[:, 1:] * sizes).long()
        same = self.shared(dataset, uniform)[:, None] == torch.arange(len(sizes))
        return dataset.index_of(torch.where(same, dataset.positions(indices), new))


PairConfig = LaplacePairs | UniformPairs | SharePairs

PAIRS = {config.name: config for config in get_args(PairConfig)}


def pairs(
    dataset: Dataset, n: int, generator: torch.Generator, transition: PairConfig | None = None
) -> tuple[Int[Tensor, "n"], Int[Tensor, "n"]]:
    """Indices of n pairs: the first is drawn uniformly, the second by the transition.

    Example:
        >>> from unpick.data import load
        >>> shapes = load("shapes3d", size=8)
        >>> first, second = pairs(shapes, 1000, torch.Generator().manual_seed(0), UniformPairs(1))
        >>> (shapes.positions(first) != shapes.positions(second)).sum(1).unique().tolist()
        [1]
    """
    transition = transition or LaplacePairs()
    first = dataset.sample(n, generator)
    uniform = torch.rand(n, transition.uniforms_per_pair(dataset), generator=generator)
    return first, transition.partners(dataset, first, uniform)


@cache
def _transition_cdf(n: int, rate: float, stay: bool) -> Float[Tensor, "n n"]:
    """Cumulative distribution of the new value; one row per old value."""
    places = torch.arange(n, dtype=torch.float64)
    weights = torch.exp((places - places[:, None]).abs() * -rate / log(n))
    if not stay:
        weights.fill_diagonal_(0)
    return weights.cumsum(1) / weights.sum(1, keepdim=True)


def _sample_cdf(
    distribution: Float[Tensor, "k n"], uniform: Float[Tensor, "k"]
) -> Int[Tensor, "k"]:
    """Draw from each row's distribution by inverting its cumulative distribution."""
    last = distribution.shape[1] - 1
    return (distribution <= uniform[:, None]).sum(1).clamp(max=last)
