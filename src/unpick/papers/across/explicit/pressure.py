"""Synth-lin once more, with a hundred times the beta, and so a hundred times the pressure."""

from dataclasses import replace
from typing import Any

from unpick.papers.across.explicit.courses import CLOUDS, SEEDS, train_method
from unpick.papers.across.explicit.methods import METHODS
from unpick.study.study import Scale

PRESSED = "synth-lin, beta 0.1"
LABELS = ("beta-VAE", "full covariance", "deterministic", "deterministic, full")


def compute_pressure(scale: Scale) -> dict[str, Any]:
    """The same as `courses.compute_course` gives, of the methods with a KL."""
    if scale == "paper":
        return {}
    chosen = replace(CLOUDS["synth-lin"], beta=0.1)
    if scale == "quick":
        chosen = replace(chosen, base=replace(chosen.base, steps=100))
    dataset = chosen.base.data.load()
    return {label: train_method(METHODS[label], chosen, dataset, SEEDS[scale]) for label in LABELS}
