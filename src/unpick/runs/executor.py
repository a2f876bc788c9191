"""Make runs: read finished ones, resume interrupted ones, train the rest.

On a CPU small networks whose gradient is written out train as ensembles, split evenly over the
worker processes; others train alone. So the company of a run never changes its weights. By
autograd it would, in the last bits: the operations of PyTorch round by where a number lies in a
tensor. A worker has one thread: two threads that share a training step wait for each other, two
processes do not. On a busy machine the difference is tenfold.
"""

import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path

import torch
from torch import Tensor

from unpick.data import DataConfig, Dataset, split
from unpick.devices import check_precision, find_device, threads
from unpick.models import MLP, Model, ModelConfig, NetworkFactory, build
from unpick.runs import disk, event_log
from unpick.runs.checkpoint import (
    checkpoints,
    drop_checkpoints,
    load_checkpoint,
    save_checkpoint,
)
from unpick.runs.disk import Run
from unpick.runs.event_log import EventLog
from unpick.runs.lock import locked, try_lock
from unpick.runs.logs import Logs
from unpick.runs.runner import Runner
from unpick.training import RunConfig, Training, explicit, ticks
from unpick.training.loop import check_data
from unpick.training.progress import Bars, ProgressUpdate, progress_update, work

MOST_TOGETHER = 32  # members of one ensemble: more bring no further speed
SMALL = 2_000_000  # weights up to which an ensemble is faster than one member after the other

Show = Callable[[ProgressUpdate], None]


def make(configs: Sequence[RunConfig], runner: Runner) -> list[Run]:
    """The finished runs of these configurations, in their order.

    Safe to call from several processes at once and to kill at any moment: a run is locked while
    it is trained, a second process waits and then reads it, and a killed run resumes from its
    last checkpoint.

    Args:
        configs: One a run.
        runner: Where runs lie, and how missing ones are made.
    """
    root = runner.root
    wanted = list(dict.fromkeys(configs))
    missing = [c for c in wanted if disk.read(disk.folder(c, root)) is None]
    datasets = {data: data.load() for data in {config.data for config in missing}}
    shapes = {data: dataset.shape for data, dataset in datasets.items()}
    groups = plan(missing, shapes, runner)
    todo = sum(group_work(group, shapes, runner) for group in groups)
    apart = bool(groups) and (runner.on_cluster or min(runner.workers, len(groups)) > 1)
    several = len(groups) > 1 or runner.on_cluster
    with Bars(runner.progress, todo if several else None) as bars:
        if apart:
            calls = [(group, runner) for group in groups]
            runner.run(_work, calls, bars.update, bars.show_counts)
        else:
            here = [(group, runner, datasets[group[0].data]) for group in groups]
            runner.run(train_group, here, bars.update)
    for path in (disk.folder(config, root) for config in wanted):
        if disk.has_leftovers(path):  # of a kill after the run was finished
            with try_lock(path) as alone:
                if alone:
                    disk.sweep(path)
    runs = {
        config: disk.read(disk.folder(config, root), runner.device, runner.factory)
        for config in wanted
    }
    for config, run in runs.items() if runner.log == "tensorboard" else ():
        if run and not event_log.has_events(run):
            event_log.write_finished(run, _load(config.data))
    # The folder may name another path to the same data; what was asked for now counts.
    return [replace(run, config=config) for config in configs if (run := runs[config])]


def plan(
    configs: Sequence[RunConfig], shapes: dict[DataConfig, tuple[int, ...]], runner: Runner
) -> list[list[RunConfig]]:
    """Groups that train together, in equal shares; what is no faster in company trains alone."""
    families: dict[str, list[RunConfig]] = defaultdict(list)
    for config in configs:
        families[config.family()].append(config)
    groups = []
    for members in families.values():
        together = trains_together(members[0], shapes[members[0].data], runner)
        share = min(MOST_TOGETHER, -(-len(members) // runner.workers)) if together else 1
        groups += [members[k : k + share] for k in range(0, len(members), share)]
    # The longest first, so that workers finish at about the same time.
    return sorted(groups, key=lambda group: -group_work(group, shapes, runner))


def trains_together(config: RunConfig, shape: tuple[int, ...], runner: Runner) -> bool:
    """Whether members train as an ensemble: on a CPU, small ones whose gradient is written out."""
    if runner.trains_on.type != "cpu":
        return True
    written_out = explicit.applies(_sample_model(config, shape, runner), config)
    return written_out and runner.precision == "fp32" and is_small(config, shape, runner)


def is_small(config: RunConfig, shape: tuple[int, ...], runner: Runner) -> bool:
    """Whether one thread is faster than several."""
    network = config.model.network
    return isinstance(network, MLP) and n_weights(config, shape, runner) <= SMALL


def group_work(
    group: Sequence[RunConfig], shapes: dict[DataConfig, tuple[int, ...]], runner: Runner
) -> float:
    """Roughly the multiplications of a group."""
    return work(group, n_weights(group[0], shapes[group[0].data], runner))


def n_weights(config: RunConfig, shape: tuple[int, ...], runner: Runner) -> int:
    """How many weights the model of one member has."""
    return sum(p.numel() for p in _sample_model(config, shape, runner).parameters())


def _sample_model(config: RunConfig, shape: tuple[int, ...], runner: Runner) -> Model:
    return _build(config.model, shape, config.objective.decodes, runner.factory)


@lru_cache(maxsize=1)
def _build(
    model: ModelConfig, shape: tuple[int, ...], decodes: bool, network: NetworkFactory | None
) -> Model:
    return build(model, shape, [0], decodes, network)


def train_group(
    configs: Sequence[RunConfig], runner: Runner, dataset: Dataset, show: Show
) -> None:
    """Train configurations of one family to the end, each from its last checkpoint."""
    paths = {config: disk.folder(config, runner.root) for config in configs}
    device, precision = str(find_device(runner.device)), runner.precision
    check_precision(precision, find_device(device))  # before there is a folder
    check_data(configs[0], dataset, split(dataset).train)
    small = is_small(configs[0], dataset.shape, runner)
    with locked([*paths.values()], show):
        rest = [config for config in configs if disk.read(paths[config]) is None]
        while rest:
            found = {config: checkpoints(paths[config]) for config in rest}
            step, members = _common_step(found)
            states = [load_checkpoint(found[c][step]) for c in members] if step else []
            with threads(_n_threads(states, small)):
                for config in members:
                    disk.create(config, runner.root, device, precision)
                training = Training(members, dataset, device, precision, runner.factory)
                _train_from(step, states, training, runner, show)
            rest = [config for config in rest if config not in members]


def _n_threads(states: Sequence[dict[str, Tensor]], small: bool) -> int:
    """How many threads train: as many as trained before, since their number changes last bits."""
    default = 1 if small else torch.get_num_threads()
    before = int(states[0]["threads"]) if states and "threads" in states[0] else default
    return max(1, min(before, os.cpu_count() or 1))


def _work(configs: Sequence[RunConfig], runner: Runner, show: Show) -> None:
    train_group(configs, runner, _load(configs[0].data), show)


@cache
def _load(data: DataConfig) -> Dataset:
    """Cached, since a worker may train several groups on the same data."""
    return data.load()


def _common_step(found: dict[RunConfig, dict[int, Path]]) -> tuple[int, list[RunConfig]]:
    """The step from which most members can resume (the latest such step), and those members.

    A kill can fall between the checkpoints of one ensemble. Old checkpoints are removed only after
    all new ones are written, so all members share at least one step.
    """
    steps = {config: set(files) or {0} for config, files in found.items()}
    count = Counter(step for each in steps.values() for step in each)
    step = max(count, key=lambda s: (count[s], s))
    return step, [config for config in steps if step in steps[config]]


def _train_from(
    step: int,
    states: Sequence[dict[str, Tensor]],
    training: Training,
    runner: Runner,
    show: Show,
) -> None:
    """Train from one step to the end, with checkpoints on the way."""
    paths = [disk.folder(config, runner.root) for config in training.configs]
    spent = float(states[0]["seconds"]) if states else 0.0
    logs = Logs(paths, states, step)
    if states:
        try:
            training.restore(step, states)
        except (KeyError, RuntimeError, ValueError) as error:
            what = f"the checkpoint of step {step} is of another model"
            raise disk.damaged(paths[0], what) from error
    started = saved = time.monotonic()
    with EventLog(paths if runner.log == "tensorboard" else (), step) as events:
        for tick in ticks(training):
            events.add(training, tick, logs.add(training, tick))
            halted = None
            try:
                show(progress_update(training, tick))
            except KeyboardInterrupt as halt:  # save a checkpoint of this step first
                halted = halt
            if tick.last or not (halted or time.monotonic() - saved >= runner.checkpoint_seconds):
                continue
            events.flush()
            logs.save()
            _save(training, paths, logs, spent + time.monotonic() - started)
            saved = time.monotonic()
            if halted:
                raise halted
    logs.save()
    _finish(training, paths, logs, spent + time.monotonic() - started)


def _save(training: Training, paths: Sequence[Path], logs: Logs, elapsed: float) -> None:
    """Write new checkpoints of all members, then remove the old ones."""
    extra = {"seconds": torch.tensor(elapsed), "threads": torch.tensor(torch.get_num_threads())}
    for k, path in enumerate(paths):
        save_checkpoint(path, training.step, {**training.state(k), **extra, **logs.tensors(k)})
    for path in paths:
        drop_checkpoints(path, but=training.step)


def _finish(training: Training, paths: Sequence[Path], logs: Logs, elapsed: float) -> None:
    """Write the weights of all members, then their results, then remove the checkpoints."""
    weights = training.model.state_dict()
    sums = [
        disk.save_weights(path, {name: tensor[k] for name, tensor in weights.items()})
        for k, path in enumerate(paths)
    ]
    for k, path in enumerate(paths):
        results = {
            "shape": list(training.dataset.shape),
            "seconds": round(elapsed / len(paths), 3),
            "stopped": training.stopped.get(k),
            "terms": logs.last_terms(k),
            "weights_sha256": sums[k],
        }
        disk.save_results(path, training.configs[k], results)
    for path in paths:
        drop_checkpoints(path)
