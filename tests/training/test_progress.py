"""Progress where standard error is no terminal: a line every 30 s, and none before."""

import pytest

from unpick.training import progress
from unpick.training.progress import Bars, ProgressUpdate, status_line

FIRST = ProgressUpdate("a", "toy x 2", 10, 100, 5.0, "loss 1.5", {})


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands until it is set."""
    now = [1000.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_line_every_thirty_seconds(clock, capsys):
    with Bars() as bars:
        for seconds in range(0, 100, 10):
            clock[0] = 1000.0 + seconds
            bars.update(FIRST._replace(step=seconds))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("  ")[0] for line in lines] == [
        *(f"toy x 2 {step} of 100" for step in (30, 60, 90))
    ]
    assert all("loss 1.5" in line and "1/s" in line for line in lines)


def test_several_trainings_share_the_lines_and_say_how_much_of_everything_is_done(clock, capsys):
    with Bars(work=10.0) as bars:
        for key, seconds in (("a", 0), ("b", 0), ("a", 40), ("b", 41)):
            clock[0] = 1000.0 + seconds
            bars.update(FIRST._replace(key=key, step=100 if seconds else 0))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("everything 50 %  toy x 2 100 of 100")


def test_nothing_is_written_if_progress_is_off(clock, capsys):
    with Bars(enabled=False) as bars:
        bars.update(FIRST)
        clock[0] += 100
        bars.update(FIRST)
    assert capsys.readouterr().err == ""


def test_a_status_is_a_line_every_thirty_seconds_too(clock, capsys):
    with status_line("begin") as show:
        for text in ("one", "two", ""):
            clock[0] += 20
            show(text)
    assert capsys.readouterr().err == "two\n"
