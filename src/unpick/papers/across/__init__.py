"""Studies that compare the papers with each other."""

from unpick.papers.across.explanations import study as explanations
from unpick.study import Study

__all__ = ["STUDIES"]

STUDIES: tuple[Study, ...] = (explanations.STUDY,)
