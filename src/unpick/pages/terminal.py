"""Tables on the terminal."""

from typing import Literal

from rich import box
from rich.console import Console
from rich.table import Table as ScreenTable
from rich.text import Text

from unpick.pages.page import Link, Marked, Table

COLOURS: dict[str, str] = {"good": "green", "note": "yellow", "bad": "red"}  # of a note's mark


def show(table: Table, console: Console) -> None:
    """The table; a row with only a first cell heads a group."""
    console.print(screen(table))
    for footnote in table.footnotes:
        console.print(Text(footnote, style="dim"))


def fits(table: Table, console: Console) -> bool:
    """Whether the terminal has room for it without breaking a line."""
    boundless = console.options.update(max_width=10_000)
    return console.measure(screen(table), options=boundless).maximum <= console.width


def screen(table: Table) -> ScreenTable:
    """As rich draws it; text is taken as it is, never as markup."""
    drawn = ScreenTable(
        caption=Text(table.caption, style="dim italic"),
        box=box.SIMPLE_HEAD,
        collapse_padding=True,
        pad_edge=False,
    )
    for k, column in enumerate(table.columns):
        # What gives way where the terminal is narrow: words, and else the last column.
        wraps = k > 0 if table.words else k == len(table.columns) - 1
        side: Literal["left", "right"] = "right" if k and not table.words else "left"
        drawn.add_column(Text(column), justify=side, no_wrap=not wraps)
    grouped = any(not any(map(str, cells)) for _, *cells in table.rows)
    for row in table.rows:
        name, *cells = row
        if not any(map(str, cells)):
            # Beside words the name of a group stands where there is room for it.
            drawn.add_row(*[""] * table.words, Text(str(name)), style="bold")
            continue
        inset = "  " if grouped and not table.words else ""
        drawn.add_row(Text(f"{inset}{name}"), *map(_cell, cells))
    return drawn


def _cell(cell: str | Link | Marked) -> Text:
    return Text(str(cell), style=COLOURS[cell.mark] if isinstance(cell, Marked) else "")
