"""Images: the models that the ready-made twins mislead, on the originals and on the twins."""

from collections.abc import Sequence
from dataclasses import replace

from unpick.objectives import BetaVAE
from unpick.papers.across.explicit.methods import METHODS
from unpick.perturb import PerturbConfig
from unpick.perturb.recipes import RECIPES
from unpick.study.study import Cell, Scale

JACOBIANS = 16  # observations of a batch of 64 at which the decoder is linearised
SEEDS = 5
TRAINED = (
    "AE",
    "beta-VAE",
    "full covariance",
    "full, penalised",
    "deterministic",
    "budget AE",
    "IMA AE",
)


def twins(scale: Scale) -> Sequence[PerturbConfig]:
    """The ready-made twins."""
    return [*RECIPES.values()] if scale == "standard" else []


def cells(scale: Scale) -> Sequence[Cell]:
    """Originals and twins at `standard`; `quick` has the clouds alone."""
    if scale != "standard":
        return []
    made = []
    for name, recipe in RECIPES.items():
        assert isinstance(recipe.base.objective, BetaVAE)
        beta = recipe.base.objective.beta
        for twin in ("original", "perturbed"):
            data = recipe.base.data if twin == "original" else recipe.data()
            for label in TRAINED:
                config = METHODS[label].config(recipe.base, beta, beta, JACOBIANS)
                made.append(
                    Cell(f"{name}, {twin}", label, replace(config, data=data), SEEDS, note=NOTE)
                )
    return made


NOTE = "settings of the twin's recipe; penalties have the weight of the KL"
