"""Run a study: make what is missing, read what is there, measure both."""

import itertools
import math
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

import numpy as np

from unpick.data import DataConfig, DataDamaged, DataMissing, Dataset, Perturbed
from unpick.data.files import FileConfig
from unpick.data.twins import read_document
from unpick.perturb import perturb
from unpick.runs import DamagedRun, Run, folder, make, read
from unpick.runs.workers import Workers
from unpick.study.study import Cell, Outcome, Read, Results, Scale, Study

Tell = Callable[[str], None]
MANY = 8  # runs to measure: fewer are measured sooner than workers have started


def run(
    study: Study,
    scale: Scale,
    root: Path,
    *,
    seeds: int | None = None,
    jobs: int | None = None,
    progress: bool = True,
    tell: Tell = lambda text: None,
) -> Results:
    """Make the twins and runs of a study that are not there, and measure all of them.

    It may be stopped at any moment; the same call goes on from there. A cell whose data set is
    not on this machine, or broken, is left out and said so in the results.

    Args:
        study: Which.
        scale: At which.
        root: The folder of run folders.
        seeds: As many of each cell; as the study says by default.
        jobs: Worker processes; as many as cores by default.
        progress: Whether to show bars.
        tell: Told what is being measured.
    """
    for twin in study.twins(scale):
        perturb(twin, root, jobs=jobs, progress=progress)
    cells, _ = available(study.cells(scale))
    make([c for cell in cells for c in cell.configs(seeds)], root, jobs=jobs, progress=progress)
    measure(study, cells, root, seeds, jobs or os.cpu_count() or 1, tell)
    return collect(study, scale, root, seeds=seeds, tell=tell)


def measure(
    study: Study, cells: Sequence[Cell], root: Path, seeds: int | None, jobs: int, tell: Tell
) -> None:
    """Take the readings that no run's folder holds yet, on all cores; `collect` finds them."""
    todo = [
        (study.read, run, cell.config.data, told(study, cell, run))
        for cell in cells
        for run in finished(cell, root, seeds)
        if run.results["stopped"] is None and not _is_read(study.read, run)
    ]
    if jobs > 1 and len(todo) >= MANY:
        with Workers(jobs) as workers:
            workers.run(_take, todo, tell)


def told(study: Study, cell: Cell, run: Run) -> str:
    """For who waits."""
    return f"{study.name}: {cell.row}, {cell.column}, seed {run.config.seed}"


def _is_read(read: Read, run: Run) -> bool:
    def refuse() -> Dataset:
        raise DataMissing

    try:
        read(run, refuse)
    except (DataMissing, DamagedRun):
        return False
    return True


def _take(read: Read, run: Run, data: DataConfig, name: str, show: Tell) -> None:
    show(name)
    with suppress(DataMissing, DataDamaged, DamagedRun):  # `collect` will say so
        read(run, partial(_load, data))


def collect(
    study: Study,
    scale: Scale,
    root: Path,
    *,
    seeds: int | None = None,
    tell: Tell = lambda text: None,
) -> Results:
    """What is on disk of a study, measured.

    Args:
        study: Which.
        scale: At which.
        root: The folder of run folders.
        seeds: The first so many; as many as there are by default.
        tell: Told what is being measured.
    """
    outcomes, missing = [], dict.fromkeys(available(study.cells(scale))[1])
    for cell in study.cells(scale):
        read_off: dict[Run, dict[str, float]] = {}
        for run in finished(cell, root, seeds):
            tell(told(study, cell, run))
            if run.results["stopped"] is not None:
                name = f"{cell.row}, {cell.column}, seed {run.config.seed}"
                missing[f"{name}: its loss stopped being finite; left out."] = None
                continue
            try:
                read_off[run] = study.read(run, partial(_load, cell.config.data))
            except (DataMissing, DataDamaged, DamagedRun) as error:
                missing[str(error)] = None
        if not read_off:
            continue
        names = dict.fromkeys(name for values in read_off.values() for name in values)
        values = {
            name: np.array([each.get(name, math.nan) for each in read_off.values()])
            for name in names
        }
        outcomes.append(Outcome(cell, tuple(read_off), values, study.departures(cell)))
    return study.together(Results(study, scale, tuple(outcomes), tuple(missing)))


def available(cells: Sequence[Cell]) -> tuple[list[Cell], list[str]]:
    """The cells whose data can be had, and what is wrong with the others."""
    wrong = {data: _missing(data) for data in dict.fromkeys(cell.config.data for cell in cells)}
    have = [cell for cell in cells if wrong[cell.config.data] is None]
    return have, [why for why in wrong.values() if why is not None]


def finished(cell: Cell, root: Path, seeds: int | None = None) -> list[Run]:
    """The runs of a cell that are done, by seed, up to the first that is not."""
    counted = itertools.count() if seeds is None else range(seeds)
    found = (read(folder(cell.with_seed(k), root)) for k in counted)
    return [run for run in itertools.takewhile(lambda run: run is not None, found) if run]


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
