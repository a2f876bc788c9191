"""Noise of the posteriors around their means, and the change of the decoder's output."""

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.arrays import Array, to_tensor

Nonlinearity = Literal["linear", "tanh"]
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {"linear": lambda x: x, "tanh": torch.tanh}
DECODED = 512  # latents that are decoded at once


class Neighbourhood(NamedTuple):
    """Some samples, the noise around them, and the change of the decoder's output."""

    rows: slice
    noise: Float[Tensor, "m s d"]  # white
    deviation: Float[Tensor, "m d"]
    moved: Float[Tensor, "m s p"]  # Dec(z) - Dec(mu)

    @property
    def scaled(self) -> Float[Tensor, "m s d"]:
        """The noise as it is added to the mean."""
        return self.noise * self.deviation[:, None]

    def predict(
        self,
        matrices: Float[Tensor, "n p d"],
        offsets: Float[Tensor, "n p"],
        nonlinearity: Nonlinearity,
    ) -> Float[Tensor, "m s p"]:
        """The prediction of `moved` by local decoders."""
        slopes, start = matrices[self.rows].mT, offsets[self.rows, None]
        return FUNCTIONS[nonlinearity](torch.baddbmm(start, self.scaled, slopes))


def neighbourhoods(
    decode: Callable[[Tensor], Tensor],
    mean: Float[Tensor, "n d"],
    deviation: Float[Tensor, "n d"],
    base: Float[Tensor, "n p"],
    noise: Float[Tensor, "n s d"],
    memory: int,
) -> Iterator[Neighbourhood]:
    """As many samples at a time as leave room for five arrays of the size of `moved`."""
    if not base.isfinite().all():
        raise ValueError("decode must give finite outputs at the means")
    each = 5 * noise.shape[1] * base.shape[1] * base.element_size()
    step = max(1, memory // each)
    for start in range(0, len(mean), step):
        rows = slice(start, start + step)
        z = mean[rows, None] + deviation[rows, None] * noise[rows]
        there = decode_flat(decode, z.flatten(0, 1)).unflatten(0, z.shape[:2])
        yield Neighbourhood(rows, noise[rows], deviation[rows], there - base[rows, None])


def decode_flat(
    decode: Callable[[Tensor], Tensor], z: Float[Tensor, "n d"]
) -> Float[Tensor, "n p"]:
    """Outputs as vectors, in portions that the decoder has room for."""
    return torch.cat([decode(part).flatten(1) for part in z.split(DECODED)])


def noise_pairs(
    mean: Float[Tensor, "n d"], samples: int, generator: torch.Generator | None
) -> tuple[Float[Tensor, "n s d"], Float[Tensor, "n s d"]]:
    """White noise and its negative, to measure with and to fit with.

    Drawn sample after sample, so that none depends on those that follow.
    """
    generator = generator or torch.Generator().manual_seed(0)
    size = (2, samples // 2, mean.shape[1])
    kind, device = mean.dtype, generator.device
    drawn = [torch.randn(size, generator=generator, dtype=kind, device=device) for _ in mean]
    fresh, noise = torch.stack(drawn, dim=1).to(mean.device)
    return torch.cat([fresh, -fresh], dim=1), torch.cat([noise, -noise], dim=1)


def posteriors(
    mean: Array, deviation: Array, samples: int
) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n d"]]:
    """Mean and deviation as tensors; raises unless they are posteriors' and noise is in pairs."""
    mean = to_tensor("mean", mean, "samples, latents")
    deviation = to_tensor("deviation", deviation, "samples, latents").to(mean)
    if deviation.shape != mean.shape:
        raise ValueError(
            f"deviation must have the shape of mean, {tuple(mean.shape)}, "
            f"got {tuple(deviation.shape)}"
        )
    if not (deviation > 0).all():
        low, high = float(deviation.min()), float(deviation.max())
        raise ValueError(f"deviation must be positive, got {low} to {high}")
    if samples < 2 or samples % 2:
        raise ValueError(f"samples must be even, since noise comes in pairs, got {samples}")
    return mean, deviation
