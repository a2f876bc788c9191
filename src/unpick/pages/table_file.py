"""Tables and records as files that other programs read: LaTeX, Markdown, CSV."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from unpick.pages.latex import to_latex
from unpick.pages.markdown import to_markdown
from unpick.pages.page import Table
from unpick.runs.disk import write

FORMATS = {".tex": to_latex, ".md": to_markdown}


def check_suffix(file: Path) -> None:
    """Raise unless the name ends in .tex or .md."""
    if file.suffix not in FORMATS:
        raise ValueError(f"table must end in {' or '.join(FORMATS)}, got {file}")


def write_table(table: Table, file: Path) -> None:
    """Write a table as LaTeX or Markdown, as the end of the file's name says."""
    check_suffix(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    write(file, FORMATS[file.suffix](table).encode())


def write_csv(records: Sequence[Mapping[str, object]], fields: Sequence[str], file: Path) -> None:
    """Write records as CSV: a line of field names, then one a record; None is left empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    file.parent.mkdir(parents=True, exist_ok=True)
    write(file, text.getvalue().encode())
