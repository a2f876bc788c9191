"""A figure of our numbers beside the published ones, for any study that has them."""

from collections.abc import Collection
from functools import partial

from matplotlib.figure import Figure

from unpick.plots.comparison import ComparedValues, comparison
from unpick.study.study import Drawing, Results


def drawing(name: str, measure: str, label: str, leave: Collection[str] = ()) -> Drawing:
    """Ours beside the published values of one measure.

    Args:
        name: Of the file.
        measure: A name that the study's measures give.
        label: The measure in words.
        leave: Rows to leave out.
    """
    caption = "A dot a seed, at the scale of this page; what departs is in the table's footnotes."
    title = f"{label[0].upper()}{label[1:]}: ours and published"
    return Drawing(name, title, caption, partial(_draw, measure, label, leave))


def _draw(measure: str, label: str, leave: Collection[str], results: Results) -> Figure | None:
    groups = {
        row: [
            ComparedValues(
                column,
                outcome.values[measure],
                (printed.mean, printed.std) if printed else None,
                outcome.mean("chance") if measure == "DtO" else None,
            )
            for column, outcome in columns.items()
            if measure in outcome.values
            for printed in [outcome.cell.published.get(measure)]
        ]
        for row, columns in results.rows().items()
        if row not in leave
    }
    shown = {row: entries for row, entries in groups.items() if entries}
    return comparison(shown, label) if shown else None
