"""Tables on the terminal."""

from rich import box
from rich.console import Console
from rich.table import Table as ScreenTable
from rich.text import Text

from unpick.report.page import Table

COLOURS = {"good": "green", "note": "yellow", "bad": "red"}  # of a note's mark


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
        last = k == len(table.columns) - 1  # it gives way where the terminal is narrow
        drawn.add_column(Text(column), justify="right" if k else "left", no_wrap=not last)
    grouped = any(not any(map(str, cells)) for _, *cells in table.rows)
    for row in table.rows:
        name, *cells = map(str, row)
        group = not any(cells)
        inset = "  " if grouped and not group else ""
        drawn.add_row(
            Text(inset + name), *[Text(cell) for cell in cells], style="bold" if group else ""
        )
    return drawn
