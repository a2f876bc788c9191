"""Progress where standard error is no terminal: a line every 30 s, and none before."""

import pytest

from unpick.training import progress
from unpick.training.progress import Bars, Counts, ProgressUpdate, status_line, with_counts

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


def test_where_runs_on_a_cluster_stand_and_why_one_failed_is_told(clock, capsys):
    with Bars(work=10.0) as bars:
        counts = Counts(2, 3, 40, 5, 1, ("toy seed 9: out of memory",))
        bars.show_counts(counts)
        bars.show_counts(counts)
        clock[0] += 40
        bars.update(FIRST)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "failed: toy seed 9: out of memory"
    assert lines[1].startswith("everything 0 %  2 nodes, 3 running, 40 waiting, 5 done, 1 failed")
    assert len(lines) == 2


def test_a_cluster_measures_so_many_runs_in_what_is_left(clock):
    lines = []
    on_progress, on_counts = with_counts(lines.append)
    on_progress("MIG")
    clock[0] += 60
    on_counts(Counts(1, 2, 4, 3, 0))
    assert lines == [
        "MIG",
        "MIG  1 node, 2 running, 4 waiting, 3 done, 0 failed, about 0:02:00 left",
    ]


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
