"""Refuse models that cannot be measured: random ones, or ones that look at the whole batch."""

import numpy as np
import torch
from torch import Tensor

from unpick.probe.codes import encode_all
from unpick.probe.probe import Probe
from unpick.probe.trace import refuse_training_mode, without_trace

FEW = 4  # observations that are encoded and decoded again


def check_observations(x: object) -> None:
    """Raise unless these are two observations or more."""
    if not isinstance(x, Tensor | np.ndarray) or x.ndim < 2 or len(x) < 2:
        got = tuple(x.shape) if isinstance(x, Tensor | np.ndarray) else type(x).__name__
        raise ValueError(f"x must hold at least two observations (n, ...), got {got}")


def check_model(probe: Probe) -> None:
    """Raise if a model answers differently each time, or alone and in company.

    Args:
        probe: A view of the model with a decoder.
    """
    check_observations(probe.x)
    refuse_training_mode(encode=probe.encode, decode=probe.decode or probe.decoder)
    with without_trace(probe.encode, probe.decode):
        _check_repeats(probe)


def _check_repeats(probe: Probe) -> None:
    encode, decode, x, z = probe.encode, probe.decoder, probe.x[:FEW], probe.mean[:FEW]
    once, twice = (encode_all(encode, x).mean for _ in range(2))
    if not torch.equal(once, twice):
        raise ValueError("encode is random: return the mean of the posterior, not a sample of it")
    single = torch.cat([encode_all(encode, x[k : k + 1]).mean for k in range(len(x))])
    if not torch.allclose(once, single, rtol=1e-2, atol=1e-3):
        raise ValueError(
            "encode depends on the company of an observation in its batch, as batch normalisation "
            "in training mode does; call .eval() on the model first"
        )
    together = decode(z[:4])
    if not together.isfinite().all():
        raise ValueError("decode gives numbers that are not finite")
    if not torch.equal(together, decode(z[:4])):
        raise ValueError("decode is random: return the mean observation, not a sample")
    alone = torch.cat([decode(each) for each in z[:4].split(1)])
    if not torch.allclose(together, alone, rtol=1e-3, atol=1e-4):
        raise ValueError(
            "decode depends on the company of a point in its batch, as batch normalisation in "
            "training mode does; call .eval() on the model first"
        )
