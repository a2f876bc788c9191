"""Checks of the parameters of NonlinearPCA: the argument, the value got and what is allowed."""

from numbers import Integral, Real
from typing import Any


def check_parameters(model: Any, columns: int) -> None:  # noqa: ANN401
    """Raise unless all parameters make sense for a table with so many columns."""
    check_components(model.n_components, columns)
    auto = isinstance(model.beta, str) and model.beta == "auto"
    if not auto and not (is_number(model.beta) and 0 < model.beta < float("inf")):
        raise ValueError(f"beta must be 'auto' or positive and finite, got {model.beta!r}")
    check_count("restarts", model.restarts)
    if not (isinstance(model.max_steps, str) and model.max_steps == "auto"):
        check_count("max_steps", model.max_steps, " or 'auto'")
    if not (is_number(model.tol) and model.tol >= 0):
        raise ValueError(f"tol must not be negative, got {model.tol!r}")
    network = model.network
    if network == "auto" or callable(network):
        return
    if not isinstance(network, tuple | list) or not all(
        isinstance(width, Integral) and int(width) > 0 for width in network
    ):
        raise ValueError(
            "network must be a tuple of positive widths, 'auto' or a function that makes an "
            f"encoder and a decoder, got {network!r}"
        )


def check_components(wanted: Any, columns: int) -> None:  # noqa: ANN401
    """Raise unless there can be so many components."""
    if wanted is None:
        return
    if is_number(wanted) and not isinstance(wanted, Integral) and 0 < wanted < 1:
        return
    if (
        isinstance(wanted, Integral)
        and not isinstance(wanted, bool)
        and 1 <= int(wanted) <= columns
    ):
        return
    raise ValueError(
        f"n_components must be None, a share between 0 and 1, or a number in 1..{columns} (the "
        f"features of X), got {wanted!r}"
    )


def check_count(name: str, value: Any, other: str = "") -> None:  # noqa: ANN401
    """Raise unless this is a positive whole number."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1{other}, got {value!r}")


def is_number(value: Any) -> bool:  # noqa: ANN401
    """Whether this is a real number, and no truth value."""
    return isinstance(value, Real) and not isinstance(value, bool)
