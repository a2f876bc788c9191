"""A forecast on the terminal, and as an HTML page with pictures."""

from pathlib import Path

from matplotlib.figure import Figure
from rich.console import Console
from rich.text import Text

from unpick.data import Dataset
from unpick.forecasting import figures
from unpick.forecasting.directions import Directions
from unpick.forecasting.result import Forecast
from unpick.pages import Picture, Section, Table, print_table, write_page
from unpick.pages.page import Marked
from unpick.pages.terminal import COLOURS

FATES = {"told apart": "good", "mixed": "bad", "open": "note"}


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
    for table in tables(found):
        print_table(table, console)
    if found.page is not None:
        console.print(f"pictures: {found.page}", highlight=False, markup=False, soft_wrap=True)


def tables(found: Forecast) -> list[Table]:
    """One of factors, one of pairs; none without factors."""
    if not found.factors:
        return []
    factors = tuple(
        (
            f.name,
            f.kind,
            "" if f.values is None else str(f.values),
            "" if f.length is None else f"{f.length:.3g}",
            "" if f.one_step is None else f"{f.one_step:.3g}",
            f"{f.saving:.3g}",
        )
        for f in found.factors
    )
    shown = [
        Table(
            "Length: of the local direction, per standard deviation of the factor, root mean "
            f"square over {found.points} points. One step: of plain differences over one grid "
            "step. Saves: per nat; the factor disappears at about this beta or below.",
            ("factor", "kind", "values", "length", "one step", "saves"),
            factors,
        )
    ]
    if found.pairs:
        pairs = tuple(
            (
                f"{p.first}, {p.second}",
                f"{p.cosine:.2f}",
                f"{p.close:.0%}",
                f"{abs(p.angle):.0f}",
                f"{p.stake:.2g}",
                f"{p.confusion:.2f}",
                Marked(p.fate, FATES[p.fate]),  # type: ignore[arg-type]
            )
            for p in sorted(found.pairs, key=lambda p: -p.confusion)
        )
        shown.append(
            Table(
                "Pairs, those at most risk first. Cosine: root mean square. Close: share of "
                "points where lengths lie within 20 %. Angle: degrees between the cheapest axes "
                "and the factors' own. Stake: what the dearest axes cost more, in nats. "
                "Confusion: 0 told apart, 1 both latents hold both.",
                ("pair", "cosine", "close", "angle", "stake", "confusion", "forecast"),
                pairs,
            )
        )
    return shown


def write_forecast(
    folder: Path,
    found: Forecast,
    dataset: Dataset,
    directions: Directions | None,
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
    found: Forecast, dataset: Dataset, directions: Directions | None
) -> dict[str, tuple[str, str, Figure | None]]:
    """Every picture of the page: title, caption, figure."""
    drawn: dict[str, tuple[str, str, Figure | None]] = {}
    if directions is not None:
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
    if found.betas and found.betas[0] > 0:
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
    if directions is not None:
        drawn["power"] = (
            "Where each factor acts",
            "Root mean square change of a pixel. Factors that act on the same pixels can only be "
            "orthogonal by what they do there.",
            figures.draw_power(found, dataset, directions),
        )
    return drawn
