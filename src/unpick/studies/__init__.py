"""Tables and figures of the papers: what is run for them, measured, and printed beside."""

from unpick.studies.measures import Measured, measure
from unpick.studies.published import published

__all__ = ["Measured", "measure", "published"]
