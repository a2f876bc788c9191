"""Random numbers that depend on a seed, a purpose and a position, and on nothing else.

There is no generator state to carry along: a run that resumes at step 7000 draws what an
uninterrupted one draws there, and a member draws the same alone and in company.
"""

import hashlib
from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unpick.devices import send

BLOCK = 64  # steps whose numbers are drawn at once: one call to the generator instead of 64


def generator(seed: int, purpose: str, position: int = 0) -> torch.Generator:
    """A fresh generator for one purpose at one position."""
    digest = hashlib.blake2b(f"{seed}/{purpose}/{position}".encode(), digest_size=8).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:7], "big"))


class Streams:
    """The random numbers of S members, each from its own seed.

    They are drawn on the CPU and sent to the device, so that they are the same on every device.
    """

    def __init__(self, seeds: Sequence[int], device: str | torch.device = "cpu") -> None:
        self.seeds, self.device = tuple(seeds), torch.device(device)
        self._blocks: dict[str, tuple[int, Tensor]] = {}

    def normal(self, purpose: str, step: int, shape: tuple[int, ...]) -> Float[Tensor, "s ..."]:
        """Standard normal numbers for one step."""
        return self.normal_block(purpose, step, shape)[0]

    def normal_block(
        self, purpose: str, step: int, shape: tuple[int, ...]
    ) -> Float[Tensor, "t s ..."]:
        """Standard normal numbers for this step and the following ones of its block."""
        return self._block(purpose, step, shape, torch.randn)

    def uniform(self, purpose: str, step: int, shape: tuple[int, ...]) -> Float[Tensor, "s ..."]:
        """Uniform numbers for one step."""
        return self._block(purpose, step, shape, torch.rand)[0]

    def batch(
        self, purpose: str, step: int, size: int, indices: Int[Tensor, "n"]
    ) -> Int[Tensor, "s b"]:
        """Indices of one step's batch: every epoch a new permutation, its remainder dropped."""
        return self.batches(purpose, step, size, indices, 1)[0]

    def batches(
        self, purpose: str, step: int, size: int, indices: Int[Tensor, "n"], count: int
    ) -> Int[Tensor, "t s b"]:
        """The same for `count` steps; fewer if the epoch ends before."""
        steps = len(indices) // size
        epoch, place = divmod(step, steps)
        if self._blocks.get(purpose, (-1,))[0] != epoch:
            orders = [
                torch.randperm(len(indices), generator=generator(seed, purpose, epoch))
                for seed in self.seeds
            ]
            drawn = indices.index_select(0, torch.cat(orders))
            self._blocks[purpose] = epoch, drawn.view(len(orders), -1)
        several = self._blocks[purpose][1][:, place * size : min(place + count, steps) * size]
        return several.unflatten(1, (-1, size)).transpose(0, 1)

    def _block(
        self, purpose: str, step: int, shape: tuple[int, ...], draw: Callable[..., Tensor]
    ) -> Tensor:
        number, place = divmod(step, BLOCK)
        if self._blocks.get(purpose, (-1,))[0] != number:
            draws = [
                draw((BLOCK, *shape), generator=generator(seed, purpose, number))
                for seed in self.seeds
            ]
            self._blocks[purpose] = number, send(torch.stack(draws, dim=1), self.device)
        return self._blocks[purpose][1][place:]
