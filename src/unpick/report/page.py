"""One HTML page with tables and pictures: no scripts, nothing loaded from elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import jinja2

import unpick


@dataclass(frozen=True)
class Table:
    """A table as it is shown: cells are text; a row with only a first cell heads a group."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Note:
    """A paragraph; with a title and a mark (good, note, bad) it stands out."""

    text: str
    title: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Picture:
    """A picture file beside the page."""

    file: str
    title: str
    caption: str


def write_page(
    folder: Path,
    title: str,
    notes: Sequence[Note],
    tables: Sequence[Table],
    pictures: Sequence[Picture],
    command: str,
) -> Path:
    """Write `index.html` into the folder that holds its pictures."""
    source = (files("unpick.report") / "page.html").read_text()
    template = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(
        source
    )
    page = folder / "index.html"
    page.write_text(
        template.render(
            title=title,
            notes=notes,
            tables=tables,
            pictures=pictures,
            command=command,
            version=unpick.__version__,
        )
    )
    return page
