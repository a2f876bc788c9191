"""jaxtyping's decorator, which its import hook puts on every function, at half the cost.

That one makes three functions of each, binds the arguments of every call and checks them twice.
Here beartype alone checks a function without arrays; arrays are checked once, from call to return.
"""

from dataclasses import is_dataclass
from functools import partial, wraps
from inspect import isclass, isgeneratorfunction
from typing import get_args, get_type_hints

from beartype import BeartypeConf, beartype
from jaxtyping import AbstractArray, TypeCheckError, config, jaxtyped

types = beartype(conf=BeartypeConf(violation_type=TypeCheckError))


def checked(thing=None, *, typechecker=beartype):
    """The same checks as `jaxtyped(thing, typechecker=beartype)`."""
    if thing is None:
        return partial(checked, typechecker=typechecker)
    if isclass(thing):
        if is_dataclass(thing):
            thing.__init__ = checked(thing.__init__, typechecker=typechecker)
        return thing
    try:
        hints = get_type_hints(thing, include_extras=True)
    except NameError:  # the class that is being defined, or what only mypy imports
        return jaxtyped(thing, typechecker=typechecker)
    refers = "{" in str([*hints.values()])  # a shape that is an argument
    if refers or isgeneratorfunction(thing):
        return jaxtyped(thing, typechecker=typechecker)
    with_types = types(thing)
    has_arrays = any(map(holds_array, hints.values()))

    @wraps(thing)
    def call(*args, **kwargs):
        if config.jaxtyping_disable:
            return thing(*args, **kwargs)
        if not has_arrays:
            return with_types(*args, **kwargs)
        with jaxtyped("context"):  # in here a name of an axis is one size
            return with_types(*args, **kwargs)

    return call


def holds_array(hint):
    if isinstance(hint, list):  # the arguments of a Callable
        return any(map(holds_array, hint))
    is_array = isclass(hint) and issubclass(hint, AbstractArray)
    return is_array or any(map(holds_array, get_args(hint)))
