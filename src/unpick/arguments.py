"""Arguments of the command line: parsed into dataclasses, and one line for every mistake."""

import contextlib
import io
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

Arguments = list[str]
T = TypeVar("T")


def parse(kind: type[T], arguments: Arguments, program: str, default: T | None = None) -> T:
    """The arguments as a dataclass; a mistake exits 2 with one line."""
    import tyro

    flat = (tyro.conf.OmitArgPrefixes, tyro.conf.AvoidSubcommands)
    options: dict[str, Any] = {} if default is None else {"default": default}
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return tyro.cli(kind, args=arguments, prog=program, config=flat, **options)
    except SystemExit as stop:
        if stop.code:
            fail(f"{one_line(complaint.getvalue())}; see `{program} --help`")
        raise


def one_line(complaint: str) -> str:
    """What is wrong, out of the paragraphs in which tyro tells it, with the options it suggests.

    They stand between rules, in a frame with the title on it, or without a frame below the title
    where the terminal has no characters to draw one.
    """
    paragraphs: list[list[str]] = [[]]
    for line in complaint.splitlines():
        text = line.strip(" │")
        if set(text) <= {*"─-"}:
            paragraphs.append([])
        elif text[0] not in "╭╰":
            paragraphs[-1].append(text)
    told = [paragraph for paragraph in paragraphs if paragraph]
    message, *rest = told if "╭" in complaint else told[1:]
    near = [
        text.split()[0].rstrip(",")
        for paragraph in rest
        for text in paragraph
        if text.startswith("--")
    ]
    said = re.sub(r"^Error parsing \w+: ", "", " ".join(message))
    return said + (
        f"; did you mean {' or '.join(near[:3])}?" if "Unrecognized" in said and near else ""
    )


def value_of(option: str, arguments: Arguments, default: str) -> str:
    """The value given to an option, with a space or an equals sign."""
    for k, argument in enumerate(arguments):
        if argument == option and k + 1 < len(arguments):
            return arguments[k + 1]
        if argument.startswith(f"{option}="):
            return argument.removeprefix(f"{option}=")
    return default


def listed(verbs: Mapping[str, Callable[[Arguments], None]]) -> str:
    """One line a verb, from its docstring."""
    return "\n".join(f"  {name:<10}{verb.__doc__}" for name, verb in verbs.items())


def write(text: str, stream: Any = None) -> None:  # noqa: ANN401
    """One line, or a page."""
    print(text, file=stream)


def fail(message: str) -> NoReturn:
    """One line on standard error, exit code 2."""
    write("unpick: " + " ".join(message.split()), sys.stderr)
    sys.exit(2)
