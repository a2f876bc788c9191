"""The table of the point clouds."""

import numpy as np

from unpick.pages.page import Table
from unpick.papers.across.explicit.claims import mean, score
from unpick.study.study import Results

COLUMNS = ("DtO", "steps to align", "DS", "MIG", "error")


def tabulate_clouds(results: Results) -> list[Table]:
    """Mean and deviation over seeds at the end of training, by cloud and method."""
    rows: list[tuple[str, ...]] = []
    for name, methods in results.computed.items():
        if methods:
            rows.append((f"{name}, {len(next(iter(methods.values()))['DS'])} seeds",))
        for method in methods:
            values = [score(results, name, method, column) for column in COLUMNS]
            known = [np.array([]) if each is None else each for each in values]
            rows.append((method, *map(mean, known, COLUMNS)))
    caption = "Point clouds at the end of training: mean and deviation over seeds. Steps to align "
    caption += (
        "are those until DtO stays below half of chance (0.27), as a geometric mean; a seed "
    )
    caption += "that does not get there counts with the last step. The error is the root mean "
    caption += "square error of reconstructions as a share of the data's deviation."
    return [Table(caption, ("method", *COLUMNS), tuple(rows))] if rows else []
