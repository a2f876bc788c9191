"""Ready-made twins: recipes that take minutes, and what came out where they were first made.

That of sprites is the twin of the study `thesis-4` at scale standard (Zietlow 2022, chapter 4, on
small images), that of rooms the twin of an earlier version of it. `recipes.json` has, for each
recipe, the checksum of its twin and the numbers of its report (`record`; `benchmarks/recipes.py`
writes them), and what the study measured on its own make of the twin: the MIG of the beta-VAE on
the original, on the twin and with noise of the same maximum.

Processors, numbers of threads and versions of torch round sums differently, and training enlarges
that, so elsewhere the checksum may differ. Then the numbers say how close the twin is.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from unpick.data.shapes3d import Shapes3D
from unpick.data.sprites import Sprites
from unpick.models import MLP, Conv, ModelConfig
from unpick.objectives import BetaVAE
from unpick.perturb.config import PerturbConfig
from unpick.perturb.verdict import advantage
from unpick.training import Adam, RunConfig

RECIPES: Mapping[str, PerturbConfig] = {
    "sprites": PerturbConfig(
        RunConfig(
            Sprites(32),
            ModelConfig(
                5, likelihood="bernoulli", network=MLP((256, 256), "relu", (256, 256, 256), "relu")
            ),
            BetaVAE(4.0),
            Adam(1e-3),
            steps=5000,
            batch=64,
        ),
        epsilon=0.1,
        restarts=8,  # of three restarts the pair can be too alike to mislead
        steps=1500,
        batch=32,
        decoder_rate=1e-3,
    ),
    "rooms": PerturbConfig(
        RunConfig(
            Shapes3D(16),
            ModelConfig(
                6,
                likelihood="bernoulli",
                network=Conv(encoder=((32, 4, 2, 1), (64, 4, 2, 1)), decoder=((32, 4, 2, 1),)),
            ),
            BetaVAE(16.0),
            Adam(1e-3),
            steps=2000,
            batch=64,
            seed=3,  # which entangles; others do not
        ),
        epsilon=0.175,
        restarts=7,
        steps=6000,
        batch=32,
        decoder_rate=1e-3,
    ),
}


@cache
def shipped() -> dict[str, dict[str, Any]]:
    """For each recipe what is on record of its twin: see `record`."""
    return json.loads((files("unpick.perturb") / "recipes.json").read_text())


def record(document: Mapping[str, Any]) -> dict[str, Any]:
    """What `recipes.json` has of a twin, from its twin.json."""
    report = document["report"]
    scores = {each["seed"]: round(each["score"], 3) for each in report["candidates"]}
    return {
        "identity": document["identity"],
        "sha256": document["sha256"],
        "MIG": {side: scores[report[side][0]] for side in ("disentangled", "entangled")},
        "ahead": {when: round(advantage(report[when]), 3) for when in ("before", "after")},
        "environment": report["environment"],
    }


def compare_with_shipped(name: str, document: Mapping[str, Any]) -> str:
    """One or two sentences: whether a twin is the shipped one, and how close it is.

    Args:
        name: Of the recipe.
        document: The twin.json of the twin that was made.
    """
    ours, theirs = record(document), shipped()[name]
    if ours["sha256"] == theirs["sha256"]:
        return f"the twin is the shipped one to the bit: sha256 {ours['sha256'][:12]}"
    machines = [
        f"torch {each['torch']}, {each['processor']}, threads {each['threads']}"
        for each in (ours["environment"], theirs["environment"])
    ]
    return (
        f"the recipe is the shipped one, the twin differs by rounding ({machines[0]} here; "
        f"{machines[1]} there): entangled models are ahead by {ours['ahead']['after']:.4g}, there "
        f"by {theirs['ahead']['after']:.4g}; MIG of the two restarts {_pair(ours)}, there "
        f"{_pair(theirs)}"
    )


def describe_effect(name: str) -> str:
    """What the study's make of the twin did to the beta-VAE."""
    found = shipped()[name]["measured"]
    return (
        f"the study thesis-4, on its make of this twin, over {found['seeds']} seeds: MIG of the "
        "beta-VAE "
        f"{found['original']:.2f} on the original, {found['perturbed']:.2f} on the twin, "
        f"{found['noisy']:.2f} with noise of the same maximum"
    )


def _pair(found: Mapping[str, Any]) -> str:
    return f"{found['MIG']['disentangled']:.2f} and {found['MIG']['entangled']:.2f}"
