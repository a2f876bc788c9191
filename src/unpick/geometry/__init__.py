"""Geometry of decoders: Jacobians, orthogonality, curvature, noise, and active latents."""

from unpick.geometry.columns import ColumnCosines, IMAContrast, column_cosines, ima_contrast
from unpick.geometry.curvature import likelihood_hessian
from unpick.geometry.elbo import DeterministicELBO, deterministic_elbo
from unpick.geometry.jacobian import decoder_jacobians
from unpick.geometry.local_decoder import (
    LocalDecoder,
    LocalErrors,
    fit_local_decoder,
    jacobian_residual,
)
from unpick.geometry.od_score import ODScore, normalised_od_score, od_score
from unpick.geometry.optimal_posterior import (
    ImpliedBeta,
    PosteriorAgreement,
    implied_beta,
    optimal_covariance,
    optimal_variance,
    posterior_agreement,
)
from unpick.geometry.orthogonality import (
    DistanceToOrthogonality,
    distance_to_orthogonality,
    haar_distance,
)
from unpick.geometry.polarized import (
    PolarizedRegime,
    delta_kl,
    polarized_regime,
    settled_after,
)
from unpick.geometry.stochastic import Estimate, StochasticLoss, stochastic_loss

__all__ = [
    "ColumnCosines",
    "DeterministicELBO",
    "DistanceToOrthogonality",
    "Estimate",
    "IMAContrast",
    "ImpliedBeta",
    "LocalDecoder",
    "LocalErrors",
    "ODScore",
    "PolarizedRegime",
    "PosteriorAgreement",
    "StochasticLoss",
    "column_cosines",
    "decoder_jacobians",
    "delta_kl",
    "deterministic_elbo",
    "distance_to_orthogonality",
    "fit_local_decoder",
    "haar_distance",
    "ima_contrast",
    "implied_beta",
    "jacobian_residual",
    "likelihood_hessian",
    "normalised_od_score",
    "od_score",
    "optimal_covariance",
    "optimal_variance",
    "polarized_regime",
    "posterior_agreement",
    "settled_after",
    "stochastic_loss",
]
