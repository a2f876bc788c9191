"""Bhowal et al. (2024): settings, published numbers, studies, ledger."""

from unpick.papers.bhowal2024.ledger import ENTRIES
from unpick.papers.bhowal2024.local import study as local
from unpick.papers.bhowal2024.pca import study as pca
from unpick.papers.bhowal2024.scores import study as scores
from unpick.study import Study

__all__ = ["ENTRIES", "STUDIES"]

STUDIES: tuple[Study, ...] = (
    local.STUDY,
    scores.STUDY,
    pca.STUDY,
)
