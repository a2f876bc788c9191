"""The weights of an ensemble as rows of one matrix, a row a member, and the optimiser on them.

A member's whole state is then its row of the weights and its rows of the moments, members may
have learning rates of their own, and a step costs a dozen operations however many layers there
are. Large matrices are stepped in blocks of columns that stay in the cache.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unpick.training.config import Adagrad, Adam

BLOCK = 2**16  # columns


class Rows:
    """The parameters of `module` moved into one (S, P) matrix, and their optimiser."""

    def __init__(self, module: nn.Module, optimisers: Sequence[Adam | Adagrad]) -> None:
        self.module, self.optimiser = module, optimisers[0]
        self.parameters = list(module.parameters())
        sizes = [p[0].numel() for p in self.parameters]
        self.values: Float[Tensor, "s p"] = torch.cat(
            [p.detach().flatten(1) for p in self.parameters], dim=1
        )
        for parameter, columns in zip(self.parameters, self.values.split(sizes, 1), strict=True):
            parameter.data = columns.view(parameter.shape)
        self.gradients = torch.zeros_like(self.values)
        self.first, self.second = torch.zeros_like(self.values), torch.zeros_like(self.values)
        matrices = self.values, self.gradients, self.first, self.second
        self.blocks = list(zip(*(matrix.split(BLOCK, 1) for matrix in matrices), strict=True))
        self.rates = torch.tensor([[optimiser.learning_rate] for optimiser in optimisers])
        self.frozen: list[int] = []

    def descend(self, loss: Float[Tensor, "s"], step: int) -> None:
        """Step number `step`, counted from one, of every living member, down its own loss."""
        gradients = torch.autograd.grad(loss.sum(), self.parameters)
        torch.cat([gradient.flatten(1) for gradient in gradients], dim=1, out=self.gradients)
        if self.frozen:
            self.gradients[self.frozen] = 0.0
        for w, g, m, v in self.blocks:
            if isinstance(self.optimiser, Adam):
                adam(w, g, m, v, self.rates, self.optimiser, step)
            else:
                adagrad(w, g, v, self.rates)

    def freeze(self, member: int) -> None:
        """Leave this member's weights as they are from now on."""
        self.frozen.append(member)
        self.rates[member] = 0.0

    def state(self, member: int) -> dict[str, Tensor]:
        """All that is needed to go on: weights, moments and running statistics of one member."""
        buffers = {f"buffer.{k}": b[member].clone() for k, b in self.module.named_buffers()}
        return {name: getattr(self, name)[member].clone() for name in STATE} | buffers

    def restore(self, member: int, state: dict[str, Tensor]) -> None:
        """The inverse of `state`."""
        for name in STATE:
            getattr(self, name)[member] = state[name]
        for name, buffer in self.module.named_buffers():
            buffer[member] = state[f"buffer.{name}"]


STATE = ("values", "first", "second")

Matrix = Float[Tensor, "s p"]
Rates = Float[Tensor, "s 1"]


def adam(
    w: Matrix, g: Matrix, m: Matrix, v: Matrix, rates: Rates, config: Adam, step: int
) -> None:
    """One step of Adam (Kingma & Ba 2015, algorithm 1), in place."""
    m.lerp_(g, 1 - config.beta1)
    v.mul_(config.beta2).addcmul_(g, g, value=1 - config.beta2)
    root = v.sqrt().mul_((1 - config.beta2**step) ** -0.5).add_(1e-8)
    w.sub_(m.mul(rates / (1 - config.beta1**step)).div_(root))


def adagrad(w: Matrix, g: Matrix, v: Matrix, rates: Rates) -> None:
    """One step of Adagrad (Duchi et al. 2011), in place."""
    v.addcmul_(g, g)
    w.sub_(g.mul(rates).div_(v.sqrt().add_(1e-10)))
