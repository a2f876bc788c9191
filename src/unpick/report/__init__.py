"""Tables, figures, pages."""

from unpick.report.figures import contact_sheet, latent_squares, traversals
from unpick.report.page import Note, Picture, Table, write_page
from unpick.report.scores import score_table
from unpick.report.terminal import show

__all__ = [
    "Note",
    "Picture",
    "Table",
    "contact_sheet",
    "latent_squares",
    "score_table",
    "show",
    "traversals",
    "write_page",
]
