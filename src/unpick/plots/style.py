"""Style and colours of figures, which colour-blind readers can tell apart, and saving."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

# Okabe & Ito (2008), in the order in which lines of a figure take them.
BLUE, ORANGE, GREEN, PINK, SKY, YELLOW, BLACK = COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#e69f00",
    "#222222",
)
GREY = "#888888"

RC: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 9.0,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "svg.hashsalt": "unpick",  # the same figure gives the same file
}


def house_style() -> AbstractContextManager[None]:
    """A context in which figures are drawn in the same style."""
    return mpl.rc_context(RC)


def save(figure: Figure, folder: Path, name: str, *, pdf: bool = True) -> Path:
    """Write the figure as SVG, for pages, and as PDF, for papers; return the SVG's path."""
    folder.mkdir(parents=True, exist_ok=True)
    with house_style():
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None}, dpi=200)
        if pdf:
            figure.savefig(folder / f"{name}.pdf", metadata={"CreationDate": None}, dpi=200)
    return folder / f"{name}.svg"
