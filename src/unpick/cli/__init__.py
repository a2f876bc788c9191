"""The command line: parse, call, print. Commands import heavy modules when they run."""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

from unpick.arguments import Arguments, fail, listed, parse, write
from unpick.cli.completion import completion
from unpick.cli.data import data
from unpick.cli.diagnose import diagnose
from unpick.cli.explore import explore
from unpick.cli.forecast import forecast
from unpick.cli.measure import measure
from unpick.cli.perturb import perturb
from unpick.cli.report import report
from unpick.cli.select import select
from unpick.cli.stress import stress
from unpick.cli.study import studies, study
from unpick.cli.theory import theory
from unpick.cli.train import train
from unpick.names import pick


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Entry point of `unpick`; a mistake in the arguments prints one line and exits 2."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments in ([], ["-h"], ["--help"], ["help"]):
        write(HELP)
        sys.exit(0)
    if arguments == ["--version"]:
        from unpick import __version__

        write(__version__)
        sys.exit(0)
    if argv is None:  # this process is ours
        signal.signal(signal.SIGTERM, interrupt)
    try:
        pick(VERBS, arguments.pop(0), "command")(arguments)
    except BrokenPipeError:  # `unpick ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except (ValueError, OSError) as error:
        fail(str(error))
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "allocate" not in str(error):
            raise
        fail("out of memory; fewer points, latents, samples or jobs need less")
    except KeyboardInterrupt as stop:
        if argv is None:  # sent twice, it is the same wish
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        write("interrupted; run the same command again to go on", sys.stderr)
        sys.exit(128 + int(stop.args[0] if stop.args else signal.SIGINT))  # as shells have it
    sys.exit(0)


def interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Handle a signal as Python handles Ctrl-C."""
    raise KeyboardInterrupt(number)


@dataclass(frozen=True)
class DemoOptions:
    """Where the demo writes.

    Attributes:
        report: The folder of the report.
        runs: The folder of run folders; finished runs are read.
    """

    report: Path = Path("demo-report")
    runs: Path = Path("runs")


def demo(arguments: Arguments) -> None:
    """Show the main result on embedded data in about three minutes."""
    options = parse(DemoOptions, arguments, "unpick demo")
    from unpick.demo import demo as show
    from unpick.runs import keep_memory

    keep_memory()
    show(options.report, options.runs)


VERBS: dict[str, Callable[[Arguments], None]] = {
    "train": train,
    "measure": measure,
    "diagnose": diagnose,
    "forecast": forecast,
    "select": select,
    "explore": explore,
    "studies": studies,
    "study": study,
    "theory": theory,
    "perturb": perturb,
    "stress": stress,
    "report": report,
    "data": data,
    "demo": demo,
    "completion": completion,
}

HELP = f"""unpick shows why a variational autoencoder disentangles, and when it will not.

usage: unpick COMMAND [OPTIONS]

{listed(VERBS)}

`unpick COMMAND --help` prints its options; `unpick --version` prints the version."""
