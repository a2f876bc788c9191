"""Diagnose any model, and describe the findings in plain words."""

from unpick.diagnosis.diagnose import diagnose
from unpick.diagnosis.findings import Finding
from unpick.diagnosis.result import Diagnosis

__all__ = ["Diagnosis", "Finding", "diagnose"]
