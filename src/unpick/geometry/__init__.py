"""Jacobians of decoders and what they look like."""

from unpick.geometry.jacobian import decoder_jacobians
from unpick.geometry.orthogonality import (
    DistanceToOrthogonality,
    distance_to_orthogonality,
    haar_distance,
)

__all__ = [
    "DistanceToOrthogonality",
    "decoder_jacobians",
    "distance_to_orthogonality",
    "haar_distance",
]
