"""Table 7 of Bhowal et al. (2024), ours beside printed."""

from unpick.pages.page import Table
from unpick.papers.bhowal2024.pca.claims import PRINTED, scale_to
from unpick.papers.bhowal2024.pca.readings import SETS, survey_of
from unpick.study.study import Results


def tabulate_errors(results: Results) -> list[Table]:
    """Errors of every set of axes by each order, in our unit and in that of the table."""
    errors = survey_of(results).errors
    scaled = {order: scale_to(each, PRINTED) for order, each in errors.items()}
    blank = ("",) * len(errors)
    rows: list[tuple[str, ...]] = [("in the unit of table 7", "", *blank)]
    for k, name in enumerate(SETS):
        ours = [f"{fitted[k]:.2f}" for fitted, _ in scaled.values()]
        rows.append((name, f"{PRINTED[k]:.2f}", *ours))
    rows.append(("misfit", "", *[f"{misfit:.0%}" for _, misfit in scaled.values()]))
    rows.append(("squared error an image", "", *blank))
    for k, name in enumerate(SETS):
        rows.append((name, "", *[f"{each[k]:.4g}" for each in errors.values()]))
    caption = "Errors of sprites from chosen axes, by the order in which axes are counted. The "
    caption += "paper does not name its unit: in the first rows each order has the unit that "
    caption += "fits the printed errors best, and the misfit is the root mean square difference "
    caption += "as a share of the mean printed error."
    return [Table(caption, ("axes used", "printed", *errors), tuple(rows))]
