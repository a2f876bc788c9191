"""One loop, for an ensemble of members at once."""

from unpick.training.config import Adagrad, Adam, RunConfig
from unpick.training.loop import Ensemble, Tick, Training, ticks, train
from unpick.training.presets import preset

__all__ = [
    "Adagrad",
    "Adam",
    "Ensemble",
    "RunConfig",
    "Tick",
    "Training",
    "preset",
    "ticks",
    "train",
]
