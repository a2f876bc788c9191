"""What a study is, running one, and comparing its numbers with the published ones."""

from unpick.study.comparison import Comparison, above, same_within
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
)
from unpick.study.verdict import Verdict

__all__ = [
    "SCALES",
    "Cell",
    "Claim",
    "Comparison",
    "Drawing",
    "Outcome",
    "Printed",
    "Results",
    "Scale",
    "Study",
    "Verdict",
    "above",
    "collect",
    "read_entry",
    "run",
    "same_within",
]
