"""Progress on standard error: a line a training, with loss terms, speed and time left."""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import NamedTuple

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Column

from unpick.training.config import RunConfig
from unpick.training.loop import Tick, Training


class ProgressUpdate(NamedTuple):
    """Where one training stands, in plain values that can be sent to another process."""

    key: str  # identifies the training
    label: str
    step: int
    total: int
    work: float  # of the whole training, in any unit that trainings share
    terms: str
    stopped: dict[str, int]  # a name for each member that diverged, and when


def progress_update(training: Training, tick: Tick) -> ProgressUpdate:
    """What to show of a tick: terms are averaged over the members that still train."""
    configs, stopped = training.configs, training.stopped
    alive = [k for k in range(len(configs)) if k not in stopped]
    terms = "  ".join(f"{name} {float(v[alive].mean()):.4g}" for name, v in tick.terms.items())
    frozen = {
        f"{member_label(configs[k])} ({configs[k].identity()})": s for k, s in stopped.items()
    }
    label = (
        member_label(configs[0]) if len(configs) == 1 else f"{configs[0].label()} x {len(configs)}"
    )
    return ProgressUpdate(
        configs[0].identity(),
        label,
        tick.step,
        configs[0].steps,
        work(configs, sum(p.numel() for p in training.model.parameters()) // len(configs)),
        terms if alive else "",
        frozen,
    )


def work(configs: Sequence[RunConfig], weights: int) -> float:
    """Roughly the multiplications of members with so many weights each."""
    return float(len(configs) * configs[0].steps * configs[0].batch * weights)


def member_label(config: RunConfig) -> str:
    """Data set, objective and seed."""
    return f"{config.label()} seed {config.seed}"


class Bars:
    """One progress bar for each training. If not enabled, only stopped members are printed.

    The display starts with the first update, so that an error before it is printed alone.

    Args:
        enabled: Whether to show anything.
        work: Of all trainings together. If given, a first bar shows the total and the time left,
            and the bar of a finished training disappears.
    """

    def __init__(self, enabled: bool = True, work: float | None = None) -> None:
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
            speed_estimate_period=300.0,
        )
        self.tasks: dict[str, TaskID] = {}
        self.began: dict[str, tuple[float, int]] = {}
        self.announced: set[str] = set()
        self.work, self.done, self.before = work or 0.0, dict[str, float](), dict[str, float]()
        self.whole = None if work is None else self._add("everything", work)

    def __enter__(self) -> "Bars":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.tasks:
            self.progress.stop()

    def update(self, update: ProgressUpdate) -> None:
        """Show one update."""
        if not self.tasks:
            self.progress.start()
        if update.key not in self.tasks:
            self.began[update.key] = time.monotonic(), update.step
            self.tasks[update.key] = self._add(update.label, update.total, update.step)
        started, first = self.began[update.key]
        waited = time.monotonic() - started
        speed = f"{(update.step - first) / waited:.4g}/s" if waited > 0.2 else ""
        task = self.tasks[update.key]
        self.progress.update(task, completed=update.step, terms=update.terms, speed=speed)
        if self.whole is not None:
            # Steps done before this process do not count, or the speed would look too high.
            share = update.work / max(1, update.total)
            self.done[update.key] = share * (update.step - first)
            self.before[update.key] = share * first
            total = self.work - sum(self.before.values())
            self.progress.update(self.whole, completed=sum(self.done.values()), total=total)
            over = update.work > 0 and update.step == update.total  # waiting is no work
            self.progress.update(task, visible=not over)
        for name in update.stopped.keys() - self.announced:
            self.announced.add(name)
            step = update.stopped[name]
            self.progress.console.print(f"{name}: diverged at step {step}, not finite; frozen")

    def _add(self, label: str, total: float | int, completed: int = 0) -> TaskID:
        return self.progress.add_task(label, total=total, completed=completed, speed="", terms="")
