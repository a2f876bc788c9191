"""Tables on the terminal."""

from typing import Literal

from rich import box
from rich.console import Console
from rich.table import Table as ScreenTable
from rich.text import Text

from unpick.pages.page import Link, Marked, Table

COLOURS: dict[str, str] = {"good": "green", "note": "yellow", "bad": "red"}  # by a note's mark


def print_table(table: Table, console: Console) -> None:
    """Print the table and its footnotes; a row with only a first cell heads a group."""
    console.print(to_rich(table))
    for footnote in table.footnotes:
        console.print(Text(footnote, style="dim"))


def fits_width(table: Table, console: Console) -> bool:
    """Whether the terminal is wide enough to show the table without wrapping."""
    boundless = console.options.update(max_width=10_000)
    return console.measure(to_rich(table), options=boundless).maximum <= console.width


def to_rich(table: Table) -> ScreenTable:
    """Convert the table to one of rich; text is literal, never markup."""
    drawn = ScreenTable(
        caption=Text(table.caption, style="dim italic"),
        box=box.SIMPLE_HEAD,
        collapse_padding=True,
        pad_edge=False,
    )
    for k, column in enumerate(table.columns):
        # On a narrow terminal words wrap; in tables of numbers only the last column does.
        wraps = k > 0 if table.words else k == len(table.columns) - 1
        side: Literal["left", "right"] = "right" if k and not table.words else "left"
        drawn.add_column(Text(column), justify=side, no_wrap=not wraps)
    grouped = any(not any(map(str, cells)) for _, *cells in table.rows)
    for row in table.rows:
        name, *cells = row
        if not any(map(str, cells)):
            # In tables of words the second column has room for the name of a group.
            drawn.add_row(*[""] * table.words, Text(str(name)), style="bold")
            continue
        inset = "  " if grouped and not table.words else ""
        drawn.add_row(Text(f"{inset}{name}"), *map(_cell, cells))
    return drawn


def _cell(cell: str | Link | Marked) -> Text:
    return Text(str(cell), style=COLOURS[cell.mark] if isinstance(cell, Marked) else "")
