"""What is trained: the set-ups of figure 3.7 of Zietlow (2022).

They are those of the study `beta-search`, so that both studies share runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from unpick.data.sprites import Sprites
from unpick.data.synthetic import SynthNonlin
from unpick.models import MLP
from unpick.objectives import BetaVAE
from unpick.papers.across.explanations.claims import Kind
from unpick.study.study import Cell, Scale
from unpick.training import Adam, RunConfig, preset
from unpick.training.presets import steps

Data = Literal["synth-nonlin", "sprites"]

STEPS = (0, 30, 100, 300, 1000, 3000, 10_000)  # of snapshots, besides the last step
BETAS: Mapping[Data, tuple[float, ...]] = {
    "synth-nonlin": tuple(10 ** (k / 3) for k in (-15, -12, -10, -8, -6, -4, -2, -1)),
    "sprites": (1 / 16, 1 / 4, 1 / 2, 1.0, 2.0, 4.0),
}
# Of the snapshots: the beta of the grid that is closest to the published one.
CHOSEN: Mapping[Data, float] = {"synth-nonlin": 10 ** (-8 / 3), "sprites": 1.0}
SEEDS: Mapping[Scale, int] = {"quick": 2, "standard": 3}


def settings(scale: Scale) -> Mapping[Data, RunConfig]:
    """The set-up of each data set; sprites at `standard` only."""
    cloud = replace(
        preset("synth-nonlin", "thesis"),
        data=SynthNonlin(data_seed=7),
        batch=64,
        steps=steps(50, 50_000, 64),
    )
    if scale == "quick":
        return {"synth-nonlin": replace(cloud, optimiser=Adam(3e-3), steps=15_000)}
    base = preset("sprites", "thesis")
    network = MLP((256, 256), "relu", (256, 256, 256), "tanh")
    sprites = replace(
        base, data=Sprites(32), model=replace(base.model, network=network), steps=6000
    )
    return {"synth-nonlin": cloud, "sprites": sprites}


def cells(scale: Scale) -> Sequence[Cell]:
    """Snapshots along the same trainings, and models of several betas.

    The random numbers of a training do not depend on its length (`training.streams`), so a short
    run is the beginning of a long one. `quick` has one data set, `paper` nothing: no paper did
    this.
    """
    made: list[Cell] = []
    if scale == "paper":
        return made
    shared = settings(scale)
    for data, betas in BETAS.items():
        if data not in shared:
            continue
        base = shared[data]

        def cell(kind: Kind, column: str, config: RunConfig, data: Data = data) -> Cell:
            note = "set-up, and most runs, of the study beta-search"
            return Cell(f"{data}, {kind}", column, config, SEEDS[scale], note=note)

        timed = replace(base, objective=BetaVAE(CHOSEN[data]))
        lengths = [*(n for n in STEPS if n <= timed.steps // 2), timed.steps]
        made += [cell("steps", f"{n} steps", replace(timed, steps=n)) for n in lengths]
        made += [cell("beta", f"beta {b:.2g}", replace(base, objective=BetaVAE(b))) for b in betas]
    return made
