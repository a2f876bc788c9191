"""Print tables on the terminal."""

from typing import Literal

from rich import box
from rich.console import Console
from rich.table import Table as ScreenTable
from rich.text import Text

from unpick.pages.page import Link, Marked, Table

COLOURS: dict[str, str] = {"good": "green", "note": "yellow", "bad": "red"}  # by a note's mark


def show(table: Table, console: Console) -> None:
    """Print a table; a row with only a first cell is the head of a group."""
    console.print(screen(table))
    for footnote in table.footnotes:
        console.print(Text(footnote, style="dim"))


def fits(table: Table, console: Console) -> bool:
    """Whether the table fits the terminal without wrapped lines."""
    boundless = console.options.update(max_width=10_000)
    return console.measure(screen(table), options=boundless).maximum <= console.width


def screen(table: Table) -> ScreenTable:
    """The table of rich; text is never read as markup."""
    drawn = ScreenTable(
        caption=Text(table.caption, style="dim italic"),
        box=box.SIMPLE_HEAD,
        collapse_padding=True,
        pad_edge=False,
    )
    for k, column in enumerate(table.columns):
        # On a narrow terminal columns of words wrap, and otherwise the last column.
        wraps = k > 0 if table.words else k == len(table.columns) - 1
        side: Literal["left", "right"] = "right" if k and not table.words else "left"
        drawn.add_column(Text(column), justify=side, no_wrap=not wraps)
    grouped = any(not any(map(str, cells)) for _, *cells in table.rows)
    for row in table.rows:
        name, *cells = row
        if not any(map(str, cells)):
            # In a table of words the name of a group goes into the wider second column.
            drawn.add_row(*[""] * table.words, Text(str(name)), style="bold")
            continue
        inset = "  " if grouped and not table.words else ""
        drawn.add_row(Text(f"{inset}{name}"), *map(_cell, cells))
    return drawn


def _cell(cell: str | Link | Marked) -> Text:
    return Text(str(cell), style=COLOURS[cell.mark] if isinstance(cell, Marked) else "")
