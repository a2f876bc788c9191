"""Send Ctrl-C or SIGTERM to real trainings, twice and at random moments; then let them go on.

`python tests/torture/signals.py [CASES]`: each must leave a checkpoint of every run, no process,
exit code 130 or 143 and no traceback. The time from the first signal to the end is printed.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

SEEDS = 4
COMMAND = [
    *(sys.executable, "-c", "from unpick.cli import main; main()", "train", "synth-lin"),
    *("--points", "5000", "--steps", "1000000", "--seeds", str(SEEDS), "--no-progress"),
    *("--checkpoint-seconds", "1e6"),
]


def running(group: int) -> list[str]:
    """Processes of this group that still run; zombies do not."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, its_group = stat.read_text().rpartition(")")[2].split()[:3]
            if int(its_group) == group and state != "Z":
                found.append((stat.parent / "cmdline").read_text().replace("\x00", " "))
    return found


def stop(root: Path, number: int, jobs: int, whole_group: bool, gap: float, wait: float) -> float:
    """Train, send the signal twice, check what is left; seconds from the first signal."""
    process = subprocess.Popen(
        [*COMMAND, "--jobs", str(jobs), "--runs", str(root)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        while len([*root.glob("*/config.json")]) < SEEDS:
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.01)
        time.sleep(wait)
        started = time.monotonic()
        for pause in (gap, 0.0):
            with contextlib.suppress(ProcessLookupError):
                (os.killpg if whole_group else os.kill)(process.pid, number)
            time.sleep(pause)
        _, err = process.communicate(timeout=60)
        seconds = time.monotonic() - started
        assert process.returncode == 128 + number, (process.returncode, err)
        assert "Traceback" not in err, err
        until = time.monotonic() + 2  # the tracker of shared memory ends after its parent
        while (left := running(process.pid)) and time.monotonic() < until:
            time.sleep(0.01)
        assert not left, left
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    left = Counter(file.parent for file in root.glob("*/checkpoint-*"))
    assert [*left.values()] == [1] * SEEDS, left
    return seconds


def torture(cases: int, seed: int = 0) -> list[float]:
    """Stop trainings in all ways; the seconds that each took. A failure raises."""
    rng, took = random.Random(seed), []
    for case in range(cases):
        number = (signal.SIGINT, signal.SIGTERM)[case % 2]
        jobs, whole_group = 1 + case // 2 % 2, bool(case // 4 % 2)
        gap, wait = rng.uniform(0.02, 0.3), rng.uniform(0.0, 0.5)
        with tempfile.TemporaryDirectory() as name:
            took.append(stop(Path(name), number, jobs, whole_group, gap, wait))
    return took


if __name__ == "__main__":
    seconds = torture(int(sys.argv[1]) if sys.argv[1:] else 40)
    middle = sorted(seconds)[len(seconds) // 2]
    print(f"{len(seconds)} trainings stopped, in {middle:.1f} s, at most {max(seconds):.1f} s")
