"""Reizinger et al. (2022): the ELBO beside the IMA objective."""

from unpick.papers.reizinger2022.ima_gap import study as ima_gap
from unpick.study import Study

__all__ = ["STUDIES"]

STUDIES: tuple[Study, ...] = (ima_gap.STUDY,)
