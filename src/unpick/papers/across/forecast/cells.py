"""What is foretold and then trained: the data sets, the forecasts on record, the models."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from unpick.data import DataConfig, Noisy
from unpick.data.bent import Bent
from unpick.data.heads import Heads
from unpick.data.numerals import Numerals
from unpick.data.shapes3d import Shapes3D
from unpick.data.sprites import Sprites
from unpick.data.synthetic import LinearGaussian, SynthLin, SynthNonlin
from unpick.models import MLP, ModelConfig
from unpick.objectives import BetaVAE
from unpick.perturb import PerturbConfig
from unpick.perturb.recipes import RECIPES
from unpick.study.study import Cell, Scale
from unpick.training import Adam, RunConfig

POINTS = 10_000
CLOUDS: Mapping[str, DataConfig] = {
    **{
        f"synth-lin, ratio {ratio:g}": SynthLin(ratio, centred=True, points=POINTS)
        for ratio in (1.0, 1.2, 1.5, 2.0)
    },
    "linear-gaussian": LinearGaussian(points=POINTS),
    "linear-gaussian, two alike": LinearGaussian((3.0, 2.8, 1.0), points=POINTS),
    "linear-gaussian, six sources": LinearGaussian((4.0, 3.9, 2.0, 1.9, 1.0, 0.6), points=POINTS),
    **{
        f"synth-nonlin, draw {draw}": SynthNonlin(points=POINTS, data_seed=draw)
        for draw in (1, 2, 3, 4)
    },
    "bent": Bent(points=POINTS),
}
IMAGES: Mapping[str, DataConfig] = {
    "sprites": Sprites(32),
    "sprites, 16 rows": Sprites(32, rows=16),
    "sprites, 8 rows": Sprites(32, rows=8),
    "rooms": Shapes3D(16),
    "heads": Heads(16),
    "numerals": Numerals(),
    "sprites, noisy": Noisy(Sprites(32), RECIPES["sprites"].epsilon),
    "sprites, perturbed": RECIPES["sprites"].data(),
    "rooms, noisy": Noisy(Shapes3D(16), RECIPES["rooms"].epsilon),
    "rooms, perturbed": RECIPES["rooms"].data(),
}
DATA: Mapping[str, DataConfig] = {**CLOUDS, **IMAGES}
LATENTS: Mapping[str, int] = {"sprites": 5, "rooms": 6, "heads": 4, "numerals": 4}  # as factors
SWEPT = (
    "synth-lin, ratio 2",
    "linear-gaussian",
    "linear-gaussian, six sources",
    "bent",
    "sprites",
    "rooms",
    "heads",
)
TIMES = (4.0, 16.0)  # the beta of the forecast, in the sweep
MAIN = "beta of the forecast"
LENGTH = 4  # times the steps: added after the first results, to see whether they were too few
LONGER, LENGTHENED = f"{LENGTH} times the steps", ("sprites", "rooms", "heads")
NOTE = "settings of our own, chosen before any of these models was trained"


@cache
def foretold() -> dict[str, dict[str, Any]]:
    """The forecast of each data set, with its date: made before the first model of its row.

    `benchmarks/forecasts.py` writes the file.
    """
    return json.loads((files(__package__) / "foretold.json").read_text())


def latents_of(row: str) -> int:
    """As many as the data set has factors."""
    config = DATA[row]
    if isinstance(config, LinearGaussian):
        return len(config.singular_values)
    return LATENTS.get(row.split(",")[0], 2)


def config_of(row: str, times: float, scale: Scale) -> RunConfig:
    """A beta-VAE on a data set, with a multiple of the forecast's beta; twins have the original's.

    Noise raises what a factor seems to save, and twins are to be compared with each other.
    """
    twin = row.endswith(("noisy", "perturbed"))
    about = foretold()[row.split(",")[0] if twin else row]
    beta = BetaVAE(times * about["prediction"]["beta"])
    steps = 1000 if scale == "quick" else 5000 if row in CLOUDS else 4000
    if row in CLOUDS:
        model = ModelConfig(latents_of(row), network=MLP((32, 32), "tanh", (32, 32), "tanh"))
        return RunConfig(DATA[row], model, beta, Adam(5e-3), steps, 128)
    network = MLP((128, 128), "relu", (128, 128), "relu")
    model = ModelConfig(latents_of(row), likelihood="bernoulli", network=network)
    return RunConfig(DATA[row], model, beta, Adam(2e-3), steps, 64)


def cells(scale: Scale) -> Sequence[Cell]:
    """Every data set at the forecast's beta, some at other betas; clouds only at `quick`."""
    if scale == "paper":
        return []
    made = []
    for row in CLOUDS if scale == "quick" else DATA:
        seeds = 2 if scale == "quick" else 5 if row in CLOUDS else 3
        made.append(Cell(row, MAIN, config_of(row, 1.0, scale), seeds, note=NOTE))
        for times in TIMES if row in SWEPT and scale == "standard" else ():
            fewer = seeds if row in CLOUDS else 2
            config = config_of(row, times, scale)
            made.append(Cell(row, f"{times:g} times that", config, fewer, note=NOTE))
        if row in LENGTHENED and scale == "standard":
            config = config_of(row, 1.0, scale)
            config = replace(config, steps=LENGTH * config.steps)
            made.append(Cell(row, LONGER, config, 2, note="added after the first results"))
    return made


def twins(scale: Scale) -> Sequence[PerturbConfig]:
    """The ready-made twins of sprites and rooms, at `standard`."""
    return tuple(RECIPES.values()) if scale == "standard" else ()
