"""The ledger entries of the paper, a file a subject."""

from typing import Any

from unpick.papers.allen2024.ledger import (
    axes,
    beta,
    elbo,
    hessian,
    linear,
    pushforward,
    singular,
    slopes,
)
from unpick.study.ledger import Entry

ENTRIES: tuple[Entry[Any], ...] = (
    *axes.ENTRIES,
    *beta.ENTRIES,
    *elbo.ENTRIES,
    *hessian.ENTRIES,
    *linear.ENTRIES,
    *pushforward.ENTRIES,
    *singular.ENTRIES,
    *slopes.ENTRIES,
)
