"""Calling a stranger's functions without leaving a trace."""

import contextlib
import functools
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd


def modules_of(function: object) -> list[nn.Module]:
    """The networks behind a function: itself, its object, what it closes over or looks up."""
    if isinstance(function, nn.Module):
        return [function]
    if isinstance(function, functools.partial):
        inner = (function.func, *function.args, *function.keywords.values())
        return [module for each in inner for module in modules_of(each)]
    found: list[object] = [getattr(function, "__self__", None)]
    found += [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    code = getattr(function, "__code__", None)
    if code is not None:
        space = getattr(function, "__globals__", {})
        found += [space.get(name) for name in code.co_names]
    return [each for each in found if isinstance(each, nn.Module)]


def device_of(function: object) -> torch.device | None:
    """Where the weights behind a function lie."""
    weights = (p for module in modules_of(function) for p in module.parameters())
    first = next(weights, None)
    return None if first is None else first.device


def refuse_training_mode(**functions: Callable[[Any], Any]) -> None:
    """Raise if a network would answer at random, or be changed by being asked."""
    for name, function in functions.items():
        layers = [layer for module in modules_of(function) for layer in module.modules()]
        for layer in layers:
            if layer.training and isinstance(layer, _BatchNorm | _DropoutNd):
                raise ValueError(
                    f"{name}: {type(layer).__name__} is in training mode, where it answers "
                    "differently every time; call .eval() on the model first"
                )


@contextlib.contextmanager
def without_trace() -> Iterator[None]:
    """No gradients are recorded, and every random state is afterwards what it was."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        with torch.random.fork_rng(range(torch.cuda.device_count())), torch.no_grad():
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
