"""Calling a stranger's functions without leaving a trace."""

import contextlib
import functools
import random
import threading
from collections.abc import Iterator
from types import CodeType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.dropout import _DropoutNd

MANY = 10_000  # things to look at behind a function, at most
# Never networks. Checkers of types keep every call under way in memory of one thread.
SKIPPED = (str, bytes, int, float, Tensor, type, threading.local)


def modules_of(function: object) -> list[nn.Module]:
    """The networks behind a function: what it is, holds, closes over, wraps or looks up."""
    found: list[nn.Module] = []
    seen: set[int] = set()
    open_ends = [function]
    while open_ends and len(seen) < MANY:
        each = open_ends.pop()
        if id(each) in seen or isinstance(each, SKIPPED):
            continue
        seen.add(id(each))
        if isinstance(each, nn.Module):
            found.append(each)
            continue
        if isinstance(each, dict):
            open_ends += each.values()
        elif isinstance(each, list | tuple | set):
            open_ends += each
        elif isinstance(each, functools.partial):
            open_ends += [each.func, *each.args, *each.keywords.values()]
        elif each is not None:
            open_ends += _reach(each)
    return found


def _reach(thing: object) -> list[object]:
    """What a function or an object refers to."""
    reach = [_attribute(thing, "__self__"), _attribute(thing, "__wrapped__")]
    closure, code = _attribute(thing, "__closure__"), _attribute(thing, "__code__")
    for cell in closure if isinstance(closure, tuple) else ():
        with contextlib.suppress(ValueError):  # a cell that is not filled yet
            reach.append(cell.cell_contents)
    if isinstance(code, CodeType):  # a mock has every attribute, of its own kind
        space = getattr(thing, "__globals__", {})
        named = [space.get(name) for name in code.co_names]
        return reach + [each for each in named if not isinstance(each, ModuleType)]
    return [*reach, *vars(thing).values()] if hasattr(thing, "__dict__") else reach


def _attribute(thing: object, name: str) -> Any:  # noqa: ANN401
    """An attribute, or None where asking raises: some objects of torch do without CUDA."""
    try:
        return getattr(thing, name, None)
    except Exception:
        return None


def device_of(function: object) -> torch.device | None:
    """Where the weights behind a function lie."""
    first = first_weight(function)
    return None if first is None else first.device


def first_weight(function: object) -> Tensor | None:
    """One of the weights behind a function."""
    weights = (p for module in modules_of(function) for p in module.parameters())
    return next((weight for weight in weights if weight.is_floating_point()), None)


@contextlib.contextmanager
def evaluating(*functions: object) -> Iterator[bool]:
    """The networks behind functions are in evaluation mode; afterwards they are as they were.

    Yields whether that changes the mode of a layer that answers differently in training.
    """
    networks = [module for function in functions for module in modules_of(function)]
    layers = [layer for network in networks for layer in network.modules()]
    training = [layer for layer in layers if layer.training]
    differs = any(isinstance(layer, _NormBase | _DropoutNd) for layer in training)
    try:
        for layer in training:
            layer.training = False
        yield differs
    finally:
        for layer in training:
            layer.training = True


@contextlib.contextmanager
def without_trace(*functions: object) -> Iterator[None]:
    """No gradients are recorded; random states and the networks' buffers stay what they were."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    networks = [module for function in functions for module in modules_of(function)]
    kept = {b: b.clone() for module in networks for b in module.buffers()}
    try:
        with torch.random.fork_rng(range(torch.cuda.device_count())), torch.no_grad():
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
        for buffer, value in kept.items():
            buffer.data.copy_(value)
