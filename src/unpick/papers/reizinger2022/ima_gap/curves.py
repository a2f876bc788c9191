"""ELBO, likelihood and IMA contrast of one mixing as the decoder's noise falls."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Curves:
    r"""Means over observations of one mixing, in nats.

    Attributes:
        precision: \gamma^2 of the likelihood.
        elbo: Of the best encoder, ELBO*.
        inverting: ELBO of the self-consistent encoder, which inverts the decoder.
        noisy: log-likelihood of the decoder with its noise.
        likelihood: The data's log-density, without noise.
        contrast: IMA contrast.
        off_inverse: Root mean square distance of the best encoder's means from the sources.
        off_variance: Root mean square of log(best / self-consistent variance).
    """

    precision: Float[Array, "g"]
    elbo: Float[Array, "g"]
    inverting: Float[Array, "g"]
    noisy: Float[Array, "g"]
    likelihood: float
    contrast: float
    off_inverse: Float[Array, "g"]
    off_variance: Float[Array, "g"]

    @property
    def regularised(self) -> float:
        """The IMA objective: log-likelihood less contrast."""
        return self.likelihood - self.contrast
