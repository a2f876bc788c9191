"""Worker processes with one thread each, and memory settings that suit training."""

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Any

import torch

# The worker's side, set by `_enter` when a worker starts.
_reports: Any = None
_halt: Any = None


class Workers:
    """Processes that run `work(*arguments, show)` and report to this one.

    They end with this process, however it ends: on the way out it calls a halt, which they notice
    when they report; if it is killed, they notice within half a second that their parent is gone.

    A worker may be killed too, at any moment, even half way through a report. So reports are read
    in a thread that may hang, nobody waits for a queue to be emptied, and the halt is a bare byte
    of shared memory without a lock.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        context = multiprocessing.get_context("spawn")
        self.reports, self.halt = context.Queue(), context.RawValue("b", 0)
        self.reports.cancel_join_thread()
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
        self.halt.value = 1
        self.pool.shutdown(cancel_futures=True)

    def run(
        self,
        work: Callable[..., Any],
        arguments: Sequence[tuple[Any, ...]],
        show: Callable[[Any], None],
    ) -> list[Any]:
        """The results of all calls, as they come; `show` gets what they report meanwhile."""
        with deaf():
            # The pool starts a process with each call, and only at the next one watches over it.
            for _ in range(self.jobs):
                self.pool.submit(_nothing)
            futures = [self.pool.submit(_call, work, *each) for each in arguments]
        reader = threading.Thread(target=self._read, args=(show,), daemon=True)
        reader.start()
        try:
            results = [future.result() for future in as_completed(futures)]
        except BrokenProcessPool:
            raise ChildProcessError(
                "a worker process was killed, perhaps for want of memory; "
                "the same command goes on from the last checkpoint"
            ) from None
        self.reports.put(None)
        reader.join(timeout=1.0)
        return results

    def _read(self, show: Callable[[Any], None]) -> None:
        while (report := self.reports.get()) is not None:
            show(report)


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


def _enter(reports: Any, halt: Any, parent: int) -> None:  # noqa: ANN401
    global _reports, _halt
    _reports, _halt = reports, halt
    reports.cancel_join_thread()
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    torch.set_num_threads(1)
    keep_memory()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _nothing() -> None:
    pass


def _call(work: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401
    return work(*arguments, _show)


def _show(report: Any) -> None:  # noqa: ANN401
    if _halt.value:
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
