"""A digest of the code behind a function, so that cached numbers fall with the code.

Everything of ours that a function can reach by name counts: functions, classes, constants, in
its own module and in those it imports from. Docstrings, comments and layout do not. What is
reached only through an object that is passed in (a model, a data set) must be named as a root.
"""

import ast
import contextlib
import functools
import hashlib
import inspect
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from torch import Tensor

OURS = "unpick"


def digest(*roots: object) -> str:
    """Of all code that these functions and classes can reach.

    Example:
        >>> digest(digest) == digest(digest)
        True
    """
    parts = sorted(f"{name}\n{text}" for name, text in reachable(*roots).items())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def reachable(*roots: object) -> dict[str, str]:
    """The code behind these functions and classes, by qualified name.

    Args:
        roots: Functions, classes, partials, or frozen dataclasses that are called.
    """
    packages = {OURS, *(_package(root) for root in roots)}
    found: dict[str, str] = {}
    named: dict[str, list[object]] = {}
    open_ends: list[tuple[str, object]] = [(f"root {k}", root) for k, root in enumerate(roots)]
    while open_ends:
        name, value = open_ends.pop()
        if isinstance(value, functools.partial):
            open_ends += [(name, value.func), (f"{name}, arguments", (value.args, value.keywords))]
            continue
        if isinstance(value, property | functools.cached_property | classmethod | staticmethod):
            inner = getattr(value, "fget", None) or getattr(value, "func", None)
            open_ends.append((name, inner or value.__func__))  # type: ignore[union-attr]
            continue
        value = inspect.unwrap(value) if callable(value) else value
        if isinstance(value, FunctionType | type):
            name = f"{value.__module__}.{value.__qualname__}"
            source = _source(value) if _package(value) in packages else None
            # Lambdas, and closures that one function makes, share a name: count them.
            same = named.setdefault(name, [])
            if any(value is each for each in same):
                continue
            same.append(value)
            name = name if len(same) == 1 else f"{name} ({len(same)})"
            found[name] = name if source is None else source  # of others' code the name counts
            if source is None:
                continue
            open_ends += _members(name, value) if isinstance(value, type) else _names(name, value)
        elif isinstance(value, Mapping | list | tuple | set | frozenset):
            found.setdefault(name, type(value).__name__)
            items = value.items() if isinstance(value, Mapping) else enumerate(_ordered(value))
            open_ends += [(f"{name}[{key!r}]", each) for key, each in items]
        elif not isinstance(value, ModuleType):
            found.setdefault(name, _constant(value))
            if _package(type(value)) in packages:  # an instance of a class of ours
                open_ends.append((name, type(value)))
    return found


def _package(value: object) -> str:
    value = value.func if isinstance(value, functools.partial) else value
    module = getattr(value, "__module__", None) or type(value).__module__
    return module.split(".")[0]


def _ordered(values: Iterable[Any]) -> Iterable[Any]:
    return sorted(values, key=repr) if isinstance(values, set | frozenset) else values


def _members(name: str, kind: type) -> Iterator[tuple[str, object]]:
    """What a class holds, and what it inherits of ours."""
    for key, value in vars(kind).items():
        if not key.startswith("__") or isinstance(value, FunctionType):
            yield f"{name}.{key}", value
    for parent in kind.__bases__:
        yield f"{name}, base {parent.__name__}", parent


def _names(name: str, function: FunctionType) -> Iterator[tuple[str, object]]:
    """What a function looks up: globals, what it closes over, and attributes of our modules."""
    named = _all_names(function.__code__)
    space = function.__globals__
    modules = [space[key] for key in named if isinstance(space.get(key), ModuleType)]
    for key in named:
        if key in space:
            yield f"{function.__module__}.{key}", space[key]
        for module in modules:
            if module.__name__.split(".")[0] == OURS and hasattr(module, key):
                yield f"{module.__name__}.{key}", getattr(module, key)
    for key, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # a cell that is not filled yet
            yield f"{name}, closed over {key}", cell.cell_contents


@functools.cache
def _all_names(code: CodeType) -> tuple[str, ...]:
    """The names in a function, in the functions within it too."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return tuple(sorted({*code.co_names, *(name for each in inner for name in _all_names(each))}))


@functools.cache
def _source(value: FunctionType | type) -> str:
    """The source without docstrings, comments and layout; of a class only its frame."""
    tree = None
    if value.__name__ != "<lambda>":  # a line may hold several, and its text be no statement
        with contextlib.suppress(OSError, TypeError, SyntaxError):  # no file
            tree = ast.parse(textwrap.dedent(inspect.getsource(value)))
    if tree is None:
        code = getattr(value, "__code__", None)
        names = () if code is None else (_all_names(code), code.co_varnames, code.co_freevars)
        return "" if code is None else f"{code.co_code!r} {names} {_plain_constants(code)}"
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and isinstance(node, ast.FunctionDef | ast.ClassDef)
            and ast.get_docstring(node) is not None
        ):
            node.body = body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _plain_constants(code: CodeType) -> list[object]:
    """The constants in a function, in the functions within it too."""
    return [
        _plain_constants(each) if isinstance(each, CodeType) else each for each in code.co_consts
    ]


def _constant(value: object) -> str:
    """A constant as text."""
    if isinstance(value, Tensor):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray):
        content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return f"{value.dtype} {value.shape} {content}"
    if isinstance(value, str | bytes | int | float | complex | bool | None):
        return repr(value)
    if callable(value) and hasattr(value, "__qualname__"):  # a built-in function
        return f"{value.__module__}.{value.__qualname__}"
    text = repr(value)
    return type(value).__qualname__ if " at 0x" in text else text
