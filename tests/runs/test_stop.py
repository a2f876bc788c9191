"""Signals leave a note, and the note is read where a checkpoint can be saved."""

import signal
import time

import pytest

from unpick.runs.stop import stoppable


@pytest.fixture(autouse=True)
def ctrl_c():
    """Who runs the tests in the background ignores Ctrl-C, and so would they."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_wait_until_somebody_looks(number):
    before = signal.getsignal(number)
    saved = []

    def train():
        with stoppable() as stop:
            signal.raise_signal(number)
            signal.raise_signal(number)
            saved.append(stop)
            stop.check()

    with pytest.raises(KeyboardInterrupt) as stopped:
        train()
    assert stopped.value.args == (number,)
    assert signal.getsignal(number) is before
    assert saved[0].reminder.finished.is_set()  # it raises no signal any more


def test_a_note_that_nobody_read_counts_at_the_end():
    with pytest.raises(KeyboardInterrupt), stoppable():
        signal.raise_signal(signal.SIGTERM)


def test_patience_ends(monkeypatch):
    monkeypatch.setattr("unpick.runs.stop.PATIENCE", 0.05)

    def train():
        with stoppable():
            signal.raise_signal(signal.SIGINT)
            for _ in range(6000):  # a step that takes too long
                time.sleep(0.01)
            raise AssertionError("nobody interrupted it")

    with pytest.raises(KeyboardInterrupt):
        train()


def test_who_ignores_ctrl_c_goes_on_ignoring_it():
    """As under nohup, or in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stoppable() as stop:
            signal.raise_signal(signal.SIGINT)
            stop.check()
    finally:
        signal.signal(signal.SIGINT, before)
