"""Jacobians of decoders, in forward mode: there are few latents and many pixels."""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.overrides import TorchFunctionMode

from unpick.arrays import Array, to_tensor

PORTION = 256  # points at a time, for differences

Decoder = Callable[[Tensor], Tensor]  # latents (n, d) to observations (n, ...), each on its own


def decoder_jacobians(
    decode: Callable[[Any], Any],
    z: Array,
    *,
    columns: Int[Tensor, "n k"] | None = None,
    memory: int = 2**25,
) -> Float[Tensor, "n p k"]:
    """The Jacobian of a decoder at each latent point.

    Torch functions are differentiated exactly: one forward pass carries all d directions. What
    torch cannot differentiate, numpy functions among it, goes through central differences, and a
    warning says so.

    Args:
        decode: Maps latents (n, d) to observations (n, ...), each on its own; a function of numpy
            arrays unless z is a tensor. Pass the mean decoder, after the output's nonlinearity,
            unless logits are meant.
        z: Where.
        columns: Which latents to differentiate along, for each point its own; all by default.
        memory: Bytes that one layer's activations may take, which sets how many points and
            directions are pushed through at a time; the default keeps them in the processor's
            cache.

    Example:
        >>> mixing = torch.tensor([[1.0, 2.0], [0.0, 3.0], [1.0, 0.0]])
        >>> decoder_jacobians(lambda z: z @ mixing.T, torch.zeros(1, 2))[0]
        tensor([[1., 2.],
                [0., 3.],
                [1., 0.]])
    """
    reason, takes_arrays = "", decode
    if not isinstance(z, Tensor):
        reason = "numpy decoder"
        decode = lambda t: torch.as_tensor(takes_arrays(t.numpy()))  # noqa: E731
    # A dual number has no room in an expanded tensor.
    z = to_tensor("z", z, "points, latents").contiguous()
    if columns is None:
        columns = torch.arange(z.shape[1], device=z.device).expand(len(z), -1)
    with torch.no_grad():
        fit = 1 if reason else _passes(decode, z, memory)
        if not reason and _detaches_output(decode, z):
            reason = "the decoder detaches its output"
        for push in () if reason else (_all_axes, _axis_by_axis):
            try:
                return _in_chunks(partial(push, decode), z, columns, fit)
            except (RuntimeError, NotImplementedError) as error:
                reason = f"forward mode failed ({str(error).splitlines()[0]})"
        warnings.warn(f"Jacobians by central differences: {reason}", stacklevel=2)
        return _differences(decode, z, columns)


def _all_axes(
    decode: Decoder, z: Float[Tensor, "m d"], axes: Float[Tensor, "k m d"]
) -> Float[Tensor, "k m p"]:
    """The derivatives along each axis, all in one pass."""

    def push(axis: Float[Tensor, "m d"]) -> Float[Tensor, "m p"]:
        return torch.func.jvp(decode, (z,), (axis,))[1].flatten(1)

    return torch.func.vmap(push)(axes)


def _axis_by_axis(
    decode: Decoder, z: Float[Tensor, "m d"], axes: Float[Tensor, "k m d"]
) -> Float[Tensor, "k m p"]:
    """The same without vmap, for decoders whose Python looks at values: three times slower."""
    return torch.stack([torch.func.jvp(decode, (z,), (axis,))[1].flatten(1) for axis in axes])


def _differences(
    decode: Decoder, z: Float[Tensor, "n d"], columns: Int[Tensor, "n k"]
) -> Float[Tensor, "n p k"]:
    """Central differences, with the step that balances truncation and rounding."""
    # The decoder may compute in less precision than z has: its output's counts.
    precision = torch.finfo(torch.as_tensor(decode(z[:1])).dtype).eps
    step = precision ** (1 / 3) * (float(z.std()) if len(z) > 1 and z.std() > 0 else 1.0)

    def slope(part: Float[Tensor, "m d"], axis: Float[Tensor, "m d"]) -> Float[Tensor, "m p"]:
        return (decode(part + step * axis) - decode(part - step * axis)).flatten(1) / (2 * step)

    parts = [
        torch.stack([slope(part, axis) for axis in _axes(part, some)], dim=2)
        for part, some in zip(z.split(PORTION), columns.split(PORTION), strict=True)
    ]
    return torch.cat(parts)


def _detaches_output(decode: Decoder, z: Float[Tensor, "n d"]) -> bool:
    """Whether forward mode sees no derivative where the output does move."""
    few = z[:3]
    try:
        slope = torch.func.jvp(decode, (few,), (torch.ones_like(few),))[1]
    except (RuntimeError, NotImplementedError):
        return False  # for other reasons, which come to light below
    return not slope.any() and not torch.equal(decode(few), decode(few + 0.1))


def _axes(z: Float[Tensor, "m d"], columns: Int[Tensor, "m k"]) -> Float[Tensor, "k m d"]:
    """The unit vector along each of a point's columns."""
    axes = torch.zeros(columns.shape[1], *z.shape, dtype=z.dtype, device=z.device)
    return axes.scatter_(2, columns.T[..., None], 1.0)


def _in_chunks(
    push: Callable[[Tensor, Tensor], Tensor],
    z: Float[Tensor, "n d"],
    columns: Int[Tensor, "n k"],
    passes: int,
) -> Float[Tensor, "n p k"]:
    """So many passes at a time, straight into one tensor whose columns are contiguous."""
    k = columns.shape[1]
    if len(z) * k <= passes:
        return push(z, _axes(z, columns)).permute(1, 2, 0)
    points = max(1, passes // k)
    filled: Tensor | None = None
    for start in range(0, len(z), points):
        rows = slice(start, start + points)
        for first in range(0, k, passes):
            some = slice(first, first + passes)
            part = push(z[rows], _axes(z[rows], columns[rows, some]))
            if filled is None:
                filled = part.new_empty(k, len(z), part.shape[2])
            filled[some, rows] = part
    assert filled is not None
    return filled.permute(1, 2, 0)


def _passes(decode: Decoder, z: Float[Tensor, "n d"], memory: int) -> int:
    """How many points times directions fit the memory, by the largest tensor of a pass."""
    probe = z[:2]
    with LargestTensor() as largest:
        output = decode(probe)
    if not isinstance(output, Tensor) or output.ndim < 2 or len(output) != len(probe):
        got = tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__
        raise ValueError(
            f"decode must map {len(probe)} latents to as many observations, got {got}"
        )
    return max(1, memory * len(probe) // max(largest.bytes, 1))


class LargestTensor(TorchFunctionMode):
    """Records the size of the largest tensor that is made while the mode is on."""

    bytes = 0

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401
        made = func(*args, **(kwargs or {}))
        if isinstance(made, Tensor) and not any(_same_storage(made, given) for given in args):
            self.bytes = max(self.bytes, made.numel() * made.element_size())
        return made


def _same_storage(a: Tensor, b: object) -> bool:
    """Whether a tensor is only another view of what was there: weights are not activations."""
    # By identity: not every kind of tensor has memory that can be pointed at.
    return isinstance(b, Tensor) and a.untyped_storage()._cdata == b.untyped_storage()._cdata
