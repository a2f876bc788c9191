"""The ledger entries of the paper, a file a subject."""

from typing import Any

from unpick.papers.allen2024.ledger import (
    axes,
    beta,
    curves,
    data_size,
    elbo,
    hessian,
    linear,
    local_pca,
    pushforward,
    singular,
    slopes,
)
from unpick.study.ledger import Entry

ENTRIES: tuple[Entry[Any], ...] = (
    *axes.ENTRIES,
    *beta.ENTRIES,
    *curves.ENTRIES,
    *data_size.ENTRIES,
    *elbo.ENTRIES,
    *hessian.ENTRIES,
    *linear.ENTRIES,
    *local_pca.ENTRIES,
    *pushforward.ENTRIES,
    *singular.ENTRIES,
    *slopes.ENTRIES,
)
