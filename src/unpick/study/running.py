"""Run a study: make what is missing, read what is there, measure both."""

import itertools
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from unpick.data import DataConfig, DataDamaged, DataMissing, Dataset, Perturbed
from unpick.data.files import FileConfig
from unpick.data.twins import read_document
from unpick.perturb import perturb
from unpick.probe import Measure, NotFinite, is_measured, measure_run
from unpick.probe.cache import read_values, save_values
from unpick.probe.code import digest
from unpick.runs import DamagedRun, Run, Runner, folder, make, read
from unpick.study.study import Cell, Outcome, Results, Scale, Study
from unpick.training import RunConfig
from unpick.training.progress import with_counts

OnProgress = Callable[[str], object]
MANY = 8  # runs to measure; fewer are measured before worker processes have started


def run(
    study: Study,
    scale: Scale,
    runner: Runner,
    *,
    seeds: int | None = None,
    on_progress: OnProgress = lambda text: None,
) -> Results:
    """Make the twins and runs of a study that are not there, and measure all of them.

    It may be stopped at any moment; the same call goes on from there. A cell whose data set is
    not on this machine, or broken, is left out and named in the results.

    Args:
        study: Which.
        scale: At which.
        runner: How runs are made, and where they lie.
        seeds: As many of each cell; as the study says by default.
        on_progress: Called with what is being measured.
    """
    twins = study.twins(scale)
    restarts = [c for twin in twins if not twin.is_made() for c in twin.candidates()]
    # All that needs no twin at once, so that a cluster is not left idle by one twin after another.
    make([*restarts, *configs_of(available(study.cells(scale))[0], seeds)], runner)
    for twin in twins:
        perturb(twin, runner)
    cells, _ = available(study.cells(scale))
    make(configs_of(cells, seeds), runner)
    measure(study, cells, runner, seeds, on_progress)
    return collect(
        study, scale, runner.root, seeds=seeds, on_progress=on_progress, device=runner.device
    )


def configs_of(cells: Sequence[Cell], seeds: int | None) -> list[RunConfig]:
    """All runs of these cells."""
    return [config for cell in cells for config in cell.configs(seeds)]


def measure(
    study: Study,
    cells: Sequence[Cell],
    runner: Runner,
    seeds: int | None,
    on_progress: OnProgress,
) -> None:
    """Take the measures that are not cached yet, in worker processes; `collect` reads them."""
    todo = [
        (
            (replace(run.config, data=cell.config.data),),
            runner,
            study.read,
            describe(study, cell, run),
        )
        for cell in cells
        for run in finished(cell, runner.root, seeds, runner.device)
        if run.results["stopped"] is None and not is_measured(run, study.read)
    ]
    if todo and (runner.on_cluster or (runner.workers > 1 and len(todo) >= MANY)):
        runner.run(measure_apart, todo, *with_counts(on_progress))


def describe(study: Study, cell: Cell, run: Run) -> str:
    """A run of a study, for people who wait."""
    return f"{study.name}: {cell.row}, {cell.column}, seed {run.config.seed}"


def measure_apart(
    configs: Sequence[RunConfig],
    runner: Runner,
    measures: Sequence[Measure],
    name: str,
    on_progress: OnProgress,
) -> None:
    """Take measures of finished runs in another process; they are cached in the run folders."""
    on_progress(name)
    for config in configs:
        with suppress(DataMissing, DataDamaged, DamagedRun, NotFinite):  # `collect` will say so
            run = read(folder(config, runner.root), runner.device, runner.factory)
            if run is not None:
                measure_run(replace(run, config=config), measures, partial(_load, config.data))


def collect(
    study: Study,
    scale: Scale,
    root: Path,
    *,
    seeds: int | None = None,
    on_progress: OnProgress = lambda text: None,
    device: str = "cpu",
) -> Results:
    """The results of what is on disk of a study: runs measured, numbers computed, claims judged.

    Args:
        study: Which.
        scale: At which.
        root: The folder of run folders.
        seeds: The first so many; as many as there are by default.
        on_progress: Called with what is being measured.
        device: Where models are measured.
    """
    outcomes, missing = [], dict.fromkeys(available(study.cells(scale))[1])
    for cell in study.cells(scale):
        found: dict[Run, dict[str, float]] = {}
        for run in finished(cell, root, seeds, device, lambda why: missing.update({why: None})):
            on_progress(describe(study, cell, run))
            if run.results["stopped"] is not None:
                name = f"{cell.row}, {cell.column}, seed {run.config.seed}"
                missing[f"{name}: its loss stopped being finite; left out."] = None
                continue
            try:
                values = measure_run(run, study.read, partial(_load, cell.config.data))
                found[run] = {k: v for k, v in values.items() if isinstance(v, int | float)}
            except (DataMissing, DataDamaged, DamagedRun, NotFinite) as error:
                missing[str(error)] = None
        if not found:
            continue
        names = dict.fromkeys(name for values in found.values() for name in values)
        values = {
            name: np.array([each.get(name, math.nan) for each in found.values()]) for name in names
        }
        outcomes.append(Outcome(cell, tuple(found), values, study.departures(cell)))
    results = study.together(Results(study, scale, tuple(outcomes), tuple(missing)))
    return judge(replace(results, computed=compute(study, scale, root, on_progress)), on_progress)


def compute(
    study: Study, scale: Scale, root: Path, on_progress: OnProgress = lambda text: None
) -> dict[str, dict[str, Any]]:
    """What a study computes without runs, read from the folder of runs where it is there.

    A file falls when the code behind it changes, as those of measures do. What needs data that
    are not there is left out.
    """
    found = {}
    for name, function in study.computed.items():
        file = _computed_file(study, name, scale, root)
        values = read_values(file)
        if values is None:
            on_progress(f"{study.name}: {name}")
            try:
                values = dict(function(scale))
            except (DataMissing, DataDamaged):  # `available` names what is missing
                continue
            save_values(file, values)
        found[name] = values
    return found


def computed_files(study: Study, scale: Scale, root: Path) -> list[Path]:
    """The files of numbers without runs that a study has left beside the runs."""
    files = [_computed_file(study, name, scale, root) for name in study.computed]
    return [file for file in files if file.exists()]


def _computed_file(study: Study, name: str, scale: Scale, root: Path) -> Path:
    key = f"{scale}-{digest(study.computed[name])}"
    return root / "computed" / f"{study.name}-{name}-{key}.json"


def judge(results: Results, on_progress: OnProgress = lambda text: None) -> Results:
    """The same results with a verdict on every claim of the study."""
    on_progress(f"{results.study.name}: judging its claims")
    verdicts = tuple(claim.check(results) for claim in results.study.claims)
    return replace(results, verdicts=verdicts)


def available(cells: Sequence[Cell]) -> tuple[list[Cell], list[str]]:
    """The cells whose data can be had, and what is wrong with the others."""
    wrong = {data: _missing(data) for data in dict.fromkeys(cell.config.data for cell in cells)}
    have = [cell for cell in cells if wrong[cell.config.data] is None]
    return have, [why for why in wrong.values() if why is not None]


def finished(
    cell: Cell,
    root: Path,
    seeds: int | None = None,
    device: str = "cpu",
    on_damage: OnProgress | None = None,
) -> list[Run]:
    """The runs of a cell that are done, by seed, up to the first that is not.

    Args:
        cell: Which.
        root: The folder of run folders.
        seeds: The first so many.
        device: Where models are put.
        on_damage: Called with the reason for each damaged run, which is left out; without it such
            a run raises.
    """
    runs = []
    for k in itertools.count() if seeds is None else range(seeds):
        try:
            run = read(folder(cell.with_seed(k), root), device)
        except DamagedRun as error:
            if on_damage is None:
                raise
            on_damage(str(error))
            continue
        if run is None:
            break
        runs.append(run)
    return runs


def _missing(data: DataConfig) -> str | None:
    try:
        if isinstance(data, FileConfig):
            data.files()
        if isinstance(data, Perturbed):
            read_document(data.folder)
    except (DataMissing, DataDamaged) as error:
        return str(error)
    return None


@cache
def _load(data: DataConfig) -> Dataset:
    return data.load()
