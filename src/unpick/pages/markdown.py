"""Tables as Markdown."""

from unpick.pages.page import Table


def plain(text: str) -> str:
    """Text on one line, with the special characters of HTML and Markdown tables escaped."""
    text = " ".join(text.split())
    for mark, instead in {"&": "&amp;", "<": "&lt;", "|": "\\|", "*": "\\*"}.items():
        text = text.replace(mark, instead)
    return text


def to_markdown(table: Table) -> str:
    """Caption, table and a list of footnotes; the heads of groups are bold.

    Example:
        >>> print(to_markdown(Table("Ours.", ("", "DtO"), (("a", ""), ("b", "0.1")))))
        Ours.
        <BLANKLINE>
        |  | DtO |
        | --- | ---: |
        | **a** |  |
        | b | 0.1 |
        <BLANKLINE>
    """
    side = "---" if table.words else "---:"
    lines = [[plain(name) for name in table.columns]]
    lines.append(["---", *[side] * (len(table.columns) - 1)])
    for row in table.rows:
        name, *cells = [plain(str(cell)) for cell in row]
        lines.append([name, *cells] if any(cells) else [f"**{name}**", *cells])
    drawn = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    footnotes = "\n".join(f"- {plain(text)}" for text in table.footnotes)
    return "\n\n".join(part for part in (plain(table.caption), drawn, footnotes) if part) + "\n"
