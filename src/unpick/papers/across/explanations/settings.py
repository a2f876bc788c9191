"""What is trained: the set-ups of figure 3.7 of Zietlow (2022), so that runs are shared."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from unpick.data.sprites import Sprites
from unpick.data.synthetic import SynthNonlin
from unpick.models import MLP
from unpick.study.study import Scale
from unpick.training import Adam, RunConfig, preset
from unpick.training.presets import steps

Data = Literal["synth-nonlin", "sprites"]


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
