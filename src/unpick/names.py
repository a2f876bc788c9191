"""Choices by name, and fields that configurations got later."""

import dataclasses
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")
# Metadata of a field that older run folders lack. Its default is what the code did before there
# was a field, and JSON names it only where its value is another, so that no older run is renamed.
LATER = {"added later": True}


def pick(choices: Mapping[str, T], name: str, what: str) -> T:
    """The choice of that name; an unknown one raises and suggests the nearest.

    Example:
        >>> pick({"train": 1, "data": 2}, "trian", "command")
        Traceback (most recent call last):
        ValueError: unknown command 'trian'; did you mean train?
    """
    if name not in choices:
        near = get_close_matches(name, choices, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(choices)}"
        raise ValueError(f"unknown {what} {name!r}; {hint}")
    return choices[name]


def unknown_choice(what: str, value: object, choices: Any) -> ValueError:  # noqa: ANN401
    """The error to raise for a value that the type `choices`, a `Literal`, does not list.

    Example:
        >>> unknown_choice("likelihood", "Gaussian", Literal["gaussian", "bernoulli"])
        ValueError("likelihood must be one of ('gaussian', 'bernoulli'), got 'Gaussian'")
    """
    return ValueError(f"{what} must be one of {get_args(choices)}, got {value!r}")


def check_choices(config: Any) -> None:  # noqa: ANN401
    """Raise unless every field of a dataclass that is typed as a `Literal` holds a listed value.

    For `__post_init__`: a misspelt name then fails where it is written, not in a branch for
    "everything else".
    """
    for name, choices in _choices(type(config)).items():  # type: ignore[arg-type]
        if getattr(config, name) not in get_args(choices):
            raise unknown_choice(name, getattr(config, name), choices)


@cache
def _choices(kind: type) -> dict[str, Any]:
    """The fields of a class that are typed as a `Literal`."""
    hints = get_type_hints(kind)
    return {name: hint for name, hint in hints.items() if get_origin(hint) is Literal}


def is_later(entry: "dataclasses.Field[Any]") -> bool:
    """Whether a field has the metadata `LATER`."""
    return "added later" in entry.metadata
