"""Figure of the ledger: how good the approximations are."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from unpick.papers.across.ledger import plots
from unpick.study import Drawing
from unpick.study.ledger import Judgement


def orders(judgements: Sequence[Judgement]) -> Figure | None:
    """The errors of the approximations, as their checks measured them."""
    curves = {
        f"{judgement.entry.id}: {judgement.entry.title}": judgement.evidence.errors
        for judgement in judgements
        if judgement.evidence.errors and judgement.word == "approximate"
    }
    return plots.error_orders(curves) if curves else None


DRAWINGS = (
    Drawing(
        "orders",
        "How good the approximations are",
        "Relative error against the scale of the noise, as the checks measured it.",
        orders,
    ),
)
