"""How results look in a notebook: a small table in HTML."""

from collections.abc import Iterable, Sequence
from html import escape


def html_table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in HTML, its texts escaped.

    Example:
        >>> html_table("a < b", ["seed"], [[0]])
        '<p>a &lt; b</p><table><tr><th>seed</th></tr><tr><td>0</td></tr></table>'
    """

    def row(cells: Iterable[object], tag: str) -> str:
        inner = "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells)
        return f"<tr>{inner}</tr>"

    body = row(columns, "th") + "".join(row(cells, "td") for cells in rows)
    return f"<p>{escape(caption)}</p><table>{body}</table>"
