"""Functions in a user's own file, named on the command line as FILE.py:function."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any


def split_target(target: str) -> tuple[Path, str]:
    """The file and the name of the function; raises if there is no such file.

    Example:
        >>> split_target("nowhere.py:make")
        Traceback (most recent call last):
        ValueError: nowhere.py is not there
    """
    file, _, name = target.rpartition(":")
    if not file.endswith(".py"):
        raise ValueError(f"{target} is no folder, and no function named as FILE.py:function")
    if not Path(file).is_file():
        raise ValueError(f"{file} is not there")
    return Path(file), name


def import_file(file: Path) -> ModuleType:
    """Run a Python file and return what it defines. Its folder becomes importable."""
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # so that it can import its neighbours
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def find_function(module: ModuleType, name: str) -> Callable[..., Any]:
    """A function of a module by name."""
    function: Callable[..., Any] | None = getattr(module, name, None)
    if not callable(function):
        raise ValueError(f"{Path(str(module.__file__)).name} has no function {name!r}")
    return function


def import_function(target: str) -> Callable[..., Any]:
    """The function that FILE.py:function names; the file is run."""
    file, name = split_target(target)
    return find_function(import_file(file), name)
