"""The papers: one folder each, with settings, published numbers, studies and ledger entries."""

from unpick.papers import across, allen2024, bhowal2024, reizinger2022, zietlow2022
from unpick.study import Study

STUDIES: dict[str, Study] = {
    study.name: study
    for paper in (zietlow2022, bhowal2024, allen2024, reizinger2022, across)
    for study in paper.STUDIES
}
