"""Runs with real processes and real signals."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from unpick.data.synthetic import SynthLin
from unpick.runs import Runner, make, read
from unpick.training import preset

# A process takes two seconds to import torch, so they are as few as will do.

LONG = replace(preset("synth-lin"), data=SynthLin(points=5000), steps=3000)
FOUR = [replace(LONG, seed=s) for s in range(4)]
COMMAND = [
    *(sys.executable, "-c", "from unpick.cli import main; main()"),
    *("train", "synth-lin", "--seeds", "4", "--steps", "3000", "--jobs", "2"),
    *("--points", "5000", "--checkpoint-seconds", "0.1", "--runs"),
]


STARTED = []


@pytest.fixture(autouse=True)
def nothing_is_left_running():
    yield
    while STARTED:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(STARTED.pop().pid, signal.SIGKILL)


def start(root, *more):
    process = subprocess.Popen(
        [*COMMAND, str(root), *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # Who runs the tests in the background ignores Ctrl-C, and so would this process.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    STARTED.append(process)
    return process


def finish(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return [read(Path(line.split("  ")[0])) for line in out.splitlines()], err


def wait_for_checkpoint(root, process, but_not=frozenset()):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        there = {file.name for file in root.glob("*/checkpoint-*")} - but_not
        if there:
            return there
        time.sleep(0.01)
    return set()


def digests(runs):
    return [run.results["weights_sha256"] for run in runs]


def children(process):
    """Ids of the worker processes."""
    found = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(c) for c in found if b"spawn_main" in Path(f"/proc/{c}/cmdline").read_bytes()]


def kill_a_worker(process):
    os.kill(children(process)[-1], signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "a worker process was killed" in err
    assert err.count("\n") == 1


def kill_the_parent(process):
    process.kill()  # the workers must notice and let go of their locks


def kill_everything(process):
    os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.slow
def test_killed_at_any_moment_it_ends_with_the_same_weights(tmp_path):
    expected = [
        run
        for two in (FOUR[:2], FOUR[2:])
        for run in make(two, Runner(tmp_path / "whole", jobs=1, progress=False))
    ]
    rng, root, seen = random.Random(0), tmp_path / "killed", set()
    for kill in (kill_a_worker, kill_the_parent, kill_everything):
        process = start(root, "--no-progress")
        seen |= wait_for_checkpoint(root, process, frozenset(seen))
        time.sleep(0.2 * rng.random())
        assert seen  # it was under way when it was killed
        kill(process)
        process.communicate()
    runs = make(FOUR, Runner(root, jobs=2, progress=False, checkpoint_seconds=0.1))
    assert [run.path.name for run in runs] == [run.path.name for run in expected]
    assert digests(runs) == digests(expected)
    assert [record["step"] for record in runs[0].log()] == list(range(15, 3001, 15))
    assert not [file for file in root.rglob("*") if file.name.startswith((".", "checkpoint"))]


@pytest.mark.slow
def test_two_processes_share_one_run(tmp_path):
    processes = [start(tmp_path, "--jobs", "1", "--steps", "6000") for _ in range(2)]
    (first, err_1), (second, err_2) = (finish(process) for process in processes)
    assert digests(first) == digests(second)
    assert [run.path for run in first] == [run.path for run in second]
    assert "waiting for another process" in err_1 + err_2


def wait_until_it_waits(process):
    """Until it or a worker of it wants a lock."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with contextlib.suppress(FileNotFoundError):
            for each in (process.pid, *children(process)):
                opened = [os.readlink(file) for file in Path(f"/proc/{each}/fd").iterdir()]
                if any(file.endswith("/lock") for file in opened):
                    return
        time.sleep(0.01)
    raise AssertionError("nobody got as far as the locks")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("send", "jobs"), [(os.kill, 2), (os.killpg, 1)], ids=["parent", "terminal"]
)
def test_ctrl_c_leaves_a_run_that_goes_on(tmp_path, send, jobs):
    """Sent to a process whose workers train, and to one that waits, itself or its workers."""
    process = start(tmp_path, "--steps", "1000000")
    assert wait_for_checkpoint(tmp_path, process)
    os.killpg(process.pid, signal.SIGSTOP)  # with its locks, while the second starts
    second = start(tmp_path, "--steps", "1000000", "--jobs", str(jobs))
    wait_until_it_waits(second)
    os.killpg(process.pid, signal.SIGCONT)
    for waiting in (second, process):
        send(waiting.pid, signal.SIGINT)
        _, err = waiting.communicate(timeout=120)
        assert waiting.returncode == 130
        assert err.rstrip().endswith("run the same command again to go on")
        assert "Traceback" not in err
    assert list(tmp_path.glob("*/checkpoint-*"))
    assert not [run for run in tmp_path.iterdir() if read(run)]
