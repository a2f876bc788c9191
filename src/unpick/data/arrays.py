"""A data set from arrays in memory."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import ArrayLike
from torch import Tensor

from unpick.data.dataset import ArrayStore, Dataset, Factor


def from_arrays(
    x: ArrayLike | Tensor,
    factors: ArrayLike | Tensor | None = None,
    names: Sequence[str] | None = None,
    categorical: Sequence[bool] | None = None,
) -> Dataset:
    """Make a data set of your own observations.

    If the rows of `factors` are a full grid in order (every combination once, the last factor
    changing fastest), the data set is a grid, and pairs can be drawn from it.

    Args:
        x: Observations (n, ...), images as (n, channels, height, width). uint8 values are pixels
            and are divided by 255; other numbers are used as they are, in float32.
        factors: Generative factors (n, k) if they are known, as numbers.
        names: Names of the factors; "factor 0", "factor 1", ... by default.
        categorical: For each factor, whether its values have no order; False by default.

    Example:
        >>> x = np.random.default_rng(0).normal(size=(6, 3))
        >>> data = from_arrays(x, [[a, b] for a in (1, 2) for b in (0, 5, 9)], ["size", "angle"])
        >>> len(data), data.shape, data.is_grid, data.sizes
        (6, (3,), True, (2, 3))
    """
    observations = _numbers("x", x)
    if observations.ndim < 2:
        raise ValueError(f"x must have shape (n, ...), got shape {observations.shape}")
    if len(observations) < 2 or 0 in observations.shape:
        raise ValueError(
            f"x must have at least 2 rows and no empty axis, got shape {observations.shape}"
        )
    pixels = observations.dtype == np.uint8
    store = ArrayStore(observations if pixels else torch.from_numpy(observations))
    if factors is None:
        for what, given in (("names", names), ("categorical", categorical)):
            if given is not None:
                raise ValueError(f"{what} needs factors, got {given!r} without factors")
        return Dataset("arrays", store)
    rows = _numbers("factors", factors)
    if rows.ndim != 2 or len(rows) != len(store) or not rows.shape[1]:
        raise ValueError(
            f"factors must have shape ({len(store)}, k), one row per row of x, got {rows.shape}"
        )
    count = rows.shape[1]
    names = [f"factor {k}" for k in range(count)] if names is None else list(names)
    classes = [False] * count if categorical is None else [bool(c) for c in categorical]
    for what, given in (("names", names), ("categorical", classes)):
        if len(given) != count:
            raise ValueError(f"{what} must have {count} entries, one per factor, got {given!r}")
    return Dataset(
        "arrays", store, *describe_factors(torch.from_numpy(rows).float(), names, classes)
    )


def from_torch(dataset: Any) -> Dataset:  # noqa: ANN401
    """Make a data set of a map-style torch `Dataset`. All items are read into memory.

    Args:
        dataset: Has `len(dataset)` and `dataset[index]`. An item is a tensor, or a tuple of a
            tensor and a label. A label is a number, or a tensor of numbers: the factors "label",
            or "label 0", "label 1", ... Whole numbers are categories without an order. uint8
            values are pixels and are divided by 255.

    Example:
        >>> digits = torch.utils.data.TensorDataset(torch.rand(20, 1, 8, 8), torch.arange(20) % 10)
        >>> data = from_torch(digits)
        >>> len(data), data.shape, data.factors[0].name, data.factors[0].size
        (20, (1, 8, 8), 'label', 10)
    """
    if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
        raise ValueError(f"dataset must be map-style, with len and [index], got {type(dataset)}")
    items = [dataset[k] for k in range(len(dataset))]
    split = [item if isinstance(item, tuple | list) else (item,) for item in items]
    for k, item in enumerate(split):
        if (
            len(item) not in (1, 2)
            or not isinstance(item[0], Tensor)
            or len(item) != len(split[0])
        ):
            first = f" and {_kinds(items[0])} as item 0" if k else ""
            raise ValueError(
                f"items must all be tensors, or all be tuples of a tensor and a label, got "
                f"{_kinds(items[k])} as item {k}{first}; a transform, such as torchvision's "
                "ToTensor, turns images into tensors"
            )
        if item[0].shape != split[0][0].shape:
            shapes = f"{tuple(item[0].shape)} as item {k} and {tuple(split[0][0].shape)} as item 0"
            raise ValueError(f"items must have one shape, got {shapes}")
    if not items:
        raise ValueError("dataset must have at least 2 items, got 0")
    x = torch.stack([item[0] for item in split])
    if len(split[0]) == 1:
        return from_arrays(x)
    labels = _numbers("labels", torch.stack([torch.as_tensor(item[1]) for item in split]))
    rows = labels[:, None] if labels.ndim == 1 else labels
    names = ["label"] if labels.ndim == 1 else [f"label {k}" for k in range(rows.shape[1])]
    whole = not torch.as_tensor(split[0][1]).is_floating_point()
    return from_arrays(x, rows, names, [whole] * len(names))


def _kinds(item: object) -> str:
    """The types in an item, for an error message."""
    if isinstance(item, tuple | list):
        return f"({', '.join(type(part).__name__ for part in item)})"
    return type(item).__name__


def describe_factors(
    values: Float[Tensor, "n k"], names: Sequence[str], categorical: Sequence[bool]
) -> tuple[tuple[Factor, ...], Float[Tensor, "n k"] | None]:
    """The factors with these values, and the values; None in their place if they are a grid."""
    found = [column.unique() for column in values.T]
    grid = _is_grid(values, found)
    factors = tuple(
        Factor(name, tuple(own.tolist()) if grid or no_order else (), no_order)
        for name, own, no_order in zip(names, found, categorical, strict=True)
    )
    return factors, None if grid else values


def _numbers(what: str, given: ArrayLike | Tensor) -> np.ndarray:
    """A copy of the array as float32, or as uint8 if it was; raises unless all are finite."""
    if isinstance(given, Tensor):
        given = given.detach().cpu()
        given = (given.float() if given.is_floating_point() else given).numpy()
    try:
        array = np.array(given)
    except ValueError:
        raise ValueError(f"{what} must be one array, got rows of different lengths") from None
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{what} must hold real numbers, got type {array.dtype}")
    if array.dtype == np.uint8:
        return array
    with np.errstate(over="ignore"):
        numbers = array.astype(np.float32)
    if (bad := np.argwhere(~np.isfinite(numbers))).size:
        where = tuple(bad[0].tolist())
        raise ValueError(
            f"{what} must be finite in float32, got {len(bad)} values that are not, "
            f"the first {array[where]} at {where}"
        )
    return numbers


def _is_grid(values: Float[Tensor, "n k"], found: list[Tensor]) -> bool:
    """Whether the rows are all combinations of the values, in order."""
    if math.prod(len(own) for own in found) != len(values):
        return False
    return torch.equal(values, torch.cartesian_prod(*found).reshape(values.shape))
