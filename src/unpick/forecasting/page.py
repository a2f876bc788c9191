"""A forecast on the terminal, and as an HTML page with pictures."""

from pathlib import Path

from matplotlib.figure import Figure
from rich.console import Console
from rich.text import Text

from unpick.data import Dataset
from unpick.forecasting import figures
from unpick.forecasting.directions import Directions
from unpick.forecasting.result import Forecast
from unpick.forecasting.words import CORRELATED
from unpick.pages import Picture, Section, Table, print_table, write_page
from unpick.pages.page import Mark, Marked
from unpick.pages.terminal import COLOURS

SHOWN = 20  # pairs on a terminal
FATES: dict[str, Mark] = {"told apart": "good", "mixed": "bad", "open": "note"}


def print_forecast(found: Forecast, console: Console) -> None:
    """Print the findings, then the tables."""
    shape = " x ".join(map(str, found.shape))
    console.print(
        Text(f"{found.data}: {found.observations} observations of {shape}", style="bold"),
        highlight=False,
    )
    for note in found.findings:
        title = Text(note.title, style=f"bold {COLOURS[note.mark]}")
        console.print(title.append(Text(f": {note.text}", style="not bold default")))
    for table in tables(found, SHOWN):
        print_table(table, console)
    if found.page is not None:
        console.print(f"pictures: {found.page}", highlight=False, markup=False, soft_wrap=True)


def tables(found: Forecast, most: int | None = None) -> list[Table]:
    """One of factors, one of pairs; none without factors.

    Args:
        found: The forecast.
        most: How many pairs are shown; all by default.
    """
    if not found.factors:
        return []
    factors = tuple(
        (
            f.name,
            f.kind,
            "" if f.values is None else str(f.values),
            "" if f.length is None else f"{f.length:.3g}",
            "" if f.one_step is None else f"{f.one_step:.3g}",
            "noise" if f.noise else f"{f.saving:.3g}",
        )
        for f in found.factors
    )
    shown = [
        Table(
            "Length: of the local direction, per standard deviation of the factor, root mean "
            f"square over {found.points} points. One step: of plain differences over one grid "
            "step. Saves: per nat. As beta grows, the factor disappears at about this value or "
            "before. Noise: not told from it.",
            ("factor", "kind", "values", "length", "one step", "saves"),
            factors,
        )
    ]
    return [*shown, _pairs(found, most)] if found.pairs else shown


def _pairs(found: Forecast, most: int | None) -> Table:
    """The pairs at most risk first; correlations only if some are large."""
    correlated = any(abs(p.correlation) >= CORRELATED for p in found.pairs)
    ranked = sorted(found.pairs, key=lambda p: -p.confusion)
    rows = tuple(
        (
            f"{p.first}, {p.second}",
            *((f"{p.correlation:.2f}",) if correlated else ()),
            f"{p.cosine:.2f}",
            f"{p.close:.0%}",
            f"{abs(p.angle):.0f}",
            f"{p.stake:.2g}",
            f"{p.confusion:.2f}",
            Marked(f"{p.fate} ({p.sureness:.0%})", FATES[p.fate]),
        )
        for p in ranked[:most]
    )
    columns = ("cosine", "close", "angle", "stake", "confusion", "forecast")
    caption = (
        "Pairs, those at most risk first. Cosine: of their directions, root mean square. Close: "
        "share of points where lengths lie within 20 %. Angle: degrees between the cheapest axes "
        "and the factors' own. Stake: what the dearest axes cost more, in nats. Confusion: 0 told "
        "apart, 1 both latents hold both. In brackets: share of bootstrap samples of the points "
        "with the same forecast."
    )
    rest = len(ranked) - len(rows)
    more = f"{rest} more pairs at less risk; --report and --json have all."
    return Table(
        caption,
        ("pair", *(("correlation",) if correlated else ()), *columns),
        rows,
        (more,) * (rest > 0),
    )


def write_forecast(
    folder: Path,
    found: Forecast,
    dataset: Dataset,
    directions: Directions,
    command: str,
) -> Path:
    """Draw the pictures and write `index.html` beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = []
    for name, (title, caption, figure) in _draw(found, dataset, directions).items():
        if figure is not None:
            figure.savefig(folder / f"{name}.png", dpi=110)
            pictures.append(Picture(f"{name}.png", title, caption))
    sections = [Section("Numbers", tables=tables(found)), Section("Pictures", pictures=pictures)]
    title = f"Forecast for {found.data}: what a VAE will tell apart"
    return write_page(folder, title, found.findings, [], [], command, sections=sections)


def _draw(
    found: Forecast, dataset: Dataset, directions: Directions
) -> dict[str, tuple[str, str, Figure | None]]:
    """Every picture of the page: title, caption, figure."""
    drawn: dict[str, tuple[str, str, Figure | None]] = {}
    if directions.columns:
        drawn["lengths"] = (
            "How far each factor moves an observation",
            "Boxes hold the middle half of the points. Where boxes of two factors overlap, their "
            "lengths do not tell them apart.",
            figures.draw_lengths(found, directions),
        )
    if found.pairs:
        drawn["pairs"] = (
            "Which factors will be mixed",
            "Left: how far directions are from orthogonal. Middle: where two lengths are alike. "
            "Right: what follows from both at all points together.",
            figures.draw_pairs(found),
        )
    if found.betas:
        drawn["savings"] = (
            "Which beta keeps a factor",
            "A factor disappears when beta exceeds what it saves per nat. The order is firmer "
            "than the value.",
            figures.draw_savings(found),
        )
    drawn["spectra"] = (
        "Global and local variance",
        "Standard deviations along principal directions of all observations, and at a point.",
        figures.draw_spectra(found),
    )
    drawn["traversals"] = (
        "The factors",
        "Each factor moved alone from its first to its last value.",
        figures.draw_traversals(dataset),
    )
    if directions.columns:
        drawn["power"] = (
            "Where each factor acts",
            "Root mean square change of a pixel. Factors that act on the same pixels can only be "
            "orthogonal by what they do there.",
            figures.draw_power(found, dataset, directions),
        )
    return drawn
