"""Kill training at every file operation, with torn writes; resume; compare with a run left alone.

`python tests/torture/kills.py` enumerates all points of all plans. A plan is an ensemble, what
happens at a file operation (a kill, or a disk that is full from then on), perhaps a second kill
while the run resumes, and the company in which it resumes. Afterwards weights, results and logs
must be those of a run that nobody disturbed, and nothing else may lie in its folder.
"""

import contextlib
import errno
import io
import os
import random
import sys
import tempfile
import traceback
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from unpick.data.shapes3d import Shapes3D
from unpick.data.synthetic import SynthLin
from unpick.models import MLP, Conv, ModelConfig
from unpick.objectives import AE, BetaTCVAE, BetaVAE, FactorVAE
from unpick.runs import Runner, make
from unpick.training import Adagrad, Adam, RunConfig, loop

BASE = RunConfig(
    SynthLin(points=100),
    ModelConfig(2, network=MLP((5,), "tanh", (7,), "tanh")),
    BetaVAE(0.01),
    steps=6,
    batch=9,
)
CONV = Conv(((3, 4, 2, 1),), (), (), 3, (), encoder_norm=1)
WIDE = ModelConfig(3, network=MLP((50, 50), "tanh", (50, 50), "tanh"))  # in company it rounds
FULL = ModelConfig(3, "full", network=BASE.model.network)
IMAGES = replace(BASE, data=Shapes3D(8), model=ModelConfig(2, network=CONV), steps=4)
FACTOR = FactorVAE(critic_width=4, critic_layers=1)


def seeds(config, n):
    return [replace(config, seed=seed) for seed in range(n)]


# Each is trained in one call; what can train together does.
ENSEMBLES = {
    "beta-vae, one diverges": [*seeds(BASE, 3), replace(BASE, optimiser=Adam(1e30))],
    "full covariance": seeds(replace(BASE, model=FULL), 2),
    "ae, adagrad": seeds(
        replace(
            BASE, objective=AE(), model=replace(BASE.model, posterior="delta"), optimiser=Adagrad()
        ),
        2,
    ),
    "beta-tcvae, by autograd": seeds(
        replace(BASE, objective=BetaTCVAE(), model=WIDE, batch=33, optimiser=Adam(1e-2)), 2
    ),
    "factor-vae, with a critic": seeds(replace(BASE, objective=FACTOR, steps=4), 1),
    "convolutions, batch norm": seeds(IMAGES, 1),
}
FILES = {
    "config.json",
    "environment.json",
    "latents.jsonl",
    "lock",
    "log.jsonl",
    "results.json",
    "weights.safetensors",
}
KILLED = 9


@dataclass(frozen=True)
class Plan:
    """What happens to one ensemble."""

    ensemble: str
    operation: int  # number of the file operation at which it happens, from 1
    full_disk: bool  # no space from there on, in place of a kill
    torn: float  # share of the bytes of that write that arrive
    second: int = 0  # operation of the resumed training at which it is killed, too; 0 is never
    alone: bool = False  # whether the members resume one by one


class Trouble:
    """Counts file operations, and kills the process or fills the disk at one of them."""

    def __init__(self, at: int = 0, torn: float = 0.0, full_disk: bool = False):
        self.at, self.torn, self.full_disk, self.count = at, torn, full_disk, 0

    def strike(self, needs_space: bool, file=None, content: bytes = b"") -> None:
        self.count += 1
        due = self.at and (self.count >= self.at if self.full_disk else self.count == self.at)
        if not due or (self.full_disk and not needs_space):
            return
        if file is not None:
            file.flush()
            os.write(file.fileno(), content[: int(self.torn * len(content))])
        if self.full_disk:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os._exit(KILLED)

    @contextlib.contextmanager
    def present(self):
        """Inside the block file operations of Python go through `strike`."""
        before = {name: getattr(os, name) for name in ("mkdir", "replace", "unlink", "fsync")}
        opened = io.open

        def wrap(name):
            def call(*args, **kwargs):
                self.strike(name == "mkdir")
                return before[name](*args, **kwargs)

            return call

        def open_file(file, mode="r", *args, **kwargs):
            writes = set(mode) & set("wax+")
            if writes:
                self.strike(needs_space=True)
            handle = opened(file, mode, *args, **kwargs)
            return Torn(handle, self) if writes else handle

        for name in before:
            setattr(os, name, wrap(name))
        io.open = open_file
        try:
            yield
        finally:
            io.open = opened
            for name, function in before.items():
                setattr(os, name, function)


class Torn:
    """A file whose writes may stop half way."""

    def __init__(self, file, trouble: Trouble):
        self._file, self._trouble = file, trouble

    def write(self, content: bytes) -> int:
        self._trouble.strike(True, self._file, content)
        return self._file.write(content)

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()


MEMORY = next((place for place in ("/dev/shm",) if os.path.isdir(place)), None)  # syncs at once


def train(configs, root: Path):
    runner = Runner(root, jobs=1, progress=False, device="cpu", checkpoint_seconds=0.0)
    with contextlib.redirect_stderr(io.StringIO()):  # who diverges says so
        return make(configs, runner)


def in_a_child(configs, root: Path, trouble: Trouble) -> tuple[int, int]:
    """Train in a forked process: its exit code, and the file operations it came to."""
    ours, theirs = os.pipe()
    if not (child := os.fork()):
        code = 1
        try:
            with trouble.present(), contextlib.suppress(OSError):
                train(configs, root)
                code = 0
            os.write(theirs, str(trouble.count).encode())
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(theirs)
    _, status = os.waitpid(child, 0)
    with os.fdopen(ours) as pipe:
        return os.waitstatus_to_exitcode(status), int(pipe.read() or 0)


def outcome(run) -> tuple:
    """What must not depend on any trouble."""
    varying = ("seconds", "digest", "files")
    results = {name: value for name, value in run.results.items() if name not in varying}
    return (
        results,
        (run.path / "log.jsonl").read_bytes(),
        (run.path / "latents.jsonl").read_bytes(),
    )


def check(plan: Plan, expected: list[tuple]) -> str:
    """Carry a plan out; what is wrong afterwards, or nothing."""
    configs = ENSEMBLES[plan.ensemble]
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        root = Path(name) / "runs"
        code, _ = in_a_child(configs, root, Trouble(plan.operation, plan.torn, plan.full_disk))
        if code != (1 if plan.full_disk else KILLED):
            return f"nothing happened: exit code {code}"
        if plan.second:
            in_a_child(configs, root, Trouble(plan.second, plan.torn))
        try:
            if plan.alone:
                for config in reversed(configs):
                    train([config], root)
            runs = train(configs, root)
        except Exception as error:
            return f"refused: {type(error).__name__}: {error}"
        for run, wanted in zip(runs, expected, strict=True):
            got = outcome(run)
            for what, a, b in zip(
                ("weights or results", "log", "latents"), got, wanted, strict=True
            ):
                if a != b:
                    return f"other {what}: {a} not {b}"[:300]
            if left := {file.name for file in run.path.iterdir()} - FILES:
                return f"left behind: {sorted(left)}"
    return ""


def expect(ensemble: str) -> tuple[list[tuple], int]:
    """What an undisturbed run gives, and how many file operations it takes."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        code, count = in_a_child(ENSEMBLES[ensemble], Path(name) / "counted", Trouble())
        assert code == 0
        return [outcome(run) for run in train(ENSEMBLES[ensemble], Path(name) / "whole")], count


def plans(ensemble: str, operations: int, rng: random.Random):
    """Every operation once, with the rest of the plan drawn; and then a disk that fills up."""
    for operation in range(1, operations + 1):
        second = rng.randrange(1, operations) if rng.random() < 0.3 else 0
        yield Plan(ensemble, operation, False, rng.random(), second, rng.random() < 0.3)
    for operation in rng.sample(range(1, operations + 1), operations // 4):
        yield Plan(ensemble, operation, True, rng.random(), 0, rng.random() < 0.3)


def torture(share: float = 1.0, seed: int = 0, ensembles=tuple(ENSEMBLES)) -> Counter:
    """Carry out a share of all plans; how many of each kind there were. Any failure raises."""
    torch.set_num_threads(1)
    rng, counts = random.Random(seed), Counter()
    with contextlib.ExitStack() as stack:
        stack.callback(setattr, loop, "LATENTS_EVERY", loop.LATENTS_EVERY)
        loop.LATENTS_EVERY = 2
        for ensemble in ensembles:
            expected, operations = expect(ensemble)
            for plan in plans(ensemble, operations, rng):
                if rng.random() >= share:
                    continue
                if wrong := check(plan, expected):
                    if wrong.startswith("nothing happened") and plan.full_disk:
                        counts["disk full too late to matter"] += 1
                        continue
                    raise AssertionError(f"{plan}: {wrong}")
                counts["full disks" if plan.full_disk else "kills"] += 1
                counts["second kills"] += bool(plan.second)
                counts["resumed in other company"] += plan.alone
            counts[f"operations of {ensemble}"] = operations
    return counts


if __name__ == "__main__":
    for number in range(int(sys.argv[1]) if sys.argv[1:] else 1):
        print(f"seed {number}: {dict(torture(seed=number))}", flush=True)
