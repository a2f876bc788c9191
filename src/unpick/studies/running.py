"""Run a study: make what is missing, read what is there, measure both."""

import itertools
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path

import numpy as np

from unpick.data import DataConfig, DataMissing, Dataset
from unpick.data.files import FileConfig
from unpick.runs import Run, folder, make, read
from unpick.studies.measures import readings
from unpick.studies.study import Cell, Outcome, Results, Scale, Study


def run(
    study: Study,
    scale: Scale,
    root: Path,
    *,
    seeds: int | None = None,
    jobs: int | None = None,
    progress: bool = True,
    tell: Callable[[str], None] = lambda text: None,
) -> Results:
    """Make the runs of a study that are not there, and measure all of them.

    It may be stopped at any moment; the same call goes on from there. A cell whose data set is
    not on this machine is left out and said so in the results.

    Args:
        study: Which.
        scale: At which.
        root: The folder of run folders.
        seeds: As many of each cell; as the study says by default.
        jobs: Worker processes; as many as cores by default.
        progress: Whether to show bars.
        tell: Told what is being measured.
    """
    cells, _ = available(study.cells(scale))
    make([c for cell in cells for c in cell.configs(seeds)], root, jobs=jobs, progress=progress)
    return collect(study, scale, root, seeds=seeds, tell=tell)


def collect(
    study: Study,
    scale: Scale,
    root: Path,
    *,
    seeds: int | None = None,
    tell: Callable[[str], None] = lambda text: None,
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
        runs = finished(cell, root, seeds)
        if not runs:
            continue
        each = []
        for run in runs:
            tell(f"{study.name}: {cell.row}, {cell.column}, seed {run.config.seed}")
            each.append(readings(run, partial(_load, cell.config.data)))
        shared = [name for name in each[0] if all(name in values for values in each)]
        values = {name: np.array([v[name] for v in each]) for name in shared}
        outcomes.append(Outcome(cell, tuple(runs), values, study.departures(cell)))
    return Results(study, scale, tuple(outcomes), tuple(missing))


def available(cells: Sequence[Cell]) -> tuple[list[Cell], list[str]]:
    """The cells whose data can be had, and what is wrong with the others."""
    wrong = {data: _missing(data) for data in {cell.config.data for cell in cells}}
    have = [cell for cell in cells if wrong[cell.config.data] is None]
    return have, [why for why in wrong.values() if why is not None]


def finished(cell: Cell, root: Path, seeds: int | None = None) -> list[Run]:
    """The runs of a cell that are done, by seed, up to the first that is not."""
    runs = []
    for seed in itertools.count() if seeds is None else range(seeds):
        run = read(folder(cell.configs(seed + 1)[-1], root))
        if run is None:
            break
        runs.append(run)
    return runs


def _missing(data: DataConfig) -> str | None:
    try:
        if isinstance(data, FileConfig):
            data.files()
    except DataMissing as error:
        return str(error)
    return None


@cache
def _load(data: DataConfig) -> Dataset:
    return data.load()
