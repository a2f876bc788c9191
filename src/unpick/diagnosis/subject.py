"""A stranger's model as it is examined: everything encoded, some of it decoded and linearised."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from unpick.geometry import decoder_jacobians
from unpick.geometry.singular import gram
from unpick.probe.codes import BATCH, Codes, encode_all
from unpick.probe.trace import first_weight


@dataclass(frozen=True, eq=False)
class Subject:
    """A model as it is examined: codes of all observations, the decoder around some of them.

    Attributes:
        codes: Of all observations.
        decode: Tensors to tensors.
        shape: Of one observation.
        rows: The observations at which the decoder was linearised.
        x: Those.
        mean: Their codes, where the decoder wants them.
        reconstruction: What the decoder makes of the codes.
        jacobians: Of the decoder at the codes.
    """

    codes: Codes
    decode: Callable[[Tensor], Tensor]
    shape: tuple[int, ...]
    rows: Int[Tensor, "m"]
    x: Float[Tensor, "m ..."]
    mean: Float[Tensor, "m d"]
    reconstruction: Float[Tensor, "m ..."]
    jacobians: Float[Tensor, "m p d"]

    @cached_property
    def norms(self) -> Float[Tensor, "d"]:
        """Length of each latent's Jacobian column, root mean square over samples."""
        return gram(self.jacobians).diagonal(dim1=1, dim2=2).mean(0).sqrt()

    @property
    def explained(self) -> float:
        """Share of the variance of x that the reconstructions explain."""
        x, found = self.x.flatten(1).double(), self.reconstruction.flatten(1).double()
        total = (x - x.mean(0)).square().sum()
        return 1 - float((x - found).square().sum() / total) if total > 0 else math.nan


def examine(
    encode: Callable[[Any], Any], decode: Callable[[Any], Any], x: Tensor | np.ndarray, points: int
) -> Subject:
    """Encode everything, decode and linearise at `points` of the observations."""
    if not isinstance(x, Tensor | np.ndarray) or x.ndim < 2 or len(x) < 2:
        got = tuple(x.shape) if isinstance(x, Tensor | np.ndarray) else type(x).__name__
        raise ValueError(f"x must hold at least two observations (n, ...), got {got}")
    if points < 2:
        raise ValueError(f"points must be at least 2, got {points}")
    weight = first_weight(encode)
    if weight is not None and not isinstance(x, Tensor):
        x = torch.as_tensor(x)
        x = x.to(weight.dtype) if x.is_floating_point() else x
    arrays = isinstance(x, np.ndarray)
    codes = encode_all(encode, x)
    chosen = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))[:points]
    rows = chosen.sort().values
    mean = codes.mean[rows.to(codes.mean.device)]
    decoder = _decoder(decode, arrays)
    _check_repeats(encode, decoder, x[:4], mean)
    reconstruction = torch.cat([decoder(part) for part in mean.split(BATCH)]).cpu()
    some = torch.as_tensor(x)[rows.to(x.device) if isinstance(x, Tensor) else rows].cpu().detach()
    shapes = tuple(some.shape[1:]), tuple(reconstruction.shape[1:])
    if shapes[0] != shapes[1] and (
        min(map(len, shapes)) > 1 or math.prod(shapes[0]) != math.prod(shapes[1])
    ):
        raise ValueError(f"decode must give observations of shape {shapes[0]}, got {shapes[1]}")
    jacobians = decoder_jacobians(decoder, mean).cpu()
    jacobians = jacobians if jacobians.dtype == torch.float64 else jacobians.float()
    if not jacobians.isfinite().all():
        raise ValueError("decode: its Jacobian is not finite at some of the codes")
    return Subject(
        codes,
        decoder,
        tuple(some.shape[1:]),
        rows,
        some.float(),
        mean,
        reconstruction.float().reshape(some.shape),
        jacobians,
    )


def _decoder(decode: Callable[[Any], Any], arrays: bool) -> Callable[[Tensor], Tensor]:
    """Tensors to tensors of the same type; what is no decoder is named."""

    def decoder(z: Float[Tensor, "m d"]) -> Float[Tensor, "m ..."]:
        output = decode(z.numpy().copy() if arrays else z.clone())  # it may work in place
        if isinstance(output, np.ndarray):
            output = torch.as_tensor(output)
        if not isinstance(output, Tensor) or output.ndim < 2 or len(output) != len(z):
            got = tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__
            raise ValueError(
                f"decode must return one observation for each of {len(z)} latent points, got {got}"
            )
        return output.to(z.dtype)

    return decoder


def _check_repeats(
    encode: Callable[[Any], Any],
    decode: Callable[[Tensor], Tensor],
    x: Tensor | np.ndarray,
    z: Float[Tensor, "m d"],
) -> None:
    """Refuse functions that answer differently each time, or alone and in company."""
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
