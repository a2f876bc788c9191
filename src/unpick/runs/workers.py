"""Worker processes with one thread each, and memory settings that suit training."""

import contextlib
import ctypes
import multiprocessing
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.synchronize import Event
from types import TracebackType
from typing import Any

import torch

# The worker's side, set by `_enter` when a worker starts.
_reports: Any = None
_halt: Event | None = None


class Workers:
    """Processes that run `work(*arguments, show)` and report to this one.

    They end with this process, however it ends: on the way out it calls a halt, which they notice
    when they report; if it is killed, they notice within half a second that their parent is gone.
    """

    def __init__(self, jobs: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.reports, self.halt = context.Queue(), context.Event()
        setup = (self.reports, self.halt, os.getpid())
        self.pool = ProcessPoolExecutor(jobs, context, initializer=_enter, initargs=setup)

    def __enter__(self) -> "Workers":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.halt.set()
        self.pool.shutdown(cancel_futures=True)

    def run(
        self,
        work: Callable[..., Any],
        arguments: Sequence[tuple[Any, ...]],
        show: Callable[[Any], None],
    ) -> list[Any]:
        """The results of all calls, in order; `show` gets what they report meanwhile."""
        with deaf():
            futures = [self.pool.submit(_call, work, *each) for each in arguments]
        pending = set(futures)
        while pending:
            done, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
            while True:
                try:
                    show(self.reports.get_nowait())
                except queue.Empty:
                    break
            try:
                for future in done:
                    future.result()  # raises what the worker raised
            except BrokenProcessPool:
                raise ChildProcessError(
                    "a worker process was killed, perhaps for want of memory; "
                    "the same command goes on from the last checkpoint"
                ) from None
        return [future.result() for future in futures]


@contextlib.contextmanager
def deaf() -> Iterator[None]:
    """Processes started meanwhile ignore Ctrl-C for good; they hear of it from this one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _enter(reports: Any, halt: Event, parent: int) -> None:  # noqa: ANN401
    global _reports, _halt
    _reports, _halt = reports, halt
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    torch.set_num_threads(1)
    keep_memory()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _call(work: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401
    return work(*arguments, _show)


def _show(report: Any) -> None:  # noqa: ANN401
    assert _halt is not None
    if _halt.is_set():
        raise KeyboardInterrupt
    _reports.put(report)


def keep_memory() -> None:
    """Tell the C library to keep freed memory instead of returning it to the system.

    Training allocates and frees the same large buffers every step; fetching them anew each time
    costs up to a third of a convolutional step on a CPU. Only glibc has the switch.
    """
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "mallopt"):
        trim_threshold, top_pad, mmap_max = -1, -2, -4
        library.mallopt(mmap_max, 0)
        library.mallopt(trim_threshold, 2**31 - 1)
        library.mallopt(top_pad, 64 * 2**20)
