"""What is run for chapter 4 of Zietlow (2022), and where in the results it stands."""

from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np
from jaxtyping import Bool

from unpick.papers.zietlow2022.published import published
from unpick.papers.zietlow2022.thesis_4.configs import change, config, note
from unpick.papers.zietlow2022.thesis_4.settings import (
    FACTORS,
    NAMES,
    SETTINGS,
    TWINS,
    VARIATIONAL,
    Data,
    Method,
    Twin,
)
from unpick.perturb import PerturbConfig
from unpick.study.study import Cell, Outcome, Results, Scale

MEASURES = ("MIG", "DCI", "FactorVAE", "SAP")
PRINTED = {"sprites": "dsprites"}  # our look-alike stands for it
Place = tuple[Data, Method]
PLACES: tuple[Place, ...] = tuple(product(FACTORS, VARIATIONAL))  # where MIG is to be lost


@cache
def cells(scale: Scale) -> Sequence[Cell]:
    """Every entry of tables 4.2 to 4.5, then the line search on the modified twins."""
    entries = []
    for data, chosen in SETTINGS[scale].items():
        for twin, method in product(TWINS, chosen.methods):
            entries.append(
                Cell(
                    f"{data}, {twin}",
                    NAMES[method],
                    config(data, method, twin, scale),
                    chosen.seeds_of(method),
                    published("thesis-4", f"{PRINTED.get(data, data)}, {twin}", method),
                    note(data, method, twin, scale),
                )
            )
        entries += [
            Cell(
                f"{data}, line search",
                f"{NAMES[method]} x {times:g}",
                config(data, method, "modified", scale, times),
                chosen.seeds,
                note=note(data, method, "modified", scale),
            )
            for method, times in product(VARIATIONAL, chosen.search)
            if method in chosen.methods and times != 1
        ]
    return entries


def twins(scale: Scale) -> Sequence[PerturbConfig]:
    """The modified twin of each data set."""
    return [change(data, scale) for data in SETTINGS[scale]]


def found(results: Results, data: Data, twin: Twin, method: Method) -> Outcome | None:
    """What came out for a method on a twin, if it was run."""
    return results.rows().get(f"{data}, {twin}", {}).get(NAMES[method])


def searched(results: Results, data: Data, method: Method) -> dict[float, Outcome]:
    """The outcomes on the modified twin, by what the hyperparameter is multiplied with."""
    columns = results.rows().get(f"{data}, line search", {})
    times = multiples(results.scale, data)
    search = {each: columns.get(f"{NAMES[method]} x {each:g}") for each in times}
    if times:
        search[1.0] = found(results, data, "modified", method)
    return {each: outcome for each, outcome in search.items() if outcome is not None}


def multiples(scale: Scale, data: Data) -> tuple[float, ...]:
    """What hyperparameters are multiplied with, 1 among them; nothing where none are searched."""
    chosen = SETTINGS[scale].get(data)
    return chosen.search if chosen is not None and len(chosen.search) > 1 else ()


def needed(before: Outcome, data: Data) -> float:
    """As many active latents keep a run from being over-pruned: as there are factors.

    Zietlow (2022), section 4.3.4. Where the method uses fewer than that on the original, in the
    median over its runs, that median.
    """
    return min(float(FACTORS[data]), float(np.median(before.values["active"])))


def unpruned(outcome: Outcome, least: float) -> Bool[np.ndarray, "s"]:
    """Which runs are not over-pruned."""
    return outcome.values["active"] >= least
