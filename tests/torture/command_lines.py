"""Give commands absurd arguments: each ends with exit code 0, or with 2 and one line.

`python tests/torture/command_lines.py [CASES]` draws commands and options with values from a list
of hostile ones. Trainings that are not refused have at most three steps. Commands that would start
long work or the network are left out: demo, report, data get, studies by their names.
"""

import contextlib
import io
import os
import random
import resource
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

import torch

from unpick.cli import main

MEMORY = next((place for place in ("/dev/shm",) if os.path.isdir(place)), None)
MEMORY_LIMIT = 2**33
SECONDS = 120  # until a case counts as hanging

WORDS = [
    "",
    " ",
    "-",
    "--",
    "a",
    "é🦆",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "None",
    "true",
    "[]",
    "0x10",
]
NUMBERS = [
    "-1",
    "0",
    "1",
    "2",
    "3",
    "0.5",
    "-0.0",
    "1e-300",
    "1e300",
    "3000000000",
    "1" * 30,
    "1" * 5000,
]
PATHS = [
    "/dev/null",
    "/dev/zero",
    "/nonexistent/x",
    ".",
    "..",
    "~",
    "a" * 5000,
    "x\x00y",
    "x.py:f",
    ":",
    "::",
]
FEW = ["-1", "0", "1", "3", "0.5", "nan", "1" * 30, "a", ""]  # of steps: no more
OPTIONS = {
    "--points": ["60", "9", "10", *NUMBERS],
    "--ratio": NUMBERS,
    "--data-seed": NUMBERS,
    "--latents": ["1", "200", "1000000", *NUMBERS],
    "--posterior": ["diagonal", "full", "delta", "dense"],
    "--likelihood": ["gaussian", "bernoulli", "poisson"],
    "--encoder": ["3", "0", "-1", "100000000"],
    "--beta": NUMBERS,
    "--learning-rate": NUMBERS,
    "--beta1": NUMBERS,
    "--batch": ["2", "8", "1", *NUMBERS],
    "--seed": NUMBERS,
    "--seeds": ["1", "2", "0", "-1", "1000000000", "10001", "1" * 30],
    "--steps": FEW,
    "--jobs": ["1", "0", "-1", "1" * 30],
    "--checkpoint-seconds": NUMBERS,
    "--device": ["cpu", "cuda", "cuda:99", "mps", "meta", "cpu:7", "xla", "tpu"],
    "--precision": ["fp32", "tf32", "bf16", "fp8"],
    "--network": ["mlp", "conv", "preset", "cnn"],
    "--optimiser": ["adam", "adagrad", "sgd"],
    "--preset": ["default", "thesis", "bhowal", "locatello", "nobody"],
    "--pairs": ["laplace", "share"],
    "--perturbed": PATHS,
    "--noisy": NUMBERS,
    "--model": PATHS,
    "--log": ["none", "wandb"],
}
BASE = {"--steps": "1", "--points": "60", "--batch": "8", "--jobs": "1", "--device": "cpu"}
OBJECTIVES = ["", "beta-vae", "ae", "beta-tcvae", "factor-vae", "dip-vae", "slow-vae", "nonsense"]
MEASURE = {
    "--samples": NUMBERS,
    "--draws": ["0", "-1", "2", "1" * 30],
    "--learner": ["fast", "slow"],
}
MEASURE |= {"--device": OPTIONS["--device"], "--model": PATHS}
VERBS = [
    "",
    "trian",
    "-1",
    "--",
    "é",
    "studies",
    "study",
    "measure",
    "diagnose",
    "stress",
    "perturb",
    "theory",
]


def draw(rng: random.Random, root: Path) -> list[str]:
    """A command line."""
    runs = ["--runs", str(root / "runs")]
    kind = rng.random()
    if kind < 0.75:  # train or perturb
        options = {**BASE}
        for name in rng.sample(list(OPTIONS), rng.choice([1, 1, 1, 2, 3])):
            options[name] = rng.choice(OPTIONS[name] + (WORDS if rng.random() < 0.3 else []))
        words = [word for pair in options.items() for word in pair]
        if rng.random() < 0.1:
            words.insert(rng.randrange(len(words)), rng.choice(WORDS + NUMBERS))
        data = rng.choice(["synth-lin"] * 6 + ["synth-nonlin", "circles", *PATHS, *WORDS])
        if rng.random() < 0.1:
            return ["perturb", data, *words, *runs, "--no-progress"]
        objective = [name] if (name := rng.choice(OBJECTIVES)) else []
        return ["train", data, *objective, *words, *runs, "--no-progress"]
    if kind < 0.85 and (made := sorted((root / "runs").glob("*-*"))):
        options = rng.sample(list(MEASURE), rng.randrange(1, 3))
        words = [word for name in options for word in (name, rng.choice(MEASURE[name]))]
        return ["measure", str(rng.choice(made)), *words]
    verb = rng.choice(VERBS)
    many = [rng.choice(WORDS + PATHS + NUMBERS) for _ in range(rng.randrange(4))]
    if verb == "theory":  # without a name it prints all of them
        many = [rng.choice(WORDS), *many]
    return [verb, *many]


def hang(*_):
    raise AssertionError("it hangs")


def torture(cases: int, seed: int = 0) -> Counter:
    """Run commands; how many there were of each exit code. A traceback or a hang raises."""
    torch.set_num_threads(1)
    rng, counts = random.Random(seed), Counter()
    memory, before = resource.getrlimit(resource.RLIMIT_AS), signal.signal(signal.SIGALRM, hang)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, memory[1]))
    try:
        with tempfile.TemporaryDirectory(dir=MEMORY) as name, contextlib.chdir(name):
            for case in range(cases):
                arguments = draw(rng, Path(name))
                code, err = call(arguments)
                shown = " ".join(repr(word)[:60] for word in arguments)
                assert code in (0, 2), f"case {case}: exit code {code} of {shown}: {err[-300:]}"
                assert "Traceback" not in err, f"case {case}: {shown}: {err[-300:]}"
                assert code == 0 or err.strip(), f"case {case}: in silence: {shown}"
                counts[f"exit {code}"] += 1
    finally:
        signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, memory)
    return counts


def call(arguments: list[str]) -> tuple[object, str]:
    """The exit code of a command, and what it wrote to standard error."""
    out, err = io.StringIO(), io.StringIO()
    signal.alarm(SECONDS)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main(arguments)
    except SystemExit as end:
        return end.code, err.getvalue()
    except BaseException as error:
        shown = " ".join(repr(word)[:60] for word in arguments)
        raise AssertionError(f"{shown}: {type(error).__name__}: {str(error)[:300]}") from error
    finally:
        signal.alarm(0)
    return None, err.getvalue()


if __name__ == "__main__":
    print(dict(torture(int(sys.argv[1]) if sys.argv[1:] else 3000)))
