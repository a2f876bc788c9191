"""How long a twin takes to make, estimated from a few steps on this machine."""

import time
from collections.abc import Callable

import torch

from unpick.data import Dataset
from unpick.devices import find_device, threads
from unpick.models import build
from unpick.perturb.config import PerturbConfig
from unpick.perturb.contest import Contest
from unpick.perturb.make_twin import refit_batches
from unpick.runs import Runner, folder
from unpick.runs.executor import plan, trains_together
from unpick.training import Training

LONG_ENOUGH = 0.3  # seconds of steps that are timed


def estimate_seconds(config: PerturbConfig, dataset: Dataset, runner: Runner) -> float:
    """Roughly the time that restarts, change and refitted decoders take on this machine.

    Restarts that are there already cost nothing. Other work on the machine, now or later, makes
    the estimate wrong by its share.

    Args:
        config: The recipe.
        dataset: Its original data.
        runner: How the restarts are trained.
    """
    done = [(folder(c, runner.root) / "results.json").exists() for c in config.candidates()]
    missing = [c for c, there in zip(config.candidates(), done, strict=True) if not there]
    small = trains_together(config.base, dataset.shape, runner)
    seconds = 0.0
    if missing:
        groups = plan(missing, {config.base.data: dataset.shape}, runner)
        workers = min(runner.workers, len(groups))
        with threads(1 if small or workers > 1 else torch.get_num_threads()):
            precision = "fp32" if runner.on_cluster else runner.precision  # it may need their GPUs
            training = Training(groups[0], dataset, runner.device, precision)
            each = seconds_a_step(training.advance) / len(groups[0])
        seconds += each * len(missing) * config.base.steps / workers
    with threads(1 if small else torch.get_num_threads()):
        model = build(config.base.model, dataset.shape, range(2 * config.ensemble))
        contest = Contest(config, dataset, model.to(find_device(runner.device)))
        each = seconds_a_step(contest.advance)
    refits = 2 * refit_batches(config) / (config.decoder_batches + 1)  # one is for the change
    return seconds + each * (config.steps + refits)


def seconds_a_step(advance: Callable[[int], object]) -> float:
    """Time of one step; the first, which is slower, counts only if it takes seconds.

    Args:
        advance: Goes on to the step that it is given, from step 0.
    """
    started = time.perf_counter()
    advance(1)
    if (first := time.perf_counter() - started) > 10 * LONG_ENOUGH:
        return first
    step, count = 1, 1
    while True:
        started = time.perf_counter()
        advance(step + count)
        elapsed = time.perf_counter() - started
        if elapsed > LONG_ENOUGH:
            return elapsed / count
        step, count = step + count, 2 * count
