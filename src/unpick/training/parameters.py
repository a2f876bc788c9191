"""The weights of an ensemble and the optimiser that steps them, each member at its own rate."""

from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unpick.models import Model
from unpick.training.config import Adagrad, Adam


class Player:
    """The parameters of a module with a member axis, on their way down S losses at once.

    Steps are PyTorch's fused kernels, one pass through memory for weights and moments together.
    As long as all members live and share a learning rate, one call does for all.
    """

    def __init__(
        self, module: nn.Module | Model, optimisers: Sequence[Adam | Adagrad], eps: float = 1e-8
    ) -> None:
        self.optimiser, self.eps = optimisers[0], eps  # eps is Adam's
        self.values = [p.detach() for p in module.parameters()]  # the same memory, to be stepped
        self.second = [torch.zeros_like(p) for p in self.values]
        self.first = [torch.zeros_like(p) for p in self.values if isinstance(self.optimiser, Adam)]
        self.buffers = list(module.buffers())  # running statistics
        self.kept = [buffer.clone() for buffer in self.buffers]
        self.frozen: list[int] = []
        self.rates = {k: optimiser.learning_rate for k, optimiser in enumerate(optimisers)}
        self.alike = len(set(self.rates.values())) == 1

    def descend(self, gradients: Iterable[Tensor], step: int) -> None:
        """Step number `step`, counted from one, of every living member, down its own gradient."""
        whole = (self.values, [g.contiguous() for g in gradients], self.first, self.second)
        if self.alike:
            self._step(next(iter(self.rates.values())), step, *whole)
        else:
            for member, rate in self.rates.items():
                self._step(rate, step, *([tensor[member] for tensor in each] for each in whole))
        for buffer, kept in zip(self.buffers, self.kept, strict=True):
            buffer[self.frozen] = kept[self.frozen]  # a frozen member keeps its own
            kept.copy_(buffer)

    def _step(
        self,
        rate: float,
        step: int,
        values: list[Tensor],
        gradients: list[Tensor],
        first: list[Tensor],
        second: list[Tensor],
    ) -> None:
        steps = [torch.tensor(float(step))] * len(values)
        if isinstance(self.optimiser, Adam):
            torch._fused_adam_(
                values,
                gradients,
                first,
                second,
                [],
                steps,
                lr=rate,
                beta1=self.optimiser.beta1,
                beta2=self.optimiser.beta2,
                weight_decay=0.0,
                eps=self.eps,
                amsgrad=False,
                maximize=False,
            )
        else:
            torch._fused_adagrad_(
                values,
                gradients,
                second,
                steps,
                lr=rate,
                lr_decay=0.0,
                weight_decay=0.0,
                eps=1e-10,
                maximize=False,
            )

    def freeze(self, member: int) -> None:
        """Leave this member's weights as they are from now on."""
        self.rates.pop(member, None)
        self.alike = False
        self.frozen.append(member)

    def state(self, member: int) -> dict[str, Tensor]:
        """All that is needed to go on: weights, moments and running statistics of one member."""
        return {name: _row(each, member) for name, each in self._tensors().items() if each}

    def restore(self, member: int, state: dict[str, Tensor]) -> None:
        """The inverse of `state`."""
        for name, tensors in self._tensors().items():
            place = 0
            for tensor in tensors:
                row = tensor[member]
                row.copy_(state[name][place : place + row.numel()].view(row.shape))
                place += row.numel()
        self.kept = [buffer.clone() for buffer in self.buffers]

    def _tensors(self) -> dict[str, list[Tensor]]:
        return {
            "values": self.values,
            "first": self.first,
            "second": self.second,
            "buffers": self.buffers,
        }


def _row(tensors: Iterable[Tensor], member: int) -> Float[Tensor, "p"]:
    return torch.cat([tensor[member].flatten() for tensor in tensors])
