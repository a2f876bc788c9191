"""The weights of an ensemble as rows of one matrix, a row a member, and the optimiser on them.

A member's whole state is then its row of the weights and its rows of the moments, members may
have learning rates of their own, and the optimiser is PyTorch's fused one however many layers
there are.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unpick.training.config import Adagrad, Adam


class Rows:
    """The parameters of `module` moved into one (S, P) matrix, with their gradients in another."""

    def __init__(self, module: nn.Module, optimisers: Sequence[Adam | Adagrad]) -> None:
        self.module = module
        self.parameters = list(module.parameters())
        sizes = [p[0].numel() for p in self.parameters]
        self.values: Float[Tensor, "s p"] = torch.cat(
            [p.detach().flatten(1) for p in self.parameters], dim=1
        )
        self.gradients = torch.zeros_like(self.values)
        for parameter, columns in zip(self.parameters, self.values.split(sizes, 1), strict=True):
            parameter.data = columns.view(parameter.shape)
        self.rows = list(self.values)
        for row, gradient in zip(self.rows, self.gradients, strict=True):
            row.grad = gradient
        self.optimiser = _optimiser(self.rows, optimisers)

    def descend(self, loss: Float[Tensor, "s"]) -> None:
        """One step of every living member, each down its own loss."""
        gradients = torch.autograd.grad(loss.sum(), self.parameters)
        torch.cat([gradient.flatten(1) for gradient in gradients], dim=1, out=self.gradients)
        self.optimiser.step()

    def freeze(self, member: int) -> None:
        """Leave this member's weights as they are from now on."""
        self.rows[member].grad = None

    def state(self, member: int) -> dict[str, Tensor]:
        """All that is needed to go on: weights, moments and running statistics of one member."""
        row = self.rows[member]
        moments = {f"optimiser.{k}": v for k, v in self.optimiser.state[row].items()}
        buffers = {f"buffer.{k}": b[member].clone() for k, b in self.module.named_buffers()}
        return {"weights": row.clone(), **moments, **buffers}

    def restore(self, member: int, state: dict[str, Tensor]) -> None:
        """The inverse of `state`."""
        row = self.rows[member]
        row.copy_(state["weights"])
        self.optimiser.state[row] = {
            k.removeprefix("optimiser."): v.clone()
            for k, v in state.items()
            if k.startswith("optimiser.")
        }
        for name, buffer in self.module.named_buffers():
            buffer[member] = state[f"buffer.{name}"]


def _optimiser(
    rows: Sequence[Tensor], optimisers: Sequence[Adam | Adagrad]
) -> torch.optim.Optimizer:
    """One parameter group a learning rate."""
    first = optimisers[0]
    groups: dict[float, list[Tensor]] = {}
    for row, optimiser in zip(rows, optimisers, strict=True):
        groups.setdefault(optimiser.learning_rate, []).append(row)
    listed = [{"params": members, "lr": rate} for rate, members in groups.items()]
    if isinstance(first, Adam):
        return torch.optim.Adam(listed, betas=(first.beta1, first.beta2), fused=True)
    return torch.optim.Adagrad(listed, fused=True)
