"""unpick shows why a variational autoencoder disentangles, and when it will not."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unpick.diagnosis import diagnose as diagnose

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """`unpick.diagnose`, imported when it is first asked for: `import unpick` stays light."""
    if name == "diagnose":
        from unpick.diagnosis import diagnose

        return diagnose
    raise AttributeError(f"module 'unpick' has no attribute {name!r}")
