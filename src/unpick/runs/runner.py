"""How runs are made: one value that commands and studies hand on."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from unpick.names import check_choices
from unpick.runs.workers import Workers


@dataclass(frozen=True)
class Runner:
    """Where runs lie and how missing ones are made.

    Attributes:
        root: The folder of run folders.
        jobs: Worker processes; 0 is one a core.
        progress: Whether to show progress bars.
        where: In worker processes, or all in this process.
        device: Where tensors live.
        checkpoint_seconds: Time between checkpoints.

    Example:
        >>> Runner(Path("runs"), jobs=3).workers
        3
    """

    root: Path = Path("runs")
    jobs: int = 0
    progress: bool = True
    where: Literal["processes", "here"] = "processes"
    device: Literal["cpu"] = "cpu"
    checkpoint_seconds: float = 20.0

    def __post_init__(self) -> None:
        check_choices(self)
        if self.jobs < 0:
            raise ValueError(f"jobs must be at least 0, got {self.jobs}")
        if not self.checkpoint_seconds >= 0:
            raise ValueError(
                f"checkpoint_seconds must be at least 0, got {self.checkpoint_seconds}"
            )

    @property
    def workers(self) -> int:
        """How many processes work at a time."""
        return 1 if self.where == "here" else self.jobs or os.cpu_count() or 1

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
            on_progress: Called here with what the calls report.
        """
        processes = min(self.workers, len(arguments))
        if processes > 1:
            with Workers(processes) as workers:
                workers.run(function, arguments, on_progress)
        else:
            for each in arguments:
                function(*each, on_progress)
