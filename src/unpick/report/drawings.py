"""The figures of a study, drawn and written whole."""

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
    """Draw what can be drawn into `folder/figures`; pictures, and notes on those that failed.

    A damaged run costs the figure that needs it, not the page.

    Args:
        drawings: What to draw.
        results: What they are drawn from.
        folder: Of the page.
        stem: How the names of the files begin.
        pdf: Whether to write each as PDF, too, and to link to it.
    """
    pictures, problems = [], []
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    for drawing in drawings:
        name = f"{stem}-{drawing.name}"
        try:
            with house_style():
                figure = drawing.draw(results)
            if figure is None:
                continue
            with TemporaryDirectory() as place:
                drawn = save(figure, Path(place), name)
                for file in (drawn, drawn.with_suffix(".pdf"))[: 1 + pdf]:
                    write(folder / "figures" / file.name, file.read_bytes())
        except (OSError, ValueError) as error:
            problems.append(Note(str(error), f"{drawing.title}: could not be drawn", "bad"))
            continue
        other = Link("PDF", f"figures/{name}.pdf") if pdf else None
        pictures.append(Picture(f"figures/{name}.svg", drawing.title, drawing.caption, other))
    return pictures, problems
