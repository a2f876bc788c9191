"""Worker processes with one thread each, and allocator settings for training."""

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from types import FrameType, TracebackType
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from unpick.runs.stop import Stop, receive_sigterm, signals_held

GRACE = 3.0  # seconds in which workers save what they have done, after a stop

# State of a worker process, set by `_start_worker`.
_reports: Any = None
_stop: Any = None
_at_work = False
_terminated = 0  # the number of SIGTERM once it came


class Workers:
    """Worker processes that run `work(*arguments, on_report)` and send reports to this process.

    Workers end when this process ends. On exit it sets a stop flag, which workers check with every
    report; one that does not end in time is killed. If this process is killed, they notice it at
    once. A worker that receives SIGTERM stops by itself, at its next report.

    A worker may also be killed at any moment, even while it writes a report. Therefore reports
    are read in a thread that may hang, no process waits for a queue to be emptied, and the stop
    flag is one byte of shared memory without a lock.

    Args:
        jobs: Number of processes.
        stop: Says when to stop.
    """

    def __init__(self, jobs: int, stop: Stop | None = None) -> None:
        self.jobs, self.asked = jobs, stop or Stop()
        self.processes: list[BaseProcess] = []
        context = multiprocessing.get_context("spawn")
        self.reports, self.stop = context.Queue(), context.RawValue("b", 0)
        self.reports.cancel_join_thread()
        setup = (self.reports, self.stop)
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
        self.pool.shutdown(wait=False, cancel_futures=True)
        until = time.monotonic() + GRACE
        while alive := [each for each in self.processes if each.is_alive()]:
            if not connection.wait([p.sentinel for p in alive], max(0, until - time.monotonic())):
                break
        for process in alive:
            process.kill()

    def run(
        self,
        work: Callable[..., Any],
        arguments: Sequence[tuple[Any, ...]],
        on_report: Callable[[Any], None],
    ) -> list[Any]:
        """Results of all calls, in the order they finish; `on_report` gets each report."""
        with signals_held():
            # The pool starts a process with each call, and watches it only from the next call on.
            # Empty calls first, so that it watches every process that does work.
            for _ in range(self.jobs):
                self.pool.submit(_no_op)
            futures = {self.pool.submit(_call, work, *each) for each in arguments}
            self.processes = list((self.pool._processes or {}).values())
        reader = threading.Thread(target=self._read, args=(on_report,), daemon=True)
        reader.start()
        results: list[Any] = []
        try:
            while futures:
                self.asked.check()
                done, futures = wait(futures, timeout=0.1, return_when=FIRST_COMPLETED)
                results += [future.result() for future in done]
        except BrokenProcessPool:
            self.asked.check()  # a signal to all processes of a group ends the workers, too
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


def _start_worker(reports: Any, stop: Any) -> None:  # noqa: ANN401
    global _reports, _stop
    _reports, _stop = reports, stop
    reports.cancel_join_thread()
    receive_sigterm(_terminate)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    torch.set_num_threads(1)
    threadpool_limits(1)  # of NumPy's products
    keep_memory()


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _terminate(number: int, frame: FrameType | None) -> None:
    """Handle SIGTERM: end at the next report, or now if there is nothing to save."""
    global _terminated
    _terminated = number
    if not _at_work:
        os._exit(128 + number)


def _no_op() -> None:
    pass


def _call(work: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401
    global _at_work
    _at_work = True
    try:
        _check_stop()
        return work(*arguments, _send_report)
    except KeyboardInterrupt:  # all is saved, and to unload PyTorch takes a second
        os._exit(128 + (_terminated or signal.SIGINT))
    finally:
        _at_work = False


def _check_stop() -> None:
    if _stop.value or _terminated:
        raise KeyboardInterrupt


def _send_report(report: Any) -> None:  # noqa: ANN401
    _check_stop()
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
