"""Which latents of a model are in use, and in what order they matter."""

import math
from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor

from unpick.geometry import PolarizedRegime, polarized_regime
from unpick.geometry.optimal_posterior import ACTIVE_BELOW
from unpick.probe.probe import Probe

FAINT = 0.05  # an autoencoder's latent with less effect, relative to the strongest, is not in use
IGNORED = 0.01  # effect of a latent, relative to the strongest, that may be none
UNSEEN = 0.1  # effect relative to what reconstructions miss, below which it is none


@dataclass(frozen=True, eq=False)
class Latents:
    """Which latents are in use.

    Attributes:
        used: The encoder writes to it: its means vary, or it is precise.
        heard: The decoder reads it.
        order: The most precise first; the one with the most effect first without variances.
        regime: Of the posteriors; None without variances.
    """

    used: Bool[Tensor, "d"]
    heard: Bool[Tensor, "d"]
    order: list[int]
    regime: PolarizedRegime | None

    @property
    def active(self) -> Bool[Tensor, "d"]:
        """Used and heard."""
        return self.used & self.heard


def judge_latents(
    mean: Float[Tensor, "n d"],
    variance: Float[Tensor, "n d"] | None,
    norms: Float[Tensor, "d"],
    curvature: Float[Tensor, "m d"],
    conditional: Float[Tensor, "m d"] | None,
    missed: float,
    factors: int | None = None,
) -> Latents:
    """Judge latents by their posteriors and by what they do in the decoder.

    Args:
        mean: Of all posteriors.
        variance: Of the same; None for an autoencoder.
        norms: Length of each latent's Jacobian column.
        curvature: How sharply the distortion bends along each latent, at some of the codes.
        conditional: Variance of each latent given the others, at the same codes.
        missed: Length of what a mean reconstruction misses.
        factors: How many generative factors there are, if that is known.
    """
    effect = mean.std(0, correction=0) * norms
    strongest = effect.max()
    if variance is None or conditional is None:
        used = effect > FAINT * strongest
        return Latents(used, used, effect.argsort(descending=True).tolist(), None)
    regime = polarized_regime(mean, variance, factors=factors)
    # A latent whose means hardly vary is in use all the same if it is precise.
    used = regime.active | (regime.mean_variance < ACTIVE_BELOW)
    faint = (effect <= IGNORED * strongest) & (effect <= UNSEEN * missed)
    # The encoder's precision, in units of beta, that the decoder's curvature accounts for.
    owed = (curvature * conditional / (1 - conditional).clamp(min=IGNORED)).mean(0)
    heard = ~(faint & (owed <= IGNORED * owed.max()))
    return Latents(used, heard, regime.mean_variance.argsort().tolist(), regime)


def latents_of(probe: Probe, points: int) -> Latents:
    """Judge the latents of a model, with the decoder's slope at its first codes.

    Args:
        probe: The model and its observations.
        points: Codes at which the decoder is differentiated.
    """
    few = probe.first(points)
    known = few.codes.conditional
    return judge_latents(
        probe.mean.cpu().double(),
        None if probe.variance is None else probe.variance.cpu().double(),
        few.column_norms.double(),
        few.curvature.diagonal(dim1=1, dim2=2).double(),
        None if known is None else known.cpu().double(),
        probe.error * math.sqrt(math.prod(probe.shape)),
    )
