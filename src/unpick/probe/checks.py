"""Refuse models that cannot be measured: random ones, or ones that look at the whole batch."""

from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from unpick.probe.codes import encode_all
from unpick.probe.probe import Probe
from unpick.probe.trace import without_trace

FEW = 4  # observations that are encoded and decoded again
VALUES = 20_000  # outputs that are looked at for steps
LATTICE = 0.2  # share of different values among outputs below which they come in steps

Slope = Literal["smooth", "constant", "steps"]


def as_observations(x: Any) -> Tensor | np.ndarray:  # noqa: ANN401
    """Observations as an array of real, finite numbers; raise unless they are two or more."""
    if hasattr(x, "to_numpy"):  # a table of pandas or polars
        x = x.to_numpy()
    elif isinstance(x, list | tuple):
        x = np.asarray(x)
    if not isinstance(x, Tensor | np.ndarray) or x.ndim < 2 or len(x) < 2:
        got = tuple(x.shape) if isinstance(x, Tensor | np.ndarray) else type(x).__name__
        raise ValueError(f"x must hold at least two observations (n, ...), got {got}")
    if x.is_complex() if isinstance(x, Tensor) else x.dtype.kind not in "biuf":
        raise ValueError(f"x must hold real numbers, got {x.dtype}")
    if x.dtype in (torch.bool, bool):
        x = x.float() if isinstance(x, Tensor) else x.astype(np.float32)
    finite = torch.isfinite(x) if isinstance(x, Tensor) else np.isfinite(x)
    if not finite.all():
        raise ValueError(f"x must be finite, got {int((~finite).sum())} numbers that are not")
    if isinstance(x, Tensor):
        return x.detach()
    return x if x.flags.writeable else x.copy()  # torch warns of arrays that it may not write to


def find_slope(probe: Probe) -> Slope:
    """Whether the decoder has a slope, gives the same for all latents, or moves in steps.

    Steps are outputs on a lattice, of rounding or of a cast to whole numbers. Their derivative is
    zero, and differences are noise.
    """
    size = int(np.prod(probe.shape))
    n = max(64, min(2000, VALUES // size))
    generator = torch.Generator().manual_seed(0)
    rows = torch.randint(len(probe), (n,), generator=generator)
    spread = probe.mean.std(0, correction=0)
    z = probe.mean[rows]
    z = z + torch.randn(z.shape, generator=generator).to(z) * torch.where(spread > 0, spread, 1.0)
    with without_trace(probe.decode):
        made = torch.cat([probe.decoder(part).flatten(1) for part in z.split(probe.batch)])
        moves = (made - made[0]).abs().amax(0)
        if float(moves.max()) <= 1e-6 * float(made.abs().max()):
            return "constant"
        if _has_derivative(probe, z[:FEW], generator):
            return "smooth"
    values = made[:, moves > 0]
    few = len(values.unique()) < LATTICE * values.numel()
    return "steps" if few or bool((values == values.round()).all()) else "smooth"


def _has_derivative(probe: Probe, z: Float[Tensor, "m d"], generator: torch.Generator) -> bool:
    """Whether forward mode sees a derivative; not if torch cannot differentiate the decoder."""
    along = torch.randn(z.shape, generator=generator).to(z)
    try:
        return bool(torch.func.jvp(probe.decoder, (z,), (along,))[1].any())
    except (RuntimeError, NotImplementedError):
        return False


def check_model(probe: Probe) -> None:
    """Raise if a model answers differently each time, or alone and in company.

    Args:
        probe: A view of the model with a decoder.
    """
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
