"""Tables on the terminal."""

from rich import box
from rich.console import Console
from rich.table import Table as ScreenTable

from unpick.report.page import Table


def show(table: Table, console: Console) -> None:
    """The table; a row with only a first cell heads a group."""
    screen = ScreenTable(
        caption=table.caption, box=box.SIMPLE_HEAD, collapse_padding=True, pad_edge=False
    )
    for k, column in enumerate(table.columns):
        last = k == len(table.columns) - 1  # it gives way where the terminal is narrow
        screen.add_column(column, justify="right" if k else "left", no_wrap=not last)
    grouped = any(not any(cells) for _, *cells in table.rows)
    for name, *cells in table.rows:
        group = not any(cells)
        inset = "  " if grouped and not group else ""
        screen.add_row(inset + name, *cells, style="bold" if group else "")
    console.print(screen)
