"""What a study is, running one, and comparing its numbers with the published ones."""

from unpick.study.published import Printed, read_entry
from unpick.study.running import collect, run
from unpick.study.study import (
    SCALES,
    Cell,
    Claim,
    Drawing,
    Outcome,
    Results,
    Scale,
    Study,
    Verdict,
)

__all__ = [
    "SCALES",
    "Cell",
    "Claim",
    "Drawing",
    "Outcome",
    "Printed",
    "Results",
    "Scale",
    "Study",
    "Verdict",
    "collect",
    "read_entry",
    "run",
]
