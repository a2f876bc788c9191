"""Progress on standard error: a line a training, with loss terms, speed and time left."""

from types import TracebackType
from typing import NamedTuple

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Column

from unpick.training.loop import Tick, Training


class Report(NamedTuple):
    """Where one training stands, in plain values that can cross to another process."""

    label: str
    step: int
    total: int
    terms: str
    stopped: dict[str, int]  # a name for each member whose loss stopped being finite, and when


def report(label: str, training: Training, tick: Tick) -> Report:
    """What to show of a tick: mean terms over the members that live."""
    alive = [k for k in range(len(training.configs)) if k not in training.stopped]
    terms = "  ".join(f"{name} {float(v[alive].mean()):.4g}" for name, v in tick.terms.items())
    stopped = {f"{label} seed {training.configs[k].seed}": s for k, s in training.stopped.items()}
    seeds = [config.seed for config in training.configs]
    whose = f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {min(seeds)}-{max(seeds)}"
    return Report(f"{label} {whose}", tick.step, training.config.steps, terms, stopped)


class Bars:
    """A bar a label; silent when not enabled, save for members that had to be stopped."""

    def __init__(self, enabled: bool = True) -> None:
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=10),
            TextColumn("{task.percentage:3.0f}%"),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(compact=True),
            TextColumn("{task.fields[terms]}", table_column=Column(ratio=1, no_wrap=True)),
            console=Console(stderr=True),
            expand=True,
            disable=not enabled,
        )
        self.tasks: dict[str, TaskID] = {}
        self.told: set[str] = set()

    def __enter__(self) -> "Bars":
        self.progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.progress.stop()

    def update(self, report: Report) -> None:
        """Show one report."""
        if report.label not in self.tasks:
            self.tasks[report.label] = self.progress.add_task(
                report.label, total=report.total, completed=report.step, speed="", terms=""
            )
        task = self.tasks[report.label]
        speed = next(t.speed for t in self.progress.tasks if t.id == task)
        shown = f"{speed:.4g}/s" if speed else ""
        self.progress.update(task, completed=report.step, terms=report.terms, speed=shown)
        for name, step in report.stopped.items():
            if name not in self.told:
                self.told.add(name)
                self.progress.console.print(f"{name}: loss not finite at step {step}; frozen")
