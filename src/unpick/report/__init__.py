"""Studies and the ledger as tables, as Markdown and as a site."""

from unpick.report.markdown import write_markdown
from unpick.report.site import write_site
from unpick.report.study import claim_notes, show_results, study_table

__all__ = [
    "claim_notes",
    "show_results",
    "study_table",
    "write_markdown",
    "write_site",
]
