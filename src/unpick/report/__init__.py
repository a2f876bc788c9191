"""Tables, figures, pages."""

from unpick.report.figures import contact_sheet, latent_squares, traversals
from unpick.report.page import Picture, Table, write_page

__all__ = ["Picture", "Table", "contact_sheet", "latent_squares", "traversals", "write_page"]
