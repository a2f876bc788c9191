"""Locks of run folders."""

import errno
import os
from pathlib import Path

import pytest

import unpick.runs
from unpick.runs.lock import locked, try_lock


def press_ctrl_c(update):
    assert "waiting for another process" in update.label
    raise KeyboardInterrupt


def ignore(update):
    pass


def test_who_waits_for_a_lock_reports_and_can_be_stopped(tmp_path):
    with try_lock(tmp_path) as held:
        assert held
        with try_lock(tmp_path) as again:
            assert not again
        with pytest.raises(KeyboardInterrupt), locked([tmp_path], press_ctrl_c):
            pass
    with locked([tmp_path], press_ctrl_c):  # free again
        pass


def test_a_lock_leaves_files_as_they_are(tmp_path):
    """A link named `lock` must not empty the file that it leads to."""
    precious, run = tmp_path / "precious", tmp_path / "run"
    precious.write_text("content")
    run.mkdir()
    (run / "lock").symlink_to(precious)
    with pytest.raises(OSError, match=r"run/lock cannot be locked"), locked([run], ignore):
        pass
    (run / "lock").unlink()
    os.link(precious, run / "lock")
    with locked([run], ignore):
        pass
    assert precious.read_text() == "content"


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_without_locks_nothing_is_shared(tmp_path, monkeypatch, number):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", refuse)
    with (
        pytest.raises(OSError, match=r"cannot be locked .*another file system"),
        locked([tmp_path], ignore),
    ):
        pass


def test_runs_need_nothing_that_windows_lacks():
    """Its locks stand behind filelock, too."""
    for file in Path(unpick.runs.__file__).parent.glob("*.py"):
        assert "fcntl" not in file.read_text(), file
