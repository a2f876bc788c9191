"""What is trained for the tables of Bhowal et al. (2024): three objectives on each data set.

The networks are those of table 3, as read in `training.presets`. The paper prints neither epochs
nor batch size nor the number of restarts. At `standard` and `quick` images have 32 pixels a side,
the networks are narrower, the convolutional ones have one stage less, and training is shorter. The
squared error is a sum over pixels, so a quarter of the pixels gets a quarter of each weight.
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

METHODS: Mapping[Method, str] = {"vae": "VAE", "beta-vae": "beta-VAE", "beta-tcvae": "beta-TCVAE"}
NAMES = [*METHODS.values()]
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
QUARTER = (32 / 64) ** 2  # of the published pixels
SMALL: Mapping[str, tuple[DataConfig, MLP | Conv]] = {
    "sprites": (Sprites(32), DENSE),
    "heads": (Heads(32), FACES),
    "shapes3d": (Shapes3D(32), ROOMS),
}
LONG = ("sprites", "shapes3d")  # at `standard`: for more steps, and with more seeds


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
            {"quick": 2, "standard": 10 if row in LONG else 3, "paper": 5}[scale],
            published(table, ROWS[row], method),
            NOTES.get(row, ""),
        )
        for row in (["sprites"] if scale == "quick" else ROWS)
        for method, name in METHODS.items()
    ]


def config(row: str, method: Method, scale: Scale) -> RunConfig:
    """The configuration of one method on one data set."""
    base = replace(preset(row, "bhowal"), objective=objective(method, 1.0))
    if scale == "paper":
        return base
    length = 1000 if scale == "quick" else 40_000 if row in LONG else 4000
    if row not in SMALL:
        return replace(base, steps=length)
    data, network = SMALL[row]
    model = replace(base.model, network=network)
    return replace(
        base, data=data, model=model, objective=objective(method, QUARTER), steps=length
    )


def objective(method: Method, share: float) -> ObjectiveConfig:
    """With this share of the printed weights."""
    match method:
        case "vae":
            return BetaVAE(share)
        case "beta-vae":
            return BetaVAE(6 * share)
        case "beta-tcvae":
            return BetaTCVAE(beta=6 * share, alpha=share, gamma=share)
