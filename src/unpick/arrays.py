"""The front door for arrays: anything array-like goes in, numbers to compute with come out.

Metrics, geometry and theory take tensors of any device, numpy arrays, nested lists and data
frames, of any real type. What cannot be computed with is refused in a
sentence that names the argument.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float, Real
from numpy.typing import ArrayLike
from torch import Tensor

if TYPE_CHECKING:
    Array: TypeAlias = ArrayLike | Tensor
else:
    Array = object  # type checks at run time leave it to the functions below

LARGEST, SMALLEST = 1e60, 1e-60  # fourth powers of numbers between them are numbers
SINGLE = 1e17  # squares of numbers up to it, or down to its inverse, are in single precision
WHOLE = 2**53  # integers up to it are exact in double precision


def to_numpy(
    name: str, given: Array, axes: str, *, floating: bool = False, empty: bool = False
) -> Real[np.ndarray, "..."]:
    """An array of integers or floating-point numbers, in single or double precision.

    Numbers whose squares would leave single precision are turned into doubles, and those whose
    fourth powers would leave double precision are refused.

    Args:
        name: Of the argument, for errors.
        given: Anything array-like.
        axes: What the axes are, such as "observations, latents"; "..." stands for any number.
        floating: Turn integers into doubles.
        empty: Allow an axis of length 0.

    Example:
        >>> to_numpy("codes", torch.tensor([[1.0, 2.0]]), "observations, latents")
        array([[1., 2.]], dtype=float32)
        >>> to_numpy("codes", [[1.0, 2.0j]], "observations, latents")
        Traceback (most recent call last):
        ValueError: codes must hold real numbers, got type complex128
    """
    array = _real(name, given)
    _check_shape(name, array.shape, axes, empty)
    if array.dtype.kind != "f":
        return array.astype(np.float64) if floating else array
    if not (known := np.isfinite(array)).all():
        raise ValueError(f"{name} must be finite, got {(~known).sum()} that are not")
    # The axes before the last, or the only one.
    sizes = np.abs(array).max(axis=tuple(range(max(1, array.ndim - 1))), initial=0)
    return array.astype(np.float64, copy=False) if _leaves_single(name, sizes) else array


def to_tensor(
    name: str, given: Array, axes: str, *, finite: bool = True, sized: bool = True
) -> Float[Tensor, "..."]:
    """A tensor of floating-point numbers, on the device where it was; see `to_numpy`.

    Integers become doubles, half precision becomes single precision, and gradients are left.

    Args:
        name: Of the argument, for errors.
        given: Anything array-like.
        axes: What the axes are.
        finite: Refuse nan and infinity.
        sized: Refuse numbers whose fourth powers leave double precision.

    Example:
        >>> to_tensor("jacobians", np.ones((1, 1, 2)), "samples, outputs, latents")
        tensor([[[1., 1.]]], dtype=torch.float64)
    """
    if not isinstance(given, Tensor):
        array = _real(name, given)
        given = torch.from_numpy(array.copy() if array.dtype.kind == "f" else array.astype(float))
    if given.layout != torch.strided:
        raise ValueError(f"{name} must be dense, got a tensor of layout {given.layout}")
    if given.is_complex() or given.is_quantized:
        raise ValueError(f"{name} must hold real numbers, got type {given.dtype}")
    _check_shape(name, tuple(given.shape), axes)
    tensor = given.detach()
    if not tensor.is_floating_point():
        tensor = tensor.to(torch.float32 if tensor.device.type == "mps" else torch.float64)
    elif tensor.element_size() < 4:
        tensor = tensor.float()
    known = tensor.isfinite()
    if finite and not known.all():
        raise ValueError(f"{name} must be finite, got {int((~known).sum())} that are not")
    if sized and tensor.dtype == torch.float64:
        sizes = torch.where(known, tensor, 0).abs().amax(tuple(range(max(1, tensor.ndim - 1))))
        _leaves_single(name, sizes.cpu().numpy())
    return tensor


def to_mask(name: str, given: Array | None, size: int, device: torch.device) -> Bool[Tensor, "d"]:
    """Which of so many things are meant; all of them if nothing is given."""
    if given is None:
        return torch.ones(size, dtype=torch.bool, device=device)
    mask = (
        given if isinstance(given, Tensor) else torch.from_numpy(np.array(_as_array(name, given)))
    )
    if mask.dtype != torch.bool or mask.shape != (size,):
        raise ValueError(
            f"{name} must hold {size} truth values, got shape {tuple(mask.shape)} of {mask.dtype}"
        )
    return mask.to(device)


def _as_array(name: str, given: Any) -> np.ndarray:  # noqa: ANN401
    """Anything but a tensor as numpy takes it."""
    if isinstance(given, np.ma.MaskedArray):
        raise ValueError(
            f"{name} must not be a masked array: fill what is masked, or leave it out"
        )
    if isinstance(given, Tensor):
        if given.layout != torch.strided:
            raise ValueError(f"{name} must be dense, got a tensor of layout {given.layout}")
        given = given.detach().cpu().resolve_conj().resolve_neg()
        given = (given.float() if given.dtype == torch.bfloat16 else given).numpy()
    try:
        return np.asarray(given)
    except (ValueError, TypeError, RuntimeError):
        raise ValueError(
            f"{name} must be one array of numbers, got {type(given).__name__} that is none"
        ) from None


def _real(name: str, given: Any) -> Real[np.ndarray, "..."]:  # noqa: ANN401
    """Integers that double precision can hold, or numbers in single or double precision."""
    array = _as_array(name, given)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers, got type {array.dtype}")
    if array.dtype.kind == "f":
        with np.errstate(over="ignore"):  # infinite numbers are refused later
            return array.astype(
                np.float32 if array.dtype.itemsize <= 4 else np.float64, copy=False
            )
    array = array.astype(np.int64 if array.dtype.kind == "b" else array.dtype.newbyteorder("="))
    if array.size and max(-int(array.min()), int(array.max())) > WHOLE:
        raise ValueError(
            f"{name} must be at most 2^53 in size, got {array.min()} to {array.max()}"
        )
    return array


def _check_shape(name: str, shape: tuple[int, ...], axes: str, empty: bool = False) -> None:
    """Raise unless there is an axis for each of these, and none of them is empty."""
    words = axes.split(", ")
    least = len(words) - (words[-1] == "...") - (words[0] == "...")
    fits = len(shape) == least or ("..." in words and len(shape) > least)
    if not fits or (0 in shape and not empty):
        raise ValueError(f"{name} must have shape ({axes}), none of them 0, got {shape}")


def _leaves_single(name: str, sizes: ArrayLike) -> bool:
    """Whether columns of these sizes need double precision; raise if that is not enough."""
    moving = np.atleast_1d(np.asarray(sizes, np.float64))
    moving = moving[moving > 0]
    if not moving.size:
        return False
    low, high = float(moving.min()), float(moving.max())
    if high > LARGEST or low < SMALLEST:
        raise ValueError(
            f"{name} must lie between {SMALLEST:g} and {LARGEST:g} in size or be 0, got a column "
            f"of {low if low < SMALLEST else high:.3g}: scale it"
        )
    return high > SINGLE or low < 1 / SINGLE
