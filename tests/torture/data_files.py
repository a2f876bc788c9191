"""Spoil data files of every kind that is read, and what is cached of them, and load them.

`python tests/torture/data_files.py [CASES] [SEED]` prints how many cases ended how. A case is
refused in one line, or gives the same numbers, or other numbers where no checksum could tell. A
traceback, a case that hangs, and other numbers in spite of a checksum are failures.
"""

import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from unittest.mock import patch

import torch

sys.path.append(str(Path(__file__).parents[1]))

from torture.data_kinds import KINDS, small_sets
from torture.mutations import spoil

PATIENCE = 20.0  # seconds


class Hang(BaseException):
    """No parser's `except Exception` may swallow it."""


def numbers(dataset):
    """All that a training would see of a data set."""
    rows = torch.arange(0, len(dataset), max(1, len(dataset) // 500))
    seen = dataset.observe(rows).numpy().tobytes()
    return seen + (dataset.factor_values(rows).numpy().tobytes() if dataset.factors else b"")


def outcome(sample, truth):
    """What loading ends in: refused, same, other, or a failure."""

    def give_up(*_):
        raise Hang

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE, PATIENCE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = numbers(sample.load())
    except Hang:
        return "FAILED: hangs"
    except (ValueError, OSError) as error:  # what the command line prints in one line
        return "refused" if "\n" not in str(error) else f"FAILED: several lines: {error}"
    except Exception as error:
        return f"FAILED: {type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    if found == truth:
        return "same"
    return "FAILED: other numbers in spite of a checksum" if sample.summed else "other"


def torture(cases, seed=0, kinds=tuple(KINDS)):
    """Count how the cases end, by kind of data; and list the failures."""
    counts, failures = {kind: Counter() for kind in kinds}, []
    with tempfile.TemporaryDirectory() as top, small_sets():
        work, whole = Path(top, "work"), Path(top, "whole")
        with patch.dict(os.environ, {"UNPICK_DATA": str(work / "cache")}):
            for number, kind in enumerate(kinds):
                shutil.rmtree(work, ignore_errors=True)
                shutil.rmtree(whole, ignore_errors=True)
                (work / "files").mkdir(parents=True)
                (work / "cache").mkdir()
                sample = KINDS[kind](work / "files")
                keep = sample.before
                if not keep:
                    shutil.copytree(work, whole, symlinks=True)
                truth = numbers(sample.load())
                if keep:
                    shutil.copytree(work, whole, symlinks=True)
                for case in range(number, cases, len(kinds)):
                    shutil.rmtree(work)
                    shutil.copytree(whole, work, symlinks=True)
                    rng = random.Random(f"{seed} {case}")
                    files = sorted(f for f in (work / "files").glob(sample.files) if f.is_file())
                    if not files:
                        files = sorted(f for f in (work / "files/x").glob("*") if f.is_file())
                    done = spoil(rng.choice(files), [Path(__file__), *files], rng)
                    end = outcome(sample, truth)
                    counts[kind][end.partition(":")[0]] += 1
                    if end.startswith("FAILED"):
                        failures.append(f"seed {seed}, case {case}, {kind}, {done}: {end}")
    return counts, failures


if __name__ == "__main__":
    cases, seed = (int(sys.argv[k]) if sys.argv[k:] else d for k, d in ((1, 4000), (2, 0)))
    started = time.monotonic()
    counts, failures = torture(cases, seed)
    for kind, ends in counts.items():
        print(f"{kind:28} {dict(ends)}")
    print(*failures, sep="\n")
    total = sum(counts.values(), Counter())
    print(f"{sum(total.values())} cases, {time.monotonic() - started:.0f} s: {dict(total)}")
    sys.exit(bool(failures))
