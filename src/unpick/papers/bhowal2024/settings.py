"""What is trained for the tables of Bhowal et al. (2024): three objectives on each data set.

The networks are those of table 3, as read in `training.presets`. The paper prints neither epochs
nor batch size nor the number of restarts. At `standard` and `quick` the networks are narrower, the
convolutional ones have one stage less, and training is short. Beta stays as printed, so it weighs
four times as much against 32 x 32 pixels as against 64 x 64.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from unpick.data import DataConfig
from unpick.data.heads import Heads
from unpick.data.shapes3d import Shapes3D
from unpick.data.sprites import Sprites
from unpick.models import MLP, Conv
from unpick.objectives import BetaTCVAE, BetaVAE, ObjectiveConfig
from unpick.papers.bhowal2024.published import published
from unpick.study.study import Cell, Scale
from unpick.training import RunConfig, preset

Method = Literal["vae", "beta-vae", "beta-tcvae"]

METHODS: Mapping[Method, tuple[str, ObjectiveConfig]] = {
    "vae": ("VAE", BetaVAE(1.0)),
    "beta-vae": ("beta-VAE", BetaVAE(6.0)),
    "beta-tcvae": ("beta-TCVAE", BetaTCVAE(beta=6.0)),
}
NAMES = [name for name, _ in METHODS.values()]
# Data sets, and their names in the tables; data sets without files are left out.
ROWS = {
    "sprites": "dsprites",
    "heads": "3dfaces",
    "shapes3d": "3dshapes",
    "mpi3d": "mpi3d",
    "faces": "3dfaces",
}
NOTES = {
    "sprites": "sprites are rendered here",
    "heads": "heads are rendered here, and stand for 3D Faces",
    "shapes3d": "rooms are rendered here",
}
DENSE = MLP((400, 400), "relu", (400, 400), "relu")
DOWN, DOUBLE, NARROW = (16, 4, 2, 1), (32, 4, 2, 1), (128, 4, 1, 0)
ROOMS = Conv(
    encoder=(DOWN, DOUBLE, DOUBLE, NARROW),
    encoder_dense=(),
    decoder_dense=(),
    start_channels=32,
    decoder=((32, 4, 1, 0), DOUBLE, DOWN),
    encoder_norm=2,
)
FACES = replace(ROOMS, start_channels=128, encoder_norm=4, decoder_norm=3)
SMALL: Mapping[str, tuple[DataConfig, MLP | Conv, int]] = {
    "sprites": (Sprites(64), DENSE, 128),
    "heads": (Heads(32), FACES, 64),
    "shapes3d": (Shapes3D(32), ROOMS, 64),
}
STEPS: Mapping[Scale, int] = {"quick": 1000, "standard": 4000}
SEEDS: Mapping[Scale, int] = {"quick": 2, "standard": 3, "paper": 5}


def cells(scale: Scale, table: str) -> list[Cell]:
    """Every data set with every objective; sprites only at `quick`.

    Args:
        scale: The scale of the study.
        table: The table of published numbers.
    """
    return [
        Cell(
            row,
            name,
            config(row, method, scale),
            SEEDS[scale],
            published(table, ROWS[row], method),
            NOTES.get(row, ""),
        )
        for row in (["sprites"] if scale == "quick" else ROWS)
        for method, (name, _) in METHODS.items()
    ]


def config(row: str, method: Method, scale: Scale) -> RunConfig:
    """The configuration of one method on one data set."""
    base = replace(preset(row, "bhowal"), objective=METHODS[method][1])
    if scale == "paper":
        return base
    if row not in SMALL:
        return replace(base, steps=STEPS[scale], batch=64)
    data, network, batch = SMALL[row]
    model = replace(base.model, network=network)
    return replace(base, data=data, model=model, steps=STEPS[scale], batch=batch)
