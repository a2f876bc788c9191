"""Damage run folders and twins' folders in every way; nothing of it may be taken for a result.

`python tests/torture/run_folders.py [CASES]` mutates one file of a folder at a time: bytes, JSON
values, its kind (a pipe, a link, a folder), files of another run in its place. What is read
afterwards must be what was written, or there must be an error of one sentence. Nothing hangs.
"""

import contextlib
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import torch

from unpick.data.shapes3d import Shapes3D
from unpick.data.synthetic import SynthLin
from unpick.data.twins import Perturbed, read_twin, save_twin
from unpick.models import MLP, ModelConfig
from unpick.objectives import BetaVAE
from unpick.runs import Runner, folder, make, read
from unpick.runs.executor import train_group
from unpick.training import RunConfig, loop

MEMORY = next((place for place in ("/dev/shm",) if os.path.isdir(place)), None)
RUN = RunConfig(
    SynthLin(points=100),
    ModelConfig(2, network=MLP((5,), "tanh", (7,), "tanh")),
    BetaVAE(0.01),
    steps=6,
    batch=9,
)
OTHER = replace(RUN, seed=1)
TWIN = Perturbed(Shapes3D(8), "0123456789ab")
MEMORY_LIMIT = 2**33  # bytes, so that a file without end is no end of the machine
SECONDS = 120  # until a case counts as hanging

HOSTILE = [
    None, True, False, -1, 0, 1, 2, 10**400, -(10**400), 2**63, 2**40, 0.5, -0.0, 1e308,
    "", "a", "../../etc/passwd", "\x00", "\ud800", "x" * 10_000, "NaN", "64 characters",
    [], [[]], [1], [None], {}, {"type": "RunConfig"}, {"type": []}, {"type": "SynthLin"},
]  # fmt: skip
RAW = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"NaN",
    b'{"step": 1e999}',
    b"[" * 100_000,
    b"\xff\xfe",
    b"\x00" * 64,
]


def mutate_bytes(content: bytes, rng: random.Random) -> bytes:
    kind, at = rng.randrange(6), rng.randrange(len(content) + 1)
    if kind == 0 and content:
        at %= len(content)
        return content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]
    if kind == 1:
        return content[:at]
    if kind == 2:
        return content[:at] + rng.randbytes(rng.randrange(1, 20)) + content[at:]
    if kind == 3:
        return content[:at] + content[at + rng.randrange(1, 50) :]
    return rng.choice(RAW) if kind == 4 else content[:at] + content[at:] * 2


def mutate_json(content: bytes, rng: random.Random) -> bytes:
    """Replace, remove or add a value somewhere in a document, or in a line of a log."""
    lines = content.splitlines() if b"\n{" in content else [content]
    at = rng.randrange(len(lines))
    document = json.loads(lines[at])
    place = document
    while True:
        if not isinstance(place, dict | list) or not place:
            return mutate_bytes(content, rng)
        key = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
        if not isinstance(place[key], dict | list) or rng.random() < 0.3:
            break
        place = place[key]
    kind = rng.randrange(5)
    if kind == 0:
        del place[key]
    elif kind == 1 and isinstance(place, dict):
        place[rng.choice(["extra", "", "step", "type"])] = rng.choice(HOSTILE)
    else:
        place[key] = rng.choice(HOSTILE)
    lines[at] = json.dumps(document).encode()
    return b"\n".join(lines) + b"\n" * (len(lines) > 1)


def damage(file: Path, others: Path, rng: random.Random) -> str:
    """Damage one file of a folder; says how."""
    kind = rng.choice(["bytes"] * 6 + ["json"] * 8 + ["kind"] * 2 + ["swap"])
    if kind == "json" and file.suffix in (".json", ".jsonl") and file.stat().st_size:
        file.write_bytes(mutate_json(file.read_bytes(), rng))
        return "a value of JSON"
    if kind == "swap":
        found = sorted(others.glob(f"{file.name.partition('-')[0]}*"))
        if found and file.name.startswith("checkpoint"):
            shutil.copy(found[0], file.parent)  # beside it, under its own name
        elif found:
            shutil.copy(found[0], file)
        return "a file of another folder"
    if kind != "kind":
        file.write_bytes(mutate_bytes(file.read_bytes(), rng))
        return "bytes"
    file.unlink()
    match rng.randrange(6):
        case 0:
            os.mkfifo(file)
        case 1:
            file.mkdir()
        case 2:
            file.symlink_to(file)
        case 3:
            file.symlink_to("/dev/zero")
        case 4:
            with file.open("wb") as sparse:
                sparse.truncate(2**38)
    return "another kind of file"


def runner(root: Path) -> Runner:
    return Runner(root, jobs=1, progress=False, device="cpu", checkpoint_seconds=1e9)


def contents(run) -> tuple:
    """All that people read off a run."""
    results = {k: v for k, v in run.results.items() if k not in ("seconds", "digest", "files")}
    weights = [weight.tolist() for weight in run.model().parameters()]
    latents = {name: values.tolist() for name, values in run.latents().items()}
    return run.config, results, run.log(), latents, weights


def look_at_finished(root: Path) -> tuple:
    run = read(folder(RUN, root))
    if run is None:  # without results.json it is trained again
        return resume(root)
    return contents(run)


def resume(root: Path) -> tuple:
    return contents(make([RUN], runner(root))[0])


def look_at_twin(root: Path) -> tuple:
    twin = read_twin(root / "twin")
    data = twin.load()
    return twin.original, twin.recipe, data.observe(torch.arange(50)).tolist()


def prepare(root: Path, twins: bool) -> dict:
    """The folders to damage, and what they hold: a finished run, a half-done one, a twin."""
    make([RUN], runner(root / "finished"))
    for config, place in ((RUN, "half"), (OTHER, "other half")):

        def press(update):
            if update.step >= 3:
                raise KeyboardInterrupt

        with contextlib.suppress(KeyboardInterrupt):
            train_group([config], runner(root / place), config.data.load(), press)
    make([OTHER], runner(root / "other"))
    generator = torch.Generator().manual_seed(0)
    for place, epsilon in (("twin", 0.1), ("other twin", 0.2)) if twins else ():
        table = (2 * torch.rand(4, 3, 8, 8, generator=generator) - 1) * epsilon
        level = torch.randint(4, (480_000,), generator=generator)
        (root / place).mkdir()
        save_twin(replace(TWIN, path=str(root / place / "twin")), epsilon, table, level)
    return {
        "finished run": (look_at_finished, root / "finished", folder(OTHER, root / "other")),
        "half-done run": (resume, root / "half", folder(OTHER, root / "other half")),
        "twin": (look_at_twin, root / "twin", root / "other twin" / "twin"),
    }


def hang(*_):
    raise AssertionError("it hangs")


def torture(
    cases: int, seed: int = 0, subjects=("finished run", "half-done run", "twin")
) -> Counter:
    """Damage folders; how many were refused, and how many changed nothing. A failure raises."""
    torch.set_num_threads(1)
    memory = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, memory[1]))
    counts, before = Counter(), (loop.LATENTS_EVERY, signal.signal(signal.SIGALRM, hang))
    loop.LATENTS_EVERY = 2
    try:
        with tempfile.TemporaryDirectory(dir=MEMORY) as name:
            prepared = prepare(Path(name), twins="twin" in subjects)
            for subject in subjects:
                look, original, others = prepared[subject]
                share = cases // len(subjects) if subject != "twin" else cases // 10
                counts += one_subject(subject, look, original, others, share, random.Random(seed))
    finally:
        loop.LATENTS_EVERY = before[0]
        signal.signal(signal.SIGALRM, before[1])
        resource.setrlimit(resource.RLIMIT_AS, memory)
    return counts


def one_subject(subject, look, original, others, cases, rng) -> Counter:
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        shutil.copytree(original, Path(name) / "0", dirs_exist_ok=True)
        expected = look(Path(name) / "0")
    counts = Counter()
    for case in range(cases):
        with tempfile.TemporaryDirectory(dir=MEMORY) as name:
            root = Path(name) / "copy"
            shutil.copytree(original, root)
            files = sorted(file for file in root.rglob("*") if file.is_file())
            file = rng.choice(files)
            how = f"{subject}, case {case}: {damage(file, others, rng)} of {file.name}"
            signal.alarm(SECONDS)
            try:
                with contextlib.redirect_stderr(io.StringIO()):
                    got = look(root)
            except (ValueError, OSError) as error:
                counts[f"{subject}: refused" if str(error).strip() else "in silence"] += 1
                continue
            except BaseException as error:
                raise AssertionError(f"{how}: {type(error).__name__}: {error}") from error
            finally:
                signal.alarm(0)
            assert got == expected, f"{how}: accepted"
            counts[f"{subject}: harmless"] += 1
    return counts


if __name__ == "__main__":
    print(dict(torture(int(sys.argv[1]) if sys.argv[1:] else 6000)))
