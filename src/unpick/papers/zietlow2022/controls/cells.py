"""What is trained: posteriors, optimisers and laws of the first weights, one changed at a time."""

from collections.abc import Sequence
from dataclasses import replace

from unpick.models import MLP
from unpick.models.networks import Weights
from unpick.papers.zietlow2022.chapter3 import (
    CLOUDS,
    NAMES,
    NOTES,
    PRINTED,
    SEEDS,
    Data,
    Method,
    setting,
)
from unpick.papers.zietlow2022.published import published
from unpick.study.study import Cell, Scale
from unpick.training import SGD, RunConfig

FULL, DIAGONAL = NAMES["beta-vae-sigma"], NAMES["beta-vae"]
CLOUD_SEEDS = {"quick": 3, "standard": 24, "paper": 24}
# Of 0.03, 0.1, 0.3, 1 and 3 the largest whose loss stays finite for four other seeds (1000 to
# 1003) in 20 000 steps of either point cloud.
RATE = 0.3


def column(method: Method, sgd: bool, weights: Weights) -> str:
    """The name of a cell; what is as in table 3.3 goes without saying."""
    parts = [NAMES[method], "SGD" if sgd else "", "Gaussian" if weights == "gaussian" else ""]
    return ", ".join(part for part in parts if part)


def variant(
    data: Data, method: Method, scale: Scale, *, sgd: bool = False, weights: Weights = "uniform"
) -> RunConfig:
    """The setting of table 3.3 with another optimiser, or other first weights.

    At scale `standard` the controls of `synth-lin` have a quarter of the steps, and all of
    `synth-nonlin` a twentieth; `thesis-3.3` has the latter's ten seeds of published length.
    """
    config = setting(data, method, scale)
    network = config.model.network
    assert isinstance(network, MLP)
    model = replace(config.model, network=replace(network, weights=weights))
    config = replace(config, model=model, optimiser=SGD(RATE) if sgd else config.optimiser)
    shorter = 20 if data == "synth-nonlin" else 4 if sgd or weights != "uniform" else 1
    return replace(config, steps=config.steps // (shorter if scale == "standard" else 1))


def cells(scale: Scale) -> Sequence[Cell]:
    """The point clouds with every control, and the sprites, whose decoder ends in a sigmoid."""
    entries = []
    for data in CLOUDS:
        for method, sgd, weights in CONTROLS:
            plain = not sgd and weights == "uniform"
            entries.append(
                Cell(
                    data,
                    column(method, sgd, weights),
                    variant(data, method, scale, sgd=sgd, weights=weights),
                    CLOUD_SEEDS[scale],
                    published("thesis-3.3", data, method) if plain else {},
                    NOTES[data],
                )
            )
    if scale == "quick":
        return entries
    sprites = Cell(
        "sprites",
        DIAGONAL,
        setting("sprites", "beta-vae", scale),
        SEEDS[scale]["sprites"],
        published("thesis-3.3", PRINTED["sprites"], "beta-vae"),
        NOTES["sprites"],
    )
    return [*entries, sprites]


CONTROLS: tuple[tuple[Method, bool, Weights], ...] = (
    ("beta-vae", False, "uniform"),
    ("beta-vae-sigma", False, "uniform"),
    ("beta-vae-sigma", False, "gaussian"),
    ("beta-vae-sigma", True, "uniform"),
    ("beta-vae-sigma", True, "gaussian"),
)
