"""What is read from the models of images."""

from jaxtyping import Bool
from torch import Tensor

from unpick.geometry import distance_to_orthogonality
from unpick.papers.across.scores import active_ds
from unpick.probe import Measure, Probe
from unpick.probe.measures import mig, reconstruction

POINTS = 300  # test observations at which the decoder is linearised
SHARE = 0.1  # of the largest signal, from which a latent is in use


def in_use(probe: Probe) -> Bool[Tensor, "d"]:
    """Latents whose signal is at least a tenth of the largest.

    The signal is the mean length of the decoder's column times the deviation of the code. Scales
    of codes do not matter, and posteriors without a variance can be asked, too.
    """
    lengths = probe.first(POINTS).jacobians.norm(dim=1).mean(0)
    signal = lengths * probe.mean.std(0).to(lengths)
    return signal >= SHARE * signal.max()


def alignment_in_use(probe: Probe) -> dict[str, float]:
    """`in use`, a number of latents, and their `DS`; `DtO / chance`, if there are two or more."""
    used = in_use(probe)
    values = {"in use": float(used.sum())}
    if probe.factors is not None:
        codes, factors = probe.mean.cpu().double().numpy(), probe.factors.astype(float)
        values["DS"] = active_ds(codes, used.cpu().numpy(), factors, probe.categorical)
    if used.sum() < 2:
        return values
    dto = distance_to_orthogonality(probe.first(POINTS).jacobians, active=used)
    return values | {"DtO / chance": dto.relative}


READINGS: tuple[Measure, ...] = (alignment_in_use, mig, reconstruction)
