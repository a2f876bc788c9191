"""Figures drawn from arrays and data sets; they know nothing of runs or studies."""

from unpick.plots.images import contact_sheet, image_grid, latent_squares, traversals
from unpick.plots.style import BLUE, COLOURS, GREY, ORANGE, house_style, save

__all__ = [
    "BLUE",
    "COLOURS",
    "GREY",
    "ORANGE",
    "contact_sheet",
    "house_style",
    "image_grid",
    "latent_squares",
    "save",
    "traversals",
]
