"""Images: small dense networks on sprites and rooms, and on the perturbed twins of both."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from unpick.data.shapes3d import Shapes3D
from unpick.data.sprites import Sprites
from unpick.models import MLP, ModelConfig
from unpick.papers.across.explicit.methods import METHODS
from unpick.perturb import PerturbConfig
from unpick.perturb.recipes import RECIPES
from unpick.study.study import Cell, Scale
from unpick.training import Adam, RunConfig

NETWORK = MLP((128, 128), "relu", (128, 128, 128), "relu")
JACOBIANS = 16  # observations of a batch of 64 at which the decoder is linearised
BASES: Mapping[str, RunConfig] = {
    name: RunConfig(
        data,
        ModelConfig(latents, likelihood="bernoulli", network=NETWORK),
        optimiser=Adam(1e-3),
        steps=2000,
        batch=64,
    )
    for name, data, latents in (("sprites", Sprites(32), 5), ("rooms", Shapes3D(16), 6))
}
BETA = 4.0
SEEDS = 2
TRAINED = ("AE", "beta-VAE", "deterministic", "budget AE")


def twins(scale: Scale) -> Sequence[PerturbConfig]:
    """The ready-made twins."""
    return [RECIPES[name] for name in BASES] if scale == "standard" else []


def cells(scale: Scale) -> Sequence[Cell]:
    """Originals and twins at `standard`; `quick` has the clouds alone."""
    if scale != "standard":
        return []
    made = []
    for name, base in BASES.items():
        for twin in ("original", "perturbed"):
            data = base.data if twin == "original" else RECIPES[name].data()
            for label in TRAINED:
                config = METHODS[label].config(base, BETA, BETA, JACOBIANS)
                made.append(
                    Cell(f"{name}, {twin}", label, replace(config, data=data), SEEDS, note=NOTE)
                )
    return made


NOTE = "settings of our own; penalties have the weight of the KL"
