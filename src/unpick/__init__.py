"""unpick shows why a variational autoencoder disentangles, and when it will not."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unpick import probe as probe
    from unpick.diagnosis.diagnose import diagnose as diagnose
    from unpick.explorer.launch import explore as explore

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Import public names at first use, so that `import unpick` stays light."""
    if name == "probe":
        return import_module("unpick.probe")
    if name == "diagnose":
        from unpick.diagnosis import diagnose

        return diagnose
    if name == "explore":
        from unpick.explorer import explore

        return explore
    raise AttributeError(f"module 'unpick' has no attribute {name!r}")
