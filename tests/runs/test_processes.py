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


def wait_for(look, process):
    """What `look` finds, as soon as it finds something."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if found := look():
            return found
        time.sleep(0.01)
    return set()


def wait_for_checkpoint(root, process, but_not=frozenset()):
    return wait_for(lambda: {file.name for file in root.glob("*/checkpoint-*")} - but_not, process)


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
    expected = make(FOUR, Runner(tmp_path / "whole", jobs=1, progress=False))
    rng, root, seen = random.Random(0), tmp_path / "killed", set()
    for kill in (kill_a_worker, kill_the_parent, kill_everything):
        process = start(root, "--no-progress")
        seen |= wait_for_checkpoint(root, process, frozenset(seen))
        time.sleep(0.2 * rng.random())
        assert seen  # it was under way when it was killed
        kill(process)
        process.communicate()
    runs = make(FOUR, Runner(root, jobs=1, progress=False, checkpoint_seconds=0.1))
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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("send", "number", "jobs"),
    [
        (os.kill, signal.SIGINT, 2),
        (os.killpg, signal.SIGINT, 1),
        (os.kill, signal.SIGTERM, 1),
        (os.killpg, signal.SIGTERM, 2),
    ],
)
def test_a_signal_leaves_a_run_that_goes_on(tmp_path, send, number, jobs):
    """Sent twice, to the process or to all processes of a terminal, between two checkpoints."""
    options = ("--steps", "1000000", "--checkpoint-seconds", "1e6", "--jobs", str(jobs))
    process = start(tmp_path, *options)
    assert wait_for(lambda: len([*tmp_path.glob("*/config.json")]) == 4, process)
    for pause in (0.2, 0.0):
        time.sleep(pause)
        with contextlib.suppress(ProcessLookupError):
            send(process.pid, number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, err
    assert err.rstrip().endswith("run the same command again to go on")
    assert "Traceback" not in err
    deadline = time.monotonic() + 10  # the tracker of shared memory ends after its parent
    while running(process.pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not running(process.pid)
    assert len({*tmp_path.glob("*/checkpoint-*")}) == 4  # one for each seed
    assert not [run for run in tmp_path.iterdir() if read(run)]


def running(group):
    """Processes of a group that still run; zombies do not."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            _, _, rest = stat.read_text().rpartition(")")
            state, _, its_group = rest.split()[:3]
            if int(its_group) == group and state != "Z":
                found.append(stat)
    return found
