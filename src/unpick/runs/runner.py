"""How runs are made: one value that commands and studies hand on."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from unpick.devices import Precision, check_precision, find_device
from unpick.models import NetworkFactory
from unpick.names import check_choices
from unpick.runs.event_log import Log, check_installed
from unpick.runs.stop import checked, stoppable
from unpick.runs.workers import Workers
from unpick.source_files import import_function


@dataclass(frozen=True)
class Runner:
    """Where runs lie and how missing ones are made.

    Attributes:
        root: The folder of run folders.
        jobs: Worker processes; 0 is one a core, or one on a GPU.
        progress: Whether to show progress bars.
        where: In worker processes, or all in this process.
        device: Where tensors live: `auto` (a GPU if there is one), `cpu`, `cuda`, `cuda:1`, `mps`.
        checkpoint_seconds: Time between checkpoints.
        precision: Of matrix products: `fp32`, `tf32` (CUDA only) or `bf16`.
        network: FILE.py:function that makes networks of your own; that file is run.
        log: Whether to write event files for TensorBoard into the run folders, too.

    Example:
        >>> Runner(Path("runs"), jobs=3).workers
        3
    """

    root: Path = Path("runs")
    jobs: int = 0
    progress: bool = True
    where: Literal["processes", "here"] = "processes"
    device: str = "auto"
    checkpoint_seconds: float = 20.0
    precision: Precision = "fp32"
    network: str = ""
    log: Log = "none"

    def __post_init__(self) -> None:
        check_choices(self)
        check_precision(self.precision, find_device(self.device))
        check_installed(self.log)
        if self.jobs < 0:
            raise ValueError(f"jobs must be at least 0, got {self.jobs}")
        if not self.checkpoint_seconds >= 0:
            raise ValueError(
                f"checkpoint_seconds must be at least 0, got {self.checkpoint_seconds}"
            )

    @property
    def workers(self) -> int:
        """How many processes work at a time: by default one a core, or one on a GPU."""
        if self.where == "here":
            return 1
        on_cpu = find_device(self.device).type == "cpu"
        return self.jobs or (os.cpu_count() if on_cpu else 1) or 1

    @property
    def factory(self) -> NetworkFactory | None:
        """The function that `network` names; its file is run once in a process."""
        return _import_once(self.network) if self.network else None

    def run(
        self,
        function: Callable[..., None],
        arguments: Sequence[tuple[Any, ...]],
        on_progress: Callable[[Any], Any],
    ) -> None:
        """Call a function with each of the arguments, and last a function to report to.

        Args:
            function: Importable by name, since worker processes call it.
            arguments: One tuple a call.
            on_progress: Called here with what the calls report. Ctrl-C and SIGTERM reach a call as
                a KeyboardInterrupt when it reports.
        """
        processes = min(self.workers, len(arguments))
        with stoppable() as stop:
            if processes > 1:
                with Workers(processes, stop) as workers:
                    workers.run(function, arguments, on_progress)
                return
            for each in arguments:
                function(*each, checked(on_progress, stop))


@cache
def _import_once(target: str) -> NetworkFactory:
    """The function; raises if it has another name inside, which others in its file may share."""
    factory, name = import_function(target), target.rpartition(":")[2]
    if (own := getattr(factory, "__name__", name)) != name:
        raise ValueError(
            f"model must be a function defined by its name, since a run is named by it: {target} "
            f"is called {own!r}; write `def {name}(shape, latents, parameters):`"
        )
    return factory
