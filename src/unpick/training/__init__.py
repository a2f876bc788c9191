"""One loop, for an ensemble of members at once."""

from unpick.training.config import SGD, Adagrad, Adam, RunConfig
from unpick.training.in_memory import Ensemble, train
from unpick.training.loop import Tick, Training, ticks
from unpick.training.presets import preset

__all__ = [
    "SGD",
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
