"""Batches of observations: each member sees the data in its own order, on its device."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unpick.data import Dataset, PairConfig, SharePairs
from unpick.devices import send
from unpick.training.streams import Streams

BLOCK_BYTES = 2**21  # of observations that are read at once


class Batch(NamedTuple):
    """Observations of one step, and the factor that each pair of them is known to share."""

    x: Float[Tensor, "s b ..."]
    shared: Int[Tensor, "s p"] | None


class Feed:
    """The batches of S members.

    Args:
        dataset: Where observations come from.
        indices: Its training part.
        seeds: One a member.
        size: Observations a batch.
        device: Where batches are needed.
        pairs: How the second observation of a pair is drawn, for objectives of pairs.
    """

    def __init__(
        self,
        dataset: Dataset,
        indices: Int[Tensor, "n"],
        seeds: Sequence[int],
        size: int,
        device: torch.device,
        pairs: PairConfig | None = None,
    ) -> None:
        self.dataset, self.indices, self.size = dataset, indices, size
        self.device, self.pairs = device, pairs
        self.streams = Streams(seeds)
        self._ahead: dict[str, tuple[int, Batch]] = {}

    def batch(self, purpose: str, step: int) -> Batch:
        """The batch of one step, on the device."""
        when, found = self._ahead.get(purpose, (-1, None))
        batch = found if found is not None and when == step else self._read(purpose, step)
        if self.device.type != "cpu":
            self._ahead[purpose] = step, batch
        return batch

    def read_ahead(self, step: int) -> None:
        """Start to copy the batches of a coming step while the device is busy with this one."""
        for purpose in self._ahead:
            self._ahead[purpose] = step, self._read(purpose, step)

    def block(self, purpose: str, step: int, most: int) -> Float[Tensor, "t s b p"]:
        """Flat observations of this step and the following ones, as many as are best read at once.

        Args:
            purpose: Of the batches.
            step: The first.
            most: Steps, at most.
        """
        values = len(self.streams.seeds) * self.size * torch.Size(self.dataset.shape).numel()
        count = max(1, min(most, BLOCK_BYTES // (4 * values)))
        indices = self.streams.batches(purpose, step, self.size, self.indices, count)
        return self.dataset.store.read(indices.reshape(-1)).view(*indices.shape, -1)

    def _read(self, purpose: str, step: int) -> Batch:
        if self.pairs is None:
            indices, shared = self.streams.batch(purpose, step, self.size, self.indices), None
        else:
            indices, shared = self._pairs(purpose, step, self.pairs)
        x = self.dataset.store.read(indices.reshape(-1)).unflatten(0, indices.shape)
        return Batch(send(x, self.device), None if shared is None else send(shared, self.device))

    def _pairs(
        self, purpose: str, step: int, transition: PairConfig
    ) -> tuple[Int[Tensor, "s b"], Int[Tensor, "s p"] | None]:
        """Pairs side by side, and the factor that each is known to share."""
        first = self.streams.batch(purpose, step, self.size // 2, self.indices)
        shape = (first.shape[1], transition.uniforms_per_pair(self.dataset))
        uniform = self.streams.uniform(f"{purpose}, partners", step, shape)
        second = transition.partners(self.dataset, first.reshape(-1), uniform.flatten(0, 1))
        indices = torch.stack([first, second.reshape(first.shape)], 2).flatten(1)
        if not isinstance(transition, SharePairs):
            return indices, None
        return indices, transition.shared(self.dataset, uniform.flatten(0, 1)).view(first.shape)
