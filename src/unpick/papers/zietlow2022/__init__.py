"""Zietlow (2022), with Rolinek et al. (2019): settings, published numbers, studies, ledger."""

from unpick.papers.zietlow2022 import thesis_3_2, thesis_3_3, thesis_3_3_open, thesis_3_4
from unpick.papers.zietlow2022.beta_search import study as beta_search
from unpick.papers.zietlow2022.budget import study as budget
from unpick.papers.zietlow2022.controls import study as controls
from unpick.papers.zietlow2022.eigenfaces import study as eigenfaces
from unpick.papers.zietlow2022.ledger import ENTRIES
from unpick.papers.zietlow2022.surfaces import study as surfaces
from unpick.papers.zietlow2022.thesis_4 import study as thesis_4
from unpick.study import Study

__all__ = ["ENTRIES", "STUDIES"]

STUDIES: tuple[Study, ...] = (
    surfaces.STUDY,
    budget.STUDY,
    thesis_3_2.STUDY,
    thesis_3_3.STUDY,
    thesis_3_3_open.STUDY,
    controls.STUDY,
    thesis_3_4.STUDY,
    eigenfaces.STUDY,
    beta_search.STUDY,
    thesis_4.STUDY,
)
