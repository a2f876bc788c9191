"""Tables, pages, and the site of all studies."""

from unpick.report.markdown import write_markdown
from unpick.report.page import Folded, Link, Note, Picture, Section, Table, write_page
from unpick.report.scores import score_table
from unpick.report.site import write_site
from unpick.report.study import claim_notes, show_results, study_table
from unpick.report.terminal import show

__all__ = [
    "Folded",
    "Link",
    "Note",
    "Picture",
    "Section",
    "Table",
    "claim_notes",
    "score_table",
    "show",
    "show_results",
    "study_table",
    "write_markdown",
    "write_page",
    "write_site",
]
