"""Worker processes with one thread each, and allocator settings for training."""

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Any

import torch
from threadpoolctl import threadpool_limits

# State of a worker process, set by `_start_worker`.
_reports: Any = None
_stop: Any = None


class Workers:
    """Worker processes that run `work(*arguments, on_report)` and send reports to this process.

    Workers end when this process ends. On exit it sets a stop flag, which workers check with every
    report. If it is killed, they notice within half a second that their parent is gone.

    A worker may also be killed at any moment, even while it writes a report. Therefore reports
    are read in a thread that may hang, no process waits for a queue to be emptied, and the stop
    flag is one byte of shared memory without a lock.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        context = multiprocessing.get_context("spawn")
        self.reports, self.stop = context.Queue(), context.RawValue("b", 0)
        self.reports.cancel_join_thread()
        setup = (self.reports, self.stop, os.getpid())
        self.pool = ProcessPoolExecutor(jobs, context, initializer=_start_worker, initargs=setup)

    def __enter__(self) -> "Workers":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop.value = 1
        self.pool.shutdown(cancel_futures=True)

    def run(
        self,
        work: Callable[..., Any],
        arguments: Sequence[tuple[Any, ...]],
        on_report: Callable[[Any], None],
    ) -> list[Any]:
        """Results of all calls, in the order they finish; `on_report` gets each report."""
        with ignore_sigint():
            # The pool starts a process with each call, and watches it only from the next call on.
            # Empty calls first, so that it watches every process that does work.
            for _ in range(self.jobs):
                self.pool.submit(_no_op)
            futures = {self.pool.submit(_call, work, *each) for each in arguments}
        reader = threading.Thread(target=self._read, args=(on_report,), daemon=True)
        reader.start()
        results: list[Any] = []
        try:
            while futures:
                # A signal that another thread handles does not wake this one, hence the timeout.
                done, futures = wait(futures, timeout=0.5, return_when=FIRST_COMPLETED)
                results += [future.result() for future in done]
        except BrokenProcessPool:
            raise ChildProcessError(
                "a worker process was killed, perhaps for want of memory; "
                "the same command goes on from the last checkpoint"
            ) from None
        self.reports.put(None)
        reader.join(timeout=1.0)
        return results

    def _read(self, on_report: Callable[[Any], None]) -> None:
        while (report := self.reports.get()) is not None:
            on_report(report)


@contextlib.contextmanager
def ignore_sigint() -> Iterator[None]:
    """Child processes started inside this block ignore SIGINT; the parent forwards the stop."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _start_worker(reports: Any, stop: Any, parent: int) -> None:  # noqa: ANN401
    global _reports, _stop
    _reports, _stop = reports, stop
    reports.cancel_join_thread()
    threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()
    torch.set_num_threads(1)
    threadpool_limits(1)  # of NumPy's products
    keep_memory()


def _exit_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _no_op() -> None:
    pass


def _call(work: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401
    return work(*arguments, _send_report)


def _send_report(report: Any) -> None:  # noqa: ANN401
    if _stop.value:
        raise KeyboardInterrupt
    _reports.put(report)


def keep_memory() -> None:
    """Tell the C library to keep freed memory instead of returning it to the system.

    Training allocates and frees the same large buffers every step. Requesting them anew takes up
    to a third of the time of a convolutional step on a CPU. Only glibc has this setting.
    """
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "mallopt"):
        trim_threshold, top_pad, mmap_max = -1, -2, -4
        library.mallopt(mmap_max, 0)
        library.mallopt(trim_threshold, 2**31 - 1)
        library.mallopt(top_pad, 64 * 2**20)
