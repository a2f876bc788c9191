"""The ledger entries of the paper, a file a subject."""

from typing import Any

from unpick.papers.bhowal2024.ledger import (
    constraints,
    embedding,
    losses,
    neighbours,
    od_score,
    optimum,
    orthogonality,
    taylor,
    variances,
)
from unpick.study.ledger import Entry

ENTRIES: tuple[Entry[Any], ...] = (
    *constraints.ENTRIES,
    *embedding.ENTRIES,
    *losses.ENTRIES,
    *neighbours.ENTRIES,
    *od_score.ENTRIES,
    *optimum.ENTRIES,
    *orthogonality.ENTRIES,
    *taylor.ENTRIES,
    *variances.ENTRIES,
)
