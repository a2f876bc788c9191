"""One view of a trained model, and every measure of it by name, cached in the run's folder."""

from unpick.probe.cache import Measure, is_measured, latent_means, measure_run, probe_run
from unpick.probe.codes import Codes, NotFinite, read_posterior
from unpick.probe.measures import FACTOR_SCORES, STANDARD, take
from unpick.probe.probe import Probe

__all__ = [
    "FACTOR_SCORES",
    "STANDARD",
    "Codes",
    "Measure",
    "NotFinite",
    "Probe",
    "is_measured",
    "latent_means",
    "measure_run",
    "probe_run",
    "read_posterior",
    "take",
]
