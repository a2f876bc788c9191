"""Tables and pages, on the terminal and as files."""

from unpick.pages.page import Folded, Link, Note, Picture, Section, Table, write_page
from unpick.pages.scores import score_table
from unpick.pages.terminal import print_table

__all__ = [
    "Folded",
    "Link",
    "Note",
    "Picture",
    "Section",
    "Table",
    "print_table",
    "score_table",
    "write_page",
]
