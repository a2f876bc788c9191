"""Arguments of the command line, parsed into dataclasses."""

import dataclasses
import itertools
import sys
import traceback
from collections.abc import Callable, Collection, Mapping
from typing import Any, NoReturn, TypeVar

Arguments = list[str]
T = TypeVar("T")

# What a typing error may ask for by mistake, and no command is meant for.
MOST = {"seeds": 10_000, "restarts": 10_000, "ensemble": 1000, "jobs": 1000, "levels": 10**6}
MOST |= {"draws": 10**6, "samples": 10**8, "change_batch": 10**6, "decoder_batches": 10**6}

# Names that people also type, and the one name that the option has.
ALIASES = {"--lr": "--learning-rate", "--batch-size": "--batch"}


def parse(
    kind: type[T],
    arguments: Arguments,
    program: str,
    default: T | None = None,
    description: str | None = None,
) -> T:
    """The arguments as a dataclass; tyro explains a mistake in them and exits 2."""
    import tyro

    flat = (tyro.conf.OmitArgPrefixes, tyro.conf.AvoidSubcommands)
    options: dict[str, Any] = {} if default is None else {"default": default}
    parsed = tyro.cli(
        kind, args=arguments, prog=program, config=flat, description=description, **options
    )
    check_limits(parsed)
    return parsed


def check_limits(options: Any) -> None:  # noqa: ANN401
    """Raise if an option asks for more than a command should start.

    Example:
        >>> from dataclasses import make_dataclass
        >>> check_limits(make_dataclass("Options", ["seeds"])(10**9))
        Traceback (most recent call last):
        ValueError: seeds must be at most 10000, got 1000000000
    """
    for entry in dataclasses.fields(options):
        value = getattr(options, entry.name)
        if dataclasses.is_dataclass(value):
            check_limits(value)
        elif isinstance(value, int) and value > (most := MOST.get(entry.name, value)):
            raise ValueError(f"{entry.name} must be at most {most}, got {value}")


def parse_known(kind: type[T], arguments: Arguments, program: str, default: T) -> T:
    """The same from those arguments that are fields of the dataclass; others are passed over."""
    import tyro

    known = [word for word in arguments if word not in ("-h", "--help")]
    return tyro.cli(kind, args=known, prog=program, default=default, return_unknown_args=True)[0]


def value_of(option: str, arguments: Arguments, default: str) -> str:
    """The value given to an option, with a space or an equals sign."""
    for k, argument in enumerate(arguments):
        if argument == option and k + 1 < len(arguments):
            return arguments[k + 1]
        if argument.startswith(f"{option}="):
            return argument.removeprefix(f"{option}=")
    return default


def take_option(option: str, arguments: Arguments) -> tuple[str, Arguments]:
    """The value given to an option, '' without one, and the other arguments.

    Example:
        >>> take_option("--epochs", ["--epochs", "3", "--steps=9"])
        ('3', ['--steps=9'])
    """
    for k, argument in enumerate(arguments):
        if argument == option and k + 1 < len(arguments):
            return arguments[k + 1], arguments[:k] + arguments[k + 2 :]
        if argument.startswith(f"{option}="):
            return argument.removeprefix(f"{option}="), arguments[:k] + arguments[k + 1 :]
    return "", arguments


def use_full_names(arguments: Arguments) -> Arguments:
    """The same arguments with the full name of an option in place of its alias.

    Example:
        >>> use_full_names(["--lr", "0.1", "--batch-size=8"])
        ['--learning-rate', '0.1', '--batch=8']
    """
    parts = (argument.partition("=") for argument in arguments)
    return [ALIASES.get(name, name) + equals + value for name, equals, value in parts]


def expand_sweep(arguments: Arguments, swept: Collection[str]) -> list[Arguments]:
    """One list of arguments for each combination of the values given to these options.

    Example:
        >>> expand_sweep(["--beta", "1", "4", "--seeds", "2"], ["--beta"])
        [['--beta', '1', '--seeds', '2'], ['--beta', '4', '--seeds', '2']]
    """
    parts: list[list[Arguments]] = []  # the alternatives of each part
    words = iter(enumerate(arguments))
    for k, word in words:
        values = []
        if word in swept:
            rest = arguments[k + 1 :]
            values = list(itertools.takewhile(lambda each: not each.startswith("-"), rest))
        for _ in values:
            next(words)
        parts.append([[word, value] for value in values] or [[word]])
    return [list(itertools.chain(*chosen)) for chosen in itertools.product(*parts)]


def listed(verbs: Mapping[str, Callable[[Arguments], None]]) -> str:
    """One line a verb, from its docstring."""
    return "\n".join(f"  {name:<11}{verb.__doc__}" for name, verb in verbs.items())


def write(text: str, stream: Any = None) -> None:  # noqa: ANN401
    """One line, or a page."""
    print(text, file=stream)


def fail(message: str) -> NoReturn:
    """One line on standard error, exit code 2."""
    write("unpick: " + " ".join(message.split()), sys.stderr)
    sys.exit(2)


def load_function(target: str) -> Callable[..., Any]:
    """Load the function that FILE.py:function names; the file is run."""
    from unpick.source_files import find_function, import_file, split_target

    file, name = split_target(target)
    return find_function(call_user_function(target, import_file, file), name)


def call_user_function(
    target: str,
    function: Callable[..., Any],
    *given: Any,  # noqa: ANN401
    ours: tuple[type[Exception], ...] = (),
) -> Any:  # noqa: ANN401
    """Call a user's function; if it raises, print the traceback and one line, and exit 2.

    Args:
        target: How the user named the function.
        function: The function, or one of ours that calls it.
        given: Its arguments.
        ours: Errors that are our own words about a mistake; they pass through.
    """
    try:
        return function(*given)
    except ours:
        raise
    except Exception as error:
        traceback.print_exc()
        fail(f"{target} failed, see above: {type(error).__name__}: {error}")
