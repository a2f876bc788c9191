"""What a study costs, and how much of it is there already."""

import json
from functools import cache
from importlib.resources import files
from pathlib import Path

from unpick.runs import folder
from unpick.study.study import Scale, Study


def cost(study: Study, scale: Scale, share: float = 1.0) -> str:
    """Its training time on two cores, in words.

    From `costs.json`, which `benchmarks/studies.py` writes: the measured speed of every kind of
    network that the study trains, times its steps.

    Args:
        study: Which.
        scale: At which.
        share: Of its runs.
    """
    seconds = _costs()["seconds"].get(study.name, {}).get(scale)
    return "not measured" if seconds is None else duration(share * seconds)


def duration(seconds: float | int) -> str:
    """For people.

    Example:
        >>> duration(42.4), duration(600.0), duration(9000.0), duration(287_169)
        ('42 s', '10 min', '2.5 h', '3.3 days')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.1f} days"


def on_disk(study: Study, scale: Scale, root: Path) -> tuple[int, int]:
    """How many runs of a study are finished, and how many there are."""
    paths = [folder(c, root) for cell in study.cells(scale) for c in cell.configs()]
    return sum((path / "results.json").exists() for path in set(paths)), len(set(paths))


@cache
def _costs() -> dict[str, dict[str, dict[str, float | int]]]:
    return json.loads((files("unpick.papers") / "costs.json").read_text())
