"""Tables and figures of the papers: what is run for them, measured, and printed beside."""

from unpick.studies import (
    allen_beta,
    allen_pushforward,
    beta_search,
    bhowal_local,
    bhowal_pca,
    bhowal_scores,
    budget,
    eigenfaces,
    explanations,
    ima_gap,
    surfaces,
    thesis_3_2,
    thesis_3_3,
    thesis_3_3_open,
    thesis_3_4,
    thesis_4,
)
from unpick.studies.published import Printed, published
from unpick.studies.running import collect, run
from unpick.studies.study import (
    SCALES,
    Cell,
    Claim,
    Drawing,
    Outcome,
    Results,
    Scale,
    Study,
    Verdict,
)

__all__ = [
    "SCALES",
    "STUDIES",
    "Cell",
    "Claim",
    "Drawing",
    "Outcome",
    "Printed",
    "Results",
    "Scale",
    "Study",
    "Verdict",
    "collect",
    "published",
    "run",
]

STUDIES: dict[str, Study] = {
    module.STUDY.name: module.STUDY
    for module in (
        surfaces,
        budget,
        thesis_3_2,
        thesis_3_3,
        thesis_3_3_open,
        thesis_3_4,
        eigenfaces,
        beta_search,
        thesis_4,
        bhowal_local,
        bhowal_scores,
        bhowal_pca,
        allen_beta,
        allen_pushforward,
        ima_gap,
        explanations,
    )
}
