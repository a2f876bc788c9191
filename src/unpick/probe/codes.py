"""What an encoder says, in any of the forms that people return."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.distributions import Distribution, Independent

from unpick.probe.trace import device_of

BATCH = 256  # observations at a time


class NotFinite(ValueError):
    """Codes of a model that diverged."""


@dataclass(frozen=True, eq=False)
class Codes:
    """What an encoder says about each observation.

    Attributes:
        mean: Where it lies.
        variance: How sure that is, along each latent; None for an autoencoder.
        factor: The Cholesky factor of a full covariance, if that is what it gave.
    """

    mean: Float[Tensor, "n d"]
    variance: Float[Tensor, "n d"] | None = None
    factor: Float[Tensor, "n d d"] | None = None

    @property
    def conditional(self) -> Float[Tensor, "n d"] | None:
        """Variance of a latent given the others: 1 / (Sigma^-1)_jj, what curvature determines."""
        if self.factor is None or self.variance is None:
            return self.variance
        precision = torch.cholesky_inverse(self.factor.double())
        return 1 / precision.diagonal(dim1=1, dim2=2)

    def at(self, rows: Int[Tensor, "m"]) -> "Codes":
        """The codes of some observations."""
        rows = rows.to(self.mean.device)
        variance, factor = (None if v is None else v[rows] for v in (self.variance, self.factor))
        return Codes(self.mean[rows], variance, factor)


def read_posterior(output: object) -> Codes:
    """The codes in an encoder's output, in any of the forms that people return.

    A mean; (mean, log-variance); (mean, Cholesky factor); a distribution of torch, or anything
    else with a `mean` and a `variance`.

    Example:
        >>> read_posterior((torch.zeros(1, 2), torch.zeros(1, 2))).variance
        tensor([[1., 1.]], dtype=torch.float64)
    """
    if isinstance(output, Codes):
        _matrix(output.mean, "the mean")
        return output
    if isinstance(output, Independent):
        output = output.base_dist
    if hasattr(output, "covariance_matrix"):  # with a full covariance, of whatever kind
        factor = torch.linalg.cholesky(output.covariance_matrix)
        output = (output.mean, factor)  # type: ignore[attr-defined]
    if isinstance(output, Tensor | np.ndarray):
        return Codes(_matrix(output, "the mean"))
    if isinstance(output, Distribution) or hasattr(output, "variance"):
        variance = _matrix(output.variance, "the variance")
        return Codes(_matrix(output.mean, "the mean"), variance)  # type: ignore[attr-defined]
    if not isinstance(output, tuple | list) or len(output) != 2:
        raise ValueError(
            "encode must return a mean, (mean, log-variance), (mean, Cholesky factor) or a "
            f"distribution, got {_kind(output)}"
        )
    mean, second = _matrix(output[0], "the mean"), torch.as_tensor(output[1])
    if second.shape == mean.shape:
        return Codes(mean, second.double().exp())
    if second.shape == (*mean.shape, mean.shape[1]):
        if second.triu(1).abs().max() > 0 or second.diagonal(dim1=1, dim2=2).min() <= 0:
            raise ValueError("a Cholesky factor is lower triangular with a positive diagonal")
        return Codes(mean, second.square().sum(2), second)
    raise ValueError(
        f"beside a mean of shape {tuple(mean.shape)} encode must return a log-variance of that "
        f"shape or a Cholesky factor, got {tuple(second.shape)}"
    )


def _matrix(array: Any, what: str) -> Float[Tensor, "n d"]:  # noqa: ANN401
    found = torch.as_tensor(array)
    if found.ndim != 2 or not found.is_floating_point():
        raise ValueError(
            f"{what} must be real numbers of shape (observations, latents), "
            f"got {found.dtype} of shape {tuple(found.shape)}"
        )
    if not found.isfinite().all():
        raise NotFinite(f"{what} is not finite for {int((~found.isfinite()).any(1).sum())} rows")
    return found


def _kind(value: object) -> str:
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    return type(value).__name__


def encode_all(encode: Callable[[Any], Any], x: Tensor | np.ndarray, batch: int = BATCH) -> Codes:
    """The codes of all observations, a batch at a time, on the device where they came from."""
    device = device_of(encode)
    parts = []
    for start in range(0, len(x), batch):
        some = x[start : start + batch]
        # A copy: the encoder may work in place.
        given = some.to(device, copy=True) if isinstance(some, Tensor) else some.copy()
        part = read_posterior(encode(given))
        if len(part.mean) != len(some):
            raise ValueError(f"encode gave {len(part.mean)} codes for {len(some)} observations")
        parts.append(part)
    rows: list[Any] = [[getattr(part, name) for part in parts] for name in ("variance", "factor")]
    variance, factor = [None if row[0] is None else torch.cat(row) for row in rows]
    return Codes(torch.cat([part.mean for part in parts]), variance, factor)


def wrap_decoder(decode: Callable[[Any], Any], arrays: bool) -> Callable[[Tensor], Tensor]:
    """A decoder from tensors to tensors of the same type; an output of another kind raises.

    Args:
        decode: Maps latents to mean observations.
        arrays: Whether it takes numpy arrays.
    """

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
