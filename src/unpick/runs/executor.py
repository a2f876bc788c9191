"""Make runs: read finished ones, resume interrupted ones, train the rest.

Small networks train as ensembles, split evenly over the worker processes. Large and convolutional
networks train alone, since an ensemble of them is no faster. A worker has one thread: two threads
that share a training step wait for each other, two processes do not. On a busy machine the
difference is tenfold.
"""

import contextlib
import fcntl
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import IO, Any

import torch

from unpick.data import DataConfig, Dataset, split
from unpick.devices import check_precision, find_device, threads
from unpick.models import MLP, ModelConfig, NetworkFactory, build
from unpick.runs import disk, event_log
from unpick.runs.disk import Run
from unpick.runs.event_log import EventLog
from unpick.runs.runner import Runner
from unpick.training import RunConfig, Training, ticks
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
    with Bars(runner.progress, todo if len(groups) > 1 else None) as bars:
        if min(runner.workers, len(groups)) > 1:
            runner.run(_work, [(group, runner) for group in groups], bars.update)
        else:
            for group in groups:
                dataset = datasets[group[0].data]
                small = trains_together(group[0], dataset.shape, runner)
                with threads(1 if small else torch.get_num_threads()):
                    train_group(group, runner, dataset, bars.update)
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
    """Whether members are faster as an ensemble than one by one: on a CPU, small dense ones."""
    if find_device(runner.device).type != "cpu":
        return True
    return isinstance(config.model.network, MLP) and n_weights(config, shape, runner) <= SMALL


def group_work(
    group: Sequence[RunConfig], shapes: dict[DataConfig, tuple[int, ...]], runner: Runner
) -> float:
    """Roughly the multiplications of a group."""
    return work(group, n_weights(group[0], shapes[group[0].data], runner))


def n_weights(config: RunConfig, shape: tuple[int, ...], runner: Runner) -> int:
    """How many weights the model of one member has."""
    return _n_weights(config.model, shape, config.objective.decodes, runner.factory)


@cache
def _n_weights(
    model: ModelConfig, shape: tuple[int, ...], decodes: bool, network: NetworkFactory | None
) -> int:
    return sum(p.numel() for p in build(model, shape, [0], decodes, network).parameters())


def train_group(
    configs: Sequence[RunConfig], runner: Runner, dataset: Dataset, show: Show
) -> None:
    """Train configurations of one family to the end, each from its last checkpoint."""
    paths = {config: disk.folder(config, runner.root) for config in configs}
    device, precision = str(find_device(runner.device)), runner.precision
    check_precision(precision, find_device(device))  # before there is a folder
    check_data(configs[0], dataset, split(dataset).train)
    with locked(sorted(paths.values()), show):
        rest = [config for config in configs if disk.read(paths[config]) is None]
        for config in rest:
            disk.create(config, runner.root, device, precision)
        while rest:
            step, members = _common_step({c: disk.checkpoints(paths[c]) for c in rest})
            training = Training(members, dataset, device, precision, runner.factory)
            seconds = runner.checkpoint_seconds
            folders = [paths[c] for c in members]
            for path in folders:
                disk.trim_logs(path, step)
            with EventLog(folders if runner.log == "tensorboard" else (), step) as events:
                _train_from(step, training, folders, seconds, show, events)
            rest = [config for config in rest if config not in members]


def _work(configs: list[RunConfig], runner: Runner, show: Show) -> None:
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
    training: Training,
    paths: Sequence[Path],
    seconds: float,
    show: Show,
    events: EventLog,
) -> None:
    """Train from one step to the end, with checkpoints on the way."""
    spent = 0.0
    if step:
        states = [disk.load_checkpoint(disk.checkpoints(path)[step]) for path in paths]
        spent = float(states[0].pop("seconds"))
        training.restore(step, states)
    logs: dict[str, list[dict[str, Any]]] = {name: [] for name in disk.LOGS}
    started = saved = time.monotonic()
    for tick in ticks(training):
        for name, values in zip(
            disk.LOGS, (tick.terms if tick.due else {}, tick.latents), strict=True
        ):
            if values:
                record = {"step": tick.step, **{k: v.tolist() for k, v in values.items()}}
                logs[name].append(record)
        events.add(training, tick)
        halted = None
        try:
            show(progress_update(training, tick))
        except KeyboardInterrupt as halt:  # save a checkpoint of this step first
            halted = halt
        if not (tick.last or halted) and time.monotonic() - saved < seconds:
            continue
        elapsed = spent + time.monotonic() - started
        events.flush()
        for name, records in logs.items():
            for k, path in enumerate(paths):
                disk.append_log(path, [_member_record(record, k) for record in records], name)
            records.clear()
        if not tick.last:
            _save(training, paths, elapsed)
            saved = time.monotonic()
        if halted and not tick.last:
            raise halted
    weights = training.model.state_dict()
    for k, path in enumerate(paths):
        results = {
            "shape": list(training.dataset.shape),
            "seconds": round(elapsed / len(paths), 3),
            "stopped": training.stopped.get(k),
            "terms": disk.finite({name: float(values[k]) for name, values in tick.terms.items()}),
        }
        disk.finish(path, {name: tensor[k] for name, tensor in weights.items()}, results)


def _member_record(record: dict[str, Any], k: int) -> dict[str, Any]:
    return {name: value[k] if isinstance(value, list) else value for name, value in record.items()}


def _save(training: Training, paths: Sequence[Path], elapsed: float) -> None:
    """Write new checkpoints of all members, then remove the old ones."""
    for k, path in enumerate(paths):
        state = {**training.state(k), "seconds": torch.tensor(elapsed)}
        disk.save_checkpoint(path, training.step, state)
    for path in paths:
        disk.drop_checkpoints(path, but=training.step)


@contextlib.contextmanager
def locked(paths: Sequence[Path], show: Show) -> Iterator[None]:
    """Hold the locks of run folders inside the block; folders that are missing are made.

    The kernel releases a lock if its process dies. Locks are always taken in the same order, so
    that two processes cannot deadlock. A waiting process keeps reporting, and so notices a stop.
    """
    with contextlib.ExitStack() as stack:
        for path in paths:
            path.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context((path / "lock").open("w"))
            waiting = ProgressUpdate(
                "lock", "waiting for another process", 0, 1, 0.0, path.name, {}
            )
            while not _try_lock(file):
                show(waiting)
                time.sleep(0.2)
                if _try_lock(file):
                    show(waiting._replace(step=1))
                    break
        yield


def _try_lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
