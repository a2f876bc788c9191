"""Stop on Ctrl-C (SIGINT) and SIGTERM at a moment when a checkpoint can be saved.

Inside `stoppable` a signal only leaves a note, and whoever trains looks at it between two steps.
A second signal changes nothing. Should nobody look for `PATIENCE` seconds, the note becomes a
KeyboardInterrupt wherever the main thread is; what was saved last stays as it is.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

PATIENCE = 4.0  # seconds; schedulers and people wait five
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """The signal that asked to stop, if there was one."""

    def __init__(self) -> None:
        self.signal, self.since = 0, 0.0
        self.reminder: threading.Timer | None = None

    def request(self, number: int, frame: FrameType | None = None) -> None:
        """Handle a signal."""
        if not self.signal:
            self.signal, self.since = number, time.monotonic()
            self.reminder = threading.Timer(PATIENCE, signal.raise_signal, [number])
            self.reminder.daemon = True
            self.reminder.start()
        elif time.monotonic() - self.since >= PATIENCE:
            raise KeyboardInterrupt(self.signal)

    def check(self) -> None:
        """Raise KeyboardInterrupt with the signal's number if there was one."""
        if self.signal:
            raise KeyboardInterrupt(self.signal)


def checked(report: Callable[[Any], None], stop: Stop) -> Callable[[Any], None]:
    """The same function, which raises KeyboardInterrupt after a call if a stop was asked for."""

    def call(update: Any) -> None:  # noqa: ANN401
        report(update)
        stop.check()

    return call


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Inside the block signals leave a note; in other threads than the main one nothing changes.

    At the end of the block a note that nobody has looked at becomes a KeyboardInterrupt.
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before: dict[signal.Signals, Any] = {}
    try:
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                before[number] = signal.signal(number, stop.request)
        yield stop
        stop.check()
    finally:
        if stop.reminder is not None:
            stop.reminder.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def signals_held() -> Iterator[None]:
    """Inside the block signals wait; processes started inside never receive them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def receive_sigterm(handler: Any) -> None:  # noqa: ANN401
    """In a process started while signals were held, receive SIGTERM again; never SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, handler)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
