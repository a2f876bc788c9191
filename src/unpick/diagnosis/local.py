"""The decoder linearised around some codes, within a memory budget.

Latents on a grid of locations (channels, height, width) share the decoder's weights, so a location
is a latent vector: at each point one location is looked at, and its channels are the latents.
"""

import math
import warnings
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unpick.geometry import decoder_jacobians
from unpick.geometry.columns import contrast_of_gram
from unpick.geometry.jacobian import LargestTensor
from unpick.geometry.singular import gram
from unpick.probe import Probe
from unpick.probe.models import Model
from unpick.probe.probe import SHARP

DRAWS = 32  # of posterior noise an observation, in pairs
NOISY = 100  # points at which noise is drawn, at most
PICTURED = 4  # Jacobians that are kept for pictures
PASSES = 16_000  # points times latents, by default: 500 points of 32 latents
LEAST = 50  # points, by default, however many latents there are


@dataclass(frozen=True, eq=False)
class Local:
    """What the decoder does around some codes, and the codes of all observations.

    Attributes:
        mean: Of all posteriors; of a grid, a row for each observation and location.
        variance: Of the same; None without variances.
        rows: The observations at which the decoder was linearised.
        places: The location of each, as an index into the flattened grid.
        conditional: Variance of each latent given the others, at these points.
        gram: J^T J.
        curvature: How sharply the distortion bends along each latent.
        jacobians: The first few.
        contrast_of_mean: IMA contrast of the mean Jacobian.
        missed: Share of what posterior noise does that the Jacobian misses.
        asked: How many points were asked for.
    """

    mean: Float[Tensor, "n d"]
    variance: Float[Tensor, "n d"] | None
    rows: Int[Tensor, "m"]
    places: Int[Tensor, "m"]
    conditional: Float[Tensor, "m d"] | None
    gram: Float[Tensor, "m d d"]
    curvature: Float[Tensor, "m d"]
    jacobians: Float[Tensor, "few p d"]
    contrast_of_mean: float
    missed: float | None
    asked: int

    @property
    def norms(self) -> Float[Tensor, "d"]:
        """Length of each latent's Jacobian column, root mean square over points."""
        return self.gram.diagonal(dim1=1, dim2=2).mean(0).sqrt()

    @property
    def spread(self) -> Float[Tensor, "d"]:
        """Standard deviation of each latent's mean."""
        return self.mean.std(0, correction=0)


@dataclass(frozen=True, eq=False)
class Examined:
    """A model under examination.

    Attributes:
        probe: The model with its observations.
        model: How it is called.
        local: The decoder around some codes; None if it has no slope.
    """

    probe: Probe
    model: Model
    local: Local | None

    @property
    def noun(self) -> str:
        """What a latent is called."""
        return "channel" if self.model.locations > 1 else "latent"


def linearise(probe: Probe, locations: int, points: int | None, memory: int) -> Local:
    """Take the decoder's Jacobian at a random choice of observations.

    Args:
        probe: The model with all observations.
        locations: At how many places there is a latent vector; 1 for flat latents.
        points: How many; None takes 500, and fewer for more than 32 latents.
        memory: Bytes. A quarter goes to the matrices of all points, another one to the Jacobians
            at hand.
    """
    latents, outputs = probe.latents // locations, math.prod(probe.shape)
    asked = min(len(probe), points or max(LEAST, min(500, PASSES // latents)))
    fit = memory // 4 // (24 * latents**2)  # three matrices a point in double precision
    at_once = memory // 4 // (16 * outputs * latents)
    if fit < 2 or at_once < 1:
        need = 4 * max(48 * latents**2, 16 * outputs * latents) / 2**30
        raise ValueError(
            f"memory must be at least {need:.1f} GB for {latents} latents and {outputs} outputs, "
            f"got {memory / 2**30:.1f}"
        )
    generator = torch.Generator().manual_seed(0)
    rows = torch.randperm(len(probe), generator=generator)[: min(asked, fit)].sort().values
    places = torch.randint(locations, (len(rows),), generator=generator)
    columns = torch.arange(latents) * locations + places[:, None]
    codes = probe.codes
    variance = None if codes.variance is None else codes.variance.double()
    conditional = codes.at(rows).conditional
    if conditional is not None:
        conditional = conditional.double().gather(1, columns)
    with warnings.catch_warnings(record=True) as given:
        found = [
            _around(probe, probe.mean[part], some, None if variance is None else variance[part])
            for part, some in zip(rows.split(at_once), columns.split(at_once), strict=True)
        ]
    for text in dict.fromkeys(str(each.message) for each in given):  # once, not once a chunk
        warnings.warn(text, stacklevel=3)
    grams, curvatures, sums, kept, missed = zip(*found, strict=True)
    mean_gram = gram((sum(sums) / len(rows))[None])
    shares = torch.cat(missed)
    return Local(
        mean=_by_location(codes.mean.double(), locations),
        variance=None if variance is None else _by_location(variance, locations),
        rows=rows,
        places=places,
        conditional=conditional,
        gram=torch.cat(grams),
        curvature=torch.cat(curvatures),
        jacobians=torch.cat(kept[:PICTURED])[:PICTURED].float(),
        contrast_of_mean=float(contrast_of_gram(mean_gram)) if latents > 1 else 0.0,
        missed=None if variance is None else float(shares[:NOISY].mean()),
        asked=asked,
    )


def _around(
    probe: Probe,
    z: Float[Tensor, "k all"],
    columns: Int[Tensor, "k d"],
    variance: Float[Tensor, "k all"] | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Gram matrices, curvatures, the sum of Jacobians, the first few, and shares missed."""
    jacobians = decoder_jacobians(probe.decoder, z, columns=columns)
    if not jacobians.isfinite().all():
        raise ValueError("decode: its Jacobian is not finite at some of the codes")
    matrices = gram(jacobians)
    if probe.likelihood == "gaussian":
        curvature = 2 * matrices.diagonal(dim1=1, dim2=2)
    else:  # bernoulli: its logits bend it by p (1 - p), and J is of the mean p
        p = probe.decoder(z).flatten(1).double()
        weight = 1 / (p * (1 - p)).clamp(min=SHARP)
        curvature = torch.stack(
            [
                (j.double().square() * w[:, None]).sum(0)
                for j, w in zip(jacobians, weight, strict=True)
            ]
        )
    missed = torch.zeros(0).double()
    if variance is not None:
        deviation = variance.gather(1, columns).sqrt()
        missed = _missed(probe, z[:NOISY], columns, deviation, jacobians)
    kept = jacobians[:PICTURED].clone()
    return matrices, curvature, jacobians.sum(0, dtype=torch.float64), kept, missed


def _missed(
    probe: Probe,
    z: Float[Tensor, "k all"],
    columns: Int[Tensor, "n d"],
    deviation: Float[Tensor, "n d"],
    jacobians: Float[Tensor, "n p d"],
) -> Float[Tensor, "k"]:
    """E|Dec(mu + eps) - Dec(mu) - J eps|^2 / E|Dec(mu + eps) - Dec(mu)|^2 at each point."""
    generator = torch.Generator().manual_seed(1)
    shares = []
    for point, some, width, j in zip(z, columns, deviation, jacobians, strict=False):
        half = torch.randn(DRAWS // 2, len(width), generator=generator).double() * width
        noise = torch.cat([half, -half]).to(point)
        moved = point.repeat(DRAWS, 1)
        moved[:, some] += noise
        base = probe.decoder(point[None]).flatten(1)
        parts = [probe.decoder(part).flatten(1) for part in moved.split(probe.batch)]
        change = (torch.cat(parts) - base).double()
        left = (change - noise.double() @ j.mT.double()).square().sum()
        total = change.square().sum()
        shares.append(float(left / total) if total > 0 else 0.0)
    return torch.tensor(shares).double()


def _by_location(codes: Float[Tensor, "n all"], locations: int) -> Float[Tensor, "m d"]:
    """A row for each observation and location, a column a channel."""
    if locations == 1:
        return codes
    return codes.unflatten(1, (-1, locations)).transpose(1, 2).flatten(0, 1)


def explained_share(probe: Probe) -> float:
    """Share of the variance of x that mean reconstructions explain, a batch at a time."""
    x = probe.observations.flatten(1)
    mean = sum(part.double().sum(0) for part in x.split(probe.batch)) / len(x)
    total = float(sum((part - mean).square().sum() for part in x.split(probe.batch)))
    return 1 - probe.error**2 * x.numel() / total if total > 0 else math.nan


def fitting_batch(probe: Probe, memory: int) -> int:
    """How many observations fit an eighth of the memory, by the largest tensor of one's pass."""
    with LargestTensor() as largest:
        codes = probe.encode(torch.as_tensor(probe.x[:2]))
        probe.decoder(codes.mean)
    return int(max(1, min(256, memory // 8 // (2 * largest.bytes + 1))))
