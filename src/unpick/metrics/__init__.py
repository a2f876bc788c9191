"""Metrics of disentanglement: arrays in, a small frozen result out.

Where a metric goes:

- codes `(N, D)` and factors `(N, K)`: here, one file a family. `scorecard` computes all of them.
- codes of several models, without factors: `agreement` (UDR).
- a decoder, or its Jacobians `(N, P, D)`: `unpick.geometry`.
- codes or posteriors of one model, without factors (active latents, total correlation): a function
  of arrays here, and a measure in `unpick.probe`, which encodes the data.
"""

from unpick.metrics.agreement import UDR, udr
from unpick.metrics.bootstrap import Interval, bootstrap
from unpick.metrics.correlation import MeanCorrelation, mean_correlation
from unpick.metrics.importance import DCI, dci, dci_from_importances
from unpick.metrics.information import (
    MIGSup,
    MutualInformationGap,
    mig_sup,
    mutual_information_gap,
)
from unpick.metrics.interventions import (
    BetaVAEScore,
    FactorVAEScore,
    beta_vae_score,
    factor_vae_score,
)
from unpick.metrics.irs import IRS, irs
from unpick.metrics.modularity import ModularityExplicitness, modularity_explicitness
from unpick.metrics.predictability import DisentanglementScore, disentanglement_score
from unpick.metrics.scorecard import MetricValue, Scorecard, metric_names, scorecard
from unpick.metrics.separability import SAP, sap

__all__ = [
    "DCI",
    "IRS",
    "SAP",
    "UDR",
    "BetaVAEScore",
    "DisentanglementScore",
    "FactorVAEScore",
    "Interval",
    "MIGSup",
    "MeanCorrelation",
    "MetricValue",
    "ModularityExplicitness",
    "MutualInformationGap",
    "Scorecard",
    "beta_vae_score",
    "bootstrap",
    "dci",
    "dci_from_importances",
    "disentanglement_score",
    "factor_vae_score",
    "irs",
    "mean_correlation",
    "metric_names",
    "mig_sup",
    "modularity_explicitness",
    "mutual_information_gap",
    "sap",
    "scorecard",
    "udr",
]
