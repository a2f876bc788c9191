"""A scorecard as a table."""

import math
from collections.abc import Sequence

from unpick.metrics import Scorecard
from unpick.pages.page import Table


def score_table(card: Scorecard, names: Sequence[str] = ()) -> Table:
    """Every metric with its interval, and its value per factor if names of factors are given."""
    rows = []
    for score in card.scores:
        value = "none" if math.isnan(score.value) else f"{score.value:.3f}".removesuffix(".000")
        if score.interval is not None:
            value += f" ± {1.96 * score.interval.deviation:.3f}"
        parts = score.per_factor if names else None
        shown = [""] * len(names) if parts is None else [f"{part:.2f}" for part in parts]
        rows.append((score.name, value, *shown, score.note))
    intervals = any(score.interval is not None for score in card.scores)
    caption = "Of the latent means; 1 is best unless it says otherwise." + (
        " ± is 1.96 standard errors over the choice of observations." if intervals else ""
    )
    caption = f"{caption} {card.note}".strip()
    return Table(caption, ("metric", "value", *names, "how"), tuple(rows))
