"""Pairs of observations whose factors differ a little, on the grid of a data set.

A partner is made from uniform numbers, so that whoever knows the numbers knows the pair. It may be
any point of the grid, those outside of the training part too.
"""

from dataclasses import dataclass
from functools import cache
from math import log
from typing import ClassVar, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unpick.data.dataset import Dataset


@dataclass(frozen=True)
class LaplacePairs:
    r"""Every factor moves a little (Klindt et al. 2021).

    A factor with n values goes from i to j with a probability in proportion to
    exp(-|i - j| rate / \log n). Categorical factors stay; in the authors' code the colours of
    MPI3D and the lighting of smallNORB, classes too, move along. If none has moved, one that can
    is made to.
    """

    name: ClassVar[str] = "laplace"
    transition_rate: float = 1.0  # the higher, the less factors move

    def __post_init__(self) -> None:
        if not self.transition_rate > 0:
            raise ValueError(f"transition_rate must be positive, got {self.transition_rate}")

    def numbers(self, dataset: Dataset) -> int:
        """How many uniform numbers a pair takes."""
        return len(dataset.sizes) + 2

    def partners(
        self, dataset: Dataset, indices: Int[Tensor, "n"], uniform: Float[Tensor, "n m"]
    ) -> Int[Tensor, "n"]:
        """The other observation of each pair."""
        movable = [
            k for k, f in enumerate(dataset.factors) if not f.categorical and len(f.values) > 1
        ]
        if not movable:
            raise ValueError(f"{dataset.name} has no factor that can move a little")
        old = dataset.positions(indices)
        new = old.clone()
        for k in movable:
            table = _table(dataset.sizes[k], self.transition_rate, stay=True)
            new[:, k] = _pick(table[old[:, k]], uniform[:, k])
        forced = (uniform[:, -2] * len(movable)).long()
        still = (new == old).all(1)
        for place, k in enumerate(movable):
            rows = (still & (forced == place)).nonzero()[:, 0]
            table = _table(dataset.sizes[k], self.transition_rate, stay=False)
            new[rows, k] = _pick(table[old[rows, k]], uniform[rows, -1])
        return dataset.index_of(new)


@dataclass(frozen=True)
class UniformPairs:
    """Some factors take any other value (Locatello et al. 2020)."""

    name: ClassVar[str] = "uniform"
    changing: int = 0  # factors that change; 0 draws their number from 1 to all but one

    def __post_init__(self) -> None:
        if self.changing < 0:
            raise ValueError(f"changing must be at least 0, got {self.changing}")

    def numbers(self, dataset: Dataset) -> int:
        """How many uniform numbers a pair takes."""
        return 2 * len(dataset.sizes) + 1

    def partners(
        self, dataset: Dataset, indices: Int[Tensor, "n"], uniform: Float[Tensor, "n m"]
    ) -> Int[Tensor, "n"]:
        """The other observation of each pair."""
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

    Which one is drawn too, uniformly, and the learner is told: `shared`. The others may come out
    as they were, by chance.
    """

    name: ClassVar[str] = "share"

    def numbers(self, dataset: Dataset) -> int:
        """How many uniform numbers a pair takes."""
        return len(dataset.sizes) + 1

    def shared(self, dataset: Dataset, uniform: Float[Tensor, "n m"]) -> Int[Tensor, "n"]:
        """The factor that each pair is known to share."""
        return (uniform[:, 0] * len(dataset.sizes)).long()

    def partners(
        self, dataset: Dataset, indices: Int[Tensor, "n"], uniform: Float[Tensor, "n m"]
    ) -> Int[Tensor, "n"]:
        """The other observation of each pair."""
        sizes = torch.tensor(dataset.sizes)
        new = (uniform[:, 1:] * sizes).long()
        same = self.shared(dataset, uniform)[:, None] == torch.arange(len(sizes))
        return dataset.index_of(torch.where(same, dataset.positions(indices), new))


PairConfig = LaplacePairs | UniformPairs | SharePairs

PAIRS = {config.name: config for config in get_args(PairConfig)}


def pairs(
    dataset: Dataset, n: int, generator: torch.Generator, transition: PairConfig | None = None
) -> tuple[Int[Tensor, "n"], Int[Tensor, "n"]]:
    """Indices of n pairs: the first of each drawn uniformly, the second by the transition.

    Example:
        >>> from unpick.data import load
        >>> shapes = load("shapes3d", size=8)
        >>> first, second = pairs(shapes, 1000, torch.Generator().manual_seed(0), UniformPairs(1))
        >>> (shapes.positions(first) != shapes.positions(second)).sum(1).unique().tolist()
        [1]
    """
    transition = transition or LaplacePairs()
    first = dataset.sample(n, generator)
    uniform = torch.rand(n, transition.numbers(dataset), generator=generator)
    return first, transition.partners(dataset, first, uniform)


@cache
def _table(n: int, rate: float, stay: bool) -> Float[Tensor, "n n"]:
    """Distribution functions of the new value, a row an old one."""
    places = torch.arange(n, dtype=torch.float64)
    weights = torch.exp((places - places[:, None]).abs() * -rate / log(n))
    if not stay:
        weights.fill_diagonal_(0)
    return weights.cumsum(1) / weights.sum(1, keepdim=True)


def _pick(distribution: Float[Tensor, "k n"], uniform: Float[Tensor, "k"]) -> Int[Tensor, "k"]:
    """Where each number falls."""
    last = distribution.shape[1] - 1
    return (distribution <= uniform[:, None]).sum(1).clamp(max=last)
