"""The ledger entries of the paper, a file a subject."""

from typing import Any

from unpick.papers.zietlow2022.ledger import (
    axes,
    background,
    budget,
    improvements,
    inequalities,
    losses,
    mechanisms,
    pca,
    pca_lemmas,
    score,
    symmetry,
)
from unpick.study.ledger import Entry

ENTRIES: tuple[Entry[Any], ...] = (
    *axes.ENTRIES,
    *background.ENTRIES,
    *budget.ENTRIES,
    *improvements.ENTRIES,
    *inequalities.ENTRIES,
    *losses.ENTRIES,
    *mechanisms.ENTRIES,
    *pca.ENTRIES,
    *pca_lemmas.ENTRIES,
    *score.ENTRIES,
    *symmetry.ENTRIES,
)
