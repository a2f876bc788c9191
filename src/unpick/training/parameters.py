"""The weights of an ensemble and the optimiser that steps them, each member at its own rate."""

from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Num
from torch import Tensor, nn

from unpick.devices import FUSED
from unpick.models import Model
from unpick.training.config import SGD, Adagrad, Adam

VECTOR = 16  # numbers that a processor computes with at once, at most


def lay_out(tensors: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Zeros in the shapes of tensors with a member axis, and the fewer tensors that hold them.

    An optimiser's kernel rounds the last few numbers of a tensor, which do not fill a vector,
    differently. So that a member's numbers do not depend on its company, what does not fill
    vectors lies in one tensor whose rows, one a member, are padded.
    """
    if not tensors:
        return [], []
    ragged = [tensor for tensor in tensors if tensor[0].numel() % VECTOR]
    width = -(-sum(tensor[0].numel() for tensor in ragged) // VECTOR) * VECTOR
    shared, place = tensors[0].new_zeros(len(tensors[0]), width), 0
    shaped, held = list[Tensor](), list[Tensor]()
    for tensor in tensors:
        size = tensor[0].numel()
        if size % VECTOR:
            shaped.append(shared[:, place : place + size].view(tensor.shape))
            place += size
        else:
            shaped.append(tensor.new_zeros(tensor.shape))
            held.append(shaped[-1])
    return shaped, [*held, *([shared] if ragged else [])]


class EnsembleOptimiser:
    """The parameters of a module with a member axis, and the optimiser that descends S losses.

    While no member is frozen and all share a learning rate, one call steps all members. The
    parameters move to memory laid out by `lay_out`.
    """

    def __init__(
        self,
        module: nn.Module | Model,
        optimisers: Sequence[Adam | Adagrad | SGD],
        eps: float = 1e-8,
    ) -> None:
        self.optimiser, self.eps = optimisers[0], eps  # eps is Adam's
        parameters = list(module.parameters())
        self.values, values = lay_out([p.detach() for p in parameters])
        for parameter, value in zip(parameters, self.values, strict=True):
            parameter.data = value.copy_(parameter.detach())
        adam, plain = isinstance(self.optimiser, Adam), isinstance(self.optimiser, SGD)
        self.first, first = lay_out(self.values if adam else [])
        self.second, second = lay_out([] if plain else self.values)
        self.held = values, first, second  # what is stepped
        # Room for the gradients that do not fill vectors.
        self.ragged, self.shared = lay_out([v for v in self.values if v[0].numel() % VECTOR])
        self.buffers = list(module.buffers())  # running statistics
        self.buffers_before = [buffer.clone() for buffer in self.buffers]
        self.frozen: list[int] = []
        self.rates = {k: optimiser.learning_rate for k, optimiser in enumerate(optimisers)}
        self.one_rate = len(set(self.rates.values())) == 1
        # The number of a step as the kernels take it: filling it is cheaper than making one.
        self.count = torch.zeros((), device=self.values[0].device)

    def descend(self, gradients: Iterable[Tensor], step: int) -> None:
        """Take step number `step`, counted from one, of every member that is not frozen."""
        self.descend_held(self._hold(gradients), step)

    def descend_held(self, gradients: list[Tensor], step: int) -> None:
        """The same with gradients that are laid out as `lay_out` does."""
        values, first, second = self.held
        whole = (values, gradients, first, second)
        self.count.fill_(step)
        if self.one_rate:
            self._step(next(iter(self.rates.values())), step, *whole)
        else:
            for member, rate in self.rates.items():
                self._step(rate, step, *([tensor[member] for tensor in each] for each in whole))
        for buffer, kept in zip(self.buffers, self.buffers_before, strict=True):
            for member in self.frozen:  # it keeps its own
                buffer[member] = kept[member]
            kept.copy_(buffer)

    def _hold(self, gradients: Iterable[Tensor]) -> list[Tensor]:
        """Lay gradients out; only those that do not fill vectors are copied."""
        held, ragged = list[Tensor](), iter(self.ragged)
        for gradient in gradients:
            if gradient[0].numel() % VECTOR:
                next(ragged).copy_(gradient)
            else:
                held.append(gradient.contiguous())
        return held + self.shared

    def _step(
        self,
        rate: float,
        step: int,
        values: list[Tensor],
        gradients: list[Tensor],
        first: list[Tensor],
        second: list[Tensor],
    ) -> None:
        match self.optimiser:
            case Adam() as adam:
                adam_step(values, gradients, first, second, step, rate, adam, self.eps, self.count)
            case Adagrad():
                adagrad_step(values, gradients, second, rate, self.count)
            case SGD():
                torch._foreach_add_(values, gradients, alpha=-rate)
            case other:
                raise ValueError(f"optimiser must be Adam, Adagrad or SGD, got {other}")

    def freeze(self, member: int) -> None:
        """Leave this member's weights as they are from now on."""
        self.rates.pop(member, None)
        self.one_rate = False
        self.frozen.append(member)

    def state(self, member: int) -> dict[str, Tensor]:
        """What is needed to resume, on the CPU: weights, moments, statistics of one member."""
        return {name: _row(each, member).cpu() for name, each in self._tensors().items() if each}

    def restore(self, member: int, state: dict[str, Tensor]) -> None:
        """The inverse of `state`."""
        for name, tensors in self._tensors().items():
            place = 0
            for tensor in tensors:
                row = tensor[member]
                row.copy_(state[name][place : place + row.numel()].view(row.shape))
                place += row.numel()
        self.buffers_before = [buffer.clone() for buffer in self.buffers]

    def _tensors(self) -> dict[str, list[Tensor]]:
        return {
            "values": self.values,
            "first": self.first,
            "second": self.second,
            "buffers": [buffer for buffer in self.buffers if buffer.is_floating_point()],
            "counts": [buffer for buffer in self.buffers if not buffer.is_floating_point()],
        }


def adam_step(
    values: list[Tensor],
    gradients: list[Tensor],
    first: list[Tensor],
    second: list[Tensor],
    step: int,
    rate: float,
    adam: Adam,
    eps: float,
    count: Tensor,
) -> None:
    """Step number `step` of Adam, in place: values and both moments.

    By PyTorch's fused kernel, which is private to it and takes the step as a tensor, `count`; by
    plain operations in a version, or on a device, without.
    """
    if count.device.type in FUSED["adam"] and hasattr(torch, "_fused_adam_"):
        torch._fused_adam_(
            values,
            gradients,
            first,
            second,
            [],
            [count] * len(values),
            lr=rate,
            beta1=adam.beta1,
            beta2=adam.beta2,
            weight_decay=0.0,
            eps=eps,
            amsgrad=False,
            maximize=False,
        )
        return
    for value, gradient, mean, square in zip(values, gradients, first, second, strict=True):
        mean.lerp_(gradient, 1 - adam.beta1)
        square.mul_(adam.beta2).addcmul_(gradient, gradient, value=1 - adam.beta2)
        scale = square.sqrt().div_((1 - adam.beta2**step) ** 0.5).add_(eps)
        value.addcdiv_(mean, scale, value=-rate / (1 - adam.beta1**step))


def adagrad_step(
    values: list[Tensor],
    gradients: list[Tensor],
    second: list[Tensor],
    rate: float,
    count: Tensor,
) -> None:
    """A step of Adagrad, in place: values and sums of squares; see `adam_step`."""
    eps = 1e-10
    if count.device.type in FUSED["adagrad"] and hasattr(torch, "_fused_adagrad_"):
        torch._fused_adagrad_(
            values,
            gradients,
            second,
            [count] * len(values),
            lr=rate,
            lr_decay=0.0,
            weight_decay=0.0,
            eps=eps,
            maximize=False,
        )
        return
    for value, gradient, square in zip(values, gradients, second, strict=True):
        square.addcmul_(gradient, gradient)
        value.addcdiv_(gradient, square.sqrt().add_(eps), value=-rate)


def _row(tensors: Iterable[Tensor], member: int) -> Num[Tensor, "p"]:
    return torch.cat([tensor[member].flatten() for tensor in tensors])
