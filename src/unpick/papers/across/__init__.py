"""Studies that compare the papers with each other, and studies of our own."""

from unpick.papers.across.explanations import study as explanations
from unpick.papers.across.explicit import study as explicit
from unpick.papers.across.forecast import study as forecast
from unpick.papers.across.nonlinear_pca import study as nonlinear_pca
from unpick.study import Study

__all__ = ["STUDIES"]

STUDIES: tuple[Study, ...] = (
    explanations.STUDY,
    explicit.STUDY,
    nonlinear_pca.STUDY,
    forecast.STUDY,
)
