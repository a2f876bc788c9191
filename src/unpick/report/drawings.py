"""Draw the figures of a study and write their files."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from unpick.pages.page import Link, Note, Picture
from unpick.plots import house_style, save
from unpick.runs.disk import write
from unpick.study import Drawing


def draw_all(
    drawings: Sequence[Drawing],
    results: Any,  # noqa: ANN401
    folder: Path,
    stem: str,
    *,
    pdf: bool = True,
) -> tuple[list[Picture], list[Note]]:
    """Draw figures into `folder/figures`; return pictures, and notes on those that failed.

    If a run is damaged, only the figures that need it are missing from the page.

    Args:
        drawings: The figures to draw.
        results: Their input.
        folder: Folder of the page.
        stem: Start of the file names.
        pdf: Whether to write each figure as PDF too, and link to it.
    """
    pictures, problems = [], []
    for drawing in drawings:
        try:
            files = draw_one(drawing, results, folder / "figures", stem, pdf=pdf)
        except (OSError, ValueError, KeyError) as error:
            problems.append(Note(str(error), f"{drawing.title}: could not be drawn", "bad"))
            continue
        if files:
            svg, *others = (f"figures/{file.name}" for file in files)
            link = Link("PDF", others[0]) if others else None
            pictures.append(Picture(svg, drawing.title, drawing.caption, link))
    return pictures, problems


def draw_one(
    drawing: Drawing,
    results: Any,  # noqa: ANN401
    folder: Path,
    stem: str,
    *,
    pdf: bool = True,
) -> list[Path]:
    """Draw one figure as SVG and PDF; return the files, none if its runs are missing."""
    with house_style():
        figure = drawing.draw(results)
    if figure is None:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    with TemporaryDirectory() as place:
        drawn = save(figure, Path(place), f"{stem}-{drawing.name}", pdf=pdf)
        for file in (drawn, drawn.with_suffix(".pdf"))[: 1 + pdf]:
            files.append(folder / file.name)
            write(files[-1], file.read_bytes())
    return files
