"""unpick shows why a variational autoencoder disentangles, and when it will not."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unpick import probe as probe
    from unpick.diagnosis.diagnose import diagnose as diagnose
    from unpick.estimator import NonlinearPCA as NonlinearPCA
    from unpick.explorer.launch import explore as explore
    from unpick.forecasting.forecast import forecast as forecast

__version__ = "0.1.0"

PLACES = {
    "NonlinearPCA": "unpick.estimator",
    "diagnose": "unpick.diagnosis",
    "explore": "unpick.explorer",
    "forecast": "unpick.forecasting",
}


def __getattr__(name: str) -> object:
    """Import public names at first use, so that `import unpick` stays light."""
    if name == "probe":
        return import_module("unpick.probe")
    if name in PLACES:
        return getattr(import_module(PLACES[name]), name)
    raise AttributeError(f"module 'unpick' has no attribute {name!r}")
