"""Choosing by name, with the nearest names where there is none."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TypeVar

T = TypeVar("T")


def pick(choices: Mapping[str, T], name: str, what: str) -> T:
    """The choice of that name; an unknown one raises and suggests the nearest.

    Example:
        >>> pick({"train": 1, "data": 2}, "trian", "command")
        Traceback (most recent call last):
        ValueError: unknown command 'trian'; did you mean train?
    """
    if name not in choices:
        near = get_close_matches(name, choices, n=3, cutoff=0.5) or list(choices)
        raise ValueError(f"unknown {what} {name!r}; did you mean {' or '.join(near)}?")
    return choices[name]
