"""Any model, examined with all instruments and told about in plain words."""

from unpick.diagnosis.diagnose import diagnose
from unpick.diagnosis.findings import Finding
from unpick.diagnosis.result import Diagnosis

__all__ = ["Diagnosis", "Finding", "diagnose"]
