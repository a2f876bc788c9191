"""Progress on standard error: a line a training, with loss terms, speed and time left.

Where standard error is no terminal (a file, a cluster's log), a plain line is written every 30 s.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from types import TracebackType
from typing import NamedTuple

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

from unpick.training.config import RunConfig
from unpick.training.loop import Tick, Training

MOST_BARS = 20  # of single trainings, beside that of all
EVERY = 30.0  # seconds between lines where there is no terminal


class ProgressUpdate(NamedTuple):
    """Where one training stands, in plain values that can be sent to another process."""

    key: str  # identifies the training
    label: str
    step: int
    total: int
    work: float  # of the whole training, in any unit that trainings share
    terms: str
    stopped: dict[str, int]  # a name for each member that diverged, and when


class Counts(NamedTuple):
    """Where runs on a cluster stand."""

    nodes: int  # that work
    running: int
    waiting: int
    done: int
    failed: int
    reasons: tuple[str, ...] = ()  # of the failures

    def __str__(self) -> str:
        names = ("running", "waiting", "done", "failed")
        counts = (f"{getattr(self, name)} {name}" for name in names)
        return ", ".join([f"{self.nodes} node{'s' * (self.nodes != 1)}", *counts])


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


def is_live(console: Console) -> bool:
    """Whether what is printed can be drawn over: on a terminal and in a notebook."""
    return console.is_interactive or console.is_jupyter


class Lines:
    """Writes a line if the last one is 30 s old, the first after 30 s."""

    def __init__(self, console: Console) -> None:
        self.console, self.last = console, time.monotonic()

    def write(self, text: str, now: bool = False) -> None:
        """Write a text of one line, or pass it over unless it must be told now."""
        if text and (now or time.monotonic() - self.last >= EVERY):
            self.last = time.monotonic()
            self.console.print(text, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def status_line(text: str = "") -> Iterator[Callable[[str], None]]:
    """Show what is being done: a line that changes, or without a terminal one every 30 s.

    Args:
        text: What is done first.

    Yields:
        A function to call with what is done next; an empty text takes the line away.
    """
    console = Console(stderr=True)
    if not is_live(console):
        yield Lines(console).write
        return
    status = console.status(text)

    def show(text: str) -> None:
        status.update(text)
        (status.start if text else status.stop)()

    try:
        show(text)
        yield show
    finally:
        status.stop()


def with_counts(
    show: Callable[[str], object],
) -> tuple[Callable[[str], None], Callable[[Counts], None]]:
    """Two functions to report to: what is being done, and where all of it stands on a cluster.

    Args:
        show: Called with a line that has both, and the time left.
    """
    began, parts = time.monotonic(), {"text": "", "counts": ""}

    def on_progress(text: str) -> None:
        parts["text"] = text
        show("  ".join(part for part in parts.values() if part))

    def on_counts(counts: Counts) -> None:
        parts["counts"] = str(counts)
        if counts.done:
            rest = (counts.running + counts.waiting) / counts.done
            left = timedelta(seconds=round(rest * (time.monotonic() - began)))
            parts["counts"] += f", about {left} left"
        on_progress(parts["text"])

    return on_progress, on_counts


class Bars:
    """One progress bar for each training. If not enabled, only stopped members are printed.

    The display starts with the first update, so that an error before it is printed alone. Without
    a terminal, a line every 30 s takes the place of the bars.

    Args:
        enabled: Whether to show anything.
        work: Of all trainings together. If given, a first bar shows the total and the time left,
            and the bar of a finished training disappears.
    """

    def __init__(self, enabled: bool = True, work: float | None = None) -> None:
        console = Console(stderr=True)
        self.lines = Lines(console) if enabled and not is_live(console) else None
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=10),
            TextColumn("{task.percentage:3.0f}%"),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(compact=True),
            TextColumn("{task.fields[terms]}", table_column=Column(ratio=1, no_wrap=True)),
            console=console,
            expand=True,
            disable=not enabled or self.lines is not None,
            speed_estimate_period=300.0,
        )
        self.tasks: dict[str, TaskID] = {}
        self.began: dict[str, tuple[float, int]] = {}
        self.announced: set[str] = set()
        self.work, self.done, self.before = work or 0.0, dict[str, float](), dict[str, float]()
        self.whole = None if work is None else self._add("everything", work)
        self.counts = ""
        self.shown: set[str] = set()

    def __enter__(self) -> "Bars":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.progress.live.is_started:  # else it would print an empty line
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
            if over:
                self.shown.discard(update.key)
            elif len(self.shown) < MOST_BARS:
                self.shown.add(update.key)
            self.progress.update(task, visible=update.key in self.shown)
        if self.lines is not None:
            waits = update.work == 0 and update.key not in self.announced  # said at once
            self.lines.write(self._line(update, speed), now=waits)
            self.announced.add(update.key)
        for name in update.stopped.keys() - self.announced:
            self.announced.add(name)
            step = update.stopped[name]
            self.progress.console.print(f"{name}: diverged at step {step}, not finite; frozen")

    def show_counts(self, counts: Counts) -> None:
        """Show where runs on a cluster stand, and why some failed."""
        self.counts = str(counts)
        if self.whole is not None:
            self.progress.start()  # the first worker may take a while
            self.progress.update(self.whole, terms=self.counts)
        if self.lines is not None:
            self.lines.write(self.counts)
        for reason in counts.reasons:
            if reason not in self.announced:
                self.announced.add(reason)
                self.progress.console.print(Text(f"failed: {reason}"), soft_wrap=True)

    def _line(self, update: ProgressUpdate, speed: str) -> str:
        """Everything, if there are several trainings, then the one that was just updated."""
        whole = self.progress.tasks[0]  # everything, or the only training
        seconds = whole.time_remaining
        left = "" if seconds is None else f"{timedelta(seconds=round(seconds))} left"
        parts = [f"{update.label} {update.step} of {update.total}", speed, left, update.terms]
        if self.whole is not None:
            parts[:0] = [f"everything {whole.percentage:.0f} %", self.counts]
        return "  ".join(part for part in parts if part)

    def _add(self, label: str, total: float | int, completed: int = 0) -> TaskID:
        return self.progress.add_task(label, total=total, completed=completed, speed="", terms="")
