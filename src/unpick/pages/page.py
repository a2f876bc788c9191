"""HTML pages with tables and pictures: no scripts, nothing loaded from elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

import jinja2

import unpick
from unpick.names import check_choices
from unpick.pages.formula import text_to_html
from unpick.runs.disk import write

Mark = Literal["good", "note", "bad"]


@dataclass(frozen=True)
class Link:
    """A link to another page, or to a place on this one."""

    text: str
    href: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Marked:
    """Text in the colour of a mark."""

    text: str
    mark: Mark

    def __post_init__(self) -> None:
        check_choices(self)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Table:
    """A table of text. A row with only a first cell heads a group.

    Numbers are aligned right; with `words`, cells are aligned left and wrapped.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | Link | Marked, ...], ...]
    footnotes: tuple[str, ...] = ()
    words: bool = False


@dataclass(frozen=True)
class Note:
    """A paragraph, perhaps with a title, a mark that colours it, and a word before the title.

    Titles and texts may hold `code`, $formula$ and $$formula$$, as captions of pictures may. A
    literal text may not: it has words of the user in it.
    """

    text: str
    title: str = ""
    mark: Literal["", Mark] = ""
    word: str = ""
    literal: bool = False

    def __post_init__(self) -> None:
        check_choices(self)


@dataclass(frozen=True)
class Picture:
    """A picture file beside the page; the link leads to the same in another format."""

    file: str
    title: str
    caption: str
    link: Link | None = None


@dataclass(frozen=True)
class Folded:
    """A long text that unfolds when its title is clicked."""

    title: str
    text: str


@dataclass(frozen=True)
class Section:
    """Part of a page; links lead to its anchor."""

    title: str
    anchor: str = ""
    level: int = 2
    notes: Sequence[Note] = ()
    code: str = ""
    tables: Sequence[Table] = ()
    pictures: Sequence[Picture] = ()
    folded: Sequence[Folded] = ()


def write_page(
    folder: Path,
    title: str,
    notes: Sequence[Note],
    tables: Sequence[Table],
    pictures: Sequence[Picture],
    command: str,
    *,
    sections: Sequence[Section] = (),
    name: str = "index.html",
    up: Link | None = None,
) -> Path:
    """Write a page, atomically, into the folder that holds its pictures."""
    source = (files("unpick.pages") / "page.html").read_text()
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    page = environment.from_string(source).render(
        title=title,
        text_to_html=text_to_html,
        parts=[Section("", notes=notes, tables=tables, pictures=pictures), *sections],
        command=command,
        up=up,
        version=unpick.__version__,
    )
    write(folder / name, page.encode())
    return folder / name
