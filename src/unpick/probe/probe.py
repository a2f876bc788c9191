"""One view of a trained model: what it makes of some observations, computed when asked for."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from unpick.data import Dataset
from unpick.geometry import decoder_jacobians
from unpick.geometry.singular import gram
from unpick.models.likelihood import Likelihood
from unpick.names import check_choices, unknown_choice
from unpick.probe.codes import BATCH, Codes, encode_all, wrap_decoder
from unpick.probe.trace import without_trace

SHARP = 1e-8  # the smallest variance of a pixel that a Bernoulli curvature divides by
PORTION = 32  # Jacobians at a time


@dataclass(frozen=True, eq=False)
class Probe:
    """A model and the observations it is looked at with. Every quantity is computed once.

    The model is called, never changed: not its mode, gradients, device, nor any random state.

    Attributes:
        encode: Maps observations to a mean, (mean, log-variance), (mean, Cholesky factor) or a
            distribution.
        decode: Maps latents (n, d) to mean observations; None for an encoder alone.
        x: Observations (n, ...).
        factors: The generative factors of the same observations, if they are known.
        factor_names: Names of the factors.
        categorical: Which factors are classes without an order.
        likelihood: What the decoder's output is the mean of.
        beta: The weight of the KL in training, where it is known.
        logits: The decoder before its output nonlinearity, where it is known.
        dataset: The data set that `x` is the beginning of the test part of, for our own runs.
        history: Gives what each latent did in training: `step` (t,), and `deviation`, `variance`
            and `kl`, each (t, d); empty if that is not known.
        batch: Observations at a time.
        whole: Of a part: the probe that it is a part of.

    Example:
        >>> probe = Probe(lambda x: x[:, :2], lambda z: z @ torch.eye(2, 3), torch.eye(3))
        >>> probe.jacobians.shape
        torch.Size([3, 3, 2])
    """

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any] | None
    x: Tensor | np.ndarray
    factors: np.ndarray | None = None
    factor_names: Sequence[str] = ()
    categorical: Sequence[bool] | None = None
    likelihood: Likelihood = "gaussian"
    beta: float | None = None
    logits: Callable[[Tensor], Tensor] | None = None
    dataset: Dataset | None = None
    history: Callable[[], Mapping[str, Tensor]] = dict
    batch: int = BATCH
    whole: "Probe | None" = None

    def __post_init__(self) -> None:
        check_choices(self)

    def __len__(self) -> int:
        return len(self.x)

    @cached_property
    def codes(self) -> Codes:
        """What the encoder says of each observation."""
        with without_trace(self.encode):
            return encode_all(self.encode, self.x, self.batch)

    @property
    def all_codes(self) -> Codes:
        """The codes of the whole that this is a part of."""
        return (self.whole or self).codes

    @property
    def mean(self) -> Float[Tensor, "n d"]:
        """Posterior means, the codes of the observations."""
        return self.codes.mean

    @property
    def variance(self) -> Float[Tensor, "n d"] | None:
        """Posterior variances; None for an autoencoder."""
        return self.codes.variance

    @property
    def latents(self) -> int:
        """The number of latents."""
        return self.mean.shape[1]

    @cached_property
    def decoder(self) -> Callable[[Tensor], Tensor]:
        """The mean decoder, from tensors (n, d) to tensors of the same type."""
        if self.decode is None:
            raise ValueError("this model has no decoder")
        return wrap_decoder(self.decode, isinstance(self.x, np.ndarray))

    @cached_property
    def observations(self) -> Float[Tensor, "n ..."]:
        """The observations as a tensor on the CPU."""
        return torch.as_tensor(self.x).detach().cpu()

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one observation."""
        return tuple(self.x.shape[1:])

    @cached_property
    def reconstructions(self) -> Float[Tensor, "n ..."]:
        """What the decoder makes of the codes, in the shape of the observations."""
        with without_trace(self.decode):
            parts = [self._decode(part) for part in self.mean.split(self.batch)]
        return torch.cat(parts).float()

    def _decode(self, z: Float[Tensor, "m d"]) -> Float[Tensor, "m ..."]:
        """Decoded observations on the CPU, in their shape; a decoder may flatten images."""
        found, shape = self.decoder(z).cpu(), self.shape
        got = tuple(found.shape[1:])
        if shape != got and (min(len(shape), len(got)) > 1 or math.prod(shape) != math.prod(got)):
            raise ValueError(f"decode must give observations of shape {shape}, got {got}")
        return found.reshape(len(z), *shape)

    @cached_property
    def error(self) -> float:
        """Root mean square over observations and pixels of what mean reconstructions miss."""
        total = 0.0
        with without_trace(self.decode):
            for start in range(0, len(self), self.batch):
                part = slice(start, start + self.batch)
                missed = self._decode(self.mean[part]) - self.observations[part]
                total += float(missed.square().sum())
        return math.sqrt(total / self.observations.numel())

    @property
    def explained(self) -> float:
        """Share of the variance of x that the reconstructions explain."""
        x = self.observations.flatten(1).double()
        found = self.reconstructions.flatten(1).double()
        total = (x - x.mean(0)).square().sum()
        return 1 - float((x - found).square().sum() / total) if total > 0 else math.nan

    @cached_property
    def jacobians(self) -> Float[Tensor, "n p d"]:
        """Of the mean decoder at every code; `first(n)` keeps it small."""
        with without_trace(self.decode):
            found = decoder_jacobians(self.decoder, self.mean).cpu()
        found = found if found.dtype == torch.float64 else found.float()
        if not found.isfinite().all():
            raise ValueError("decode: its Jacobian is not finite at some of the codes")
        return found

    @cached_property
    def column_norms(self) -> Float[Tensor, "d"]:
        """Length of each latent's Jacobian column, root mean square over observations."""
        return gram(self.jacobians).diagonal(dim1=1, dim2=2).mean(0).sqrt()

    @cached_property
    def curvature(self) -> Float[Tensor, "n d d"]:
        """How sharply the distortion bends along the latents, in the Gauss-Newton form.

        2 J^T J for the squared error. For the cross-entropy, whose logits bend it by p (1 - p),
        the Jacobian of the mean p gives J^T diag(1 / (p (1 - p))) J.
        """
        match self.likelihood:
            case "gaussian":
                return 2 * gram(self.jacobians)
            case "bernoulli":
                p = self.reconstructions.flatten(1)
                weight = (p * (1 - p)).clamp(min=SHARP).rsqrt()
                parts = zip(self.jacobians.split(PORTION), weight.split(PORTION), strict=True)
                return torch.cat([gram(jacobians * w[:, :, None]) for jacobians, w in parts])
        raise unknown_choice("likelihood", self.likelihood, Likelihood)

    @cached_property
    def _subsets(self) -> dict[int, "Probe"]:
        return {}

    def first(self, n: int) -> "Probe":
        """The same model at the first n observations; what is known of them is not computed again.

        Args:
            n: How many; all if there are fewer.
        """
        if n not in self._subsets:
            self._subsets[n] = self.at(torch.arange(min(n, len(self))))
        return self._subsets[n]

    def at(self, rows: Int[Tensor, "m"]) -> "Probe":
        """The same model at some of the observations."""
        x = self.x[rows.to(self.x.device)] if isinstance(self.x, Tensor) else self.x[rows.numpy()]
        factors = None if self.factors is None else self.factors[rows.numpy()]
        part = replace(self, x=x, factors=factors, whole=self.whole or self)
        part.__dict__["codes"] = self.codes.at(rows)
        return part
