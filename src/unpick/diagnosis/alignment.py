"""Whether the latent axes are the decoder's singular directions: the verdict and its rule.

The rule comes from the geometry, not from the planted models that it is tested on:

- aligned: the distance is below a quarter of a random rotation's, its whole 95 % interval
  included. An axis is typically within 10 degrees of its singular direction, and none is 15 or
  more away, unless its column is orthogonal to all others. No two columns have a mean absolute
  cosine of 0.3 (a 5 degree turn of lengths 3 and 1 has 0.23, a 15 degree turn 0.56).
- undecided: the distance is larger, but every column is orthogonal to all others together (root
  sum of squared cosines at most 0.1). Singular values are then so alike that the directions
  between them are arbitrary.
- not aligned: the whole interval lies above three quarters of a random rotation's.
- partly aligned: everything else.
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from scipy.stats import t as students_t
from torch import Tensor

from unpick.geometry import ColumnCosines, DistanceToOrthogonality, IMAContrast
from unpick.geometry.columns import contrast_of_gram, cosines_of_gram, normalised_gram
from unpick.geometry.orthogonality import (
    distance_of_directions,
    nearest_signed_permutation,
    signed_permutation_distance,
)
from unpick.geometry.singular import singular_directions
from unpick.names import check_choices

Word = Literal["aligned", "partly aligned", "not aligned", "undecided"]

ALIGNED, UNALIGNED = 0.25, 0.75  # distance relative to chance
NEAR, FAR = 10.0, 15.0  # degrees between an axis and its singular direction
MIXED = 0.3  # mean absolute cosine of two columns
ORTHOGONAL = 0.1  # of a column with all others together
AT_ONCE = 2**25  # bytes of matrices in work
PAIRS = 3  # that are named
LUCKY = 4  # latents up to which a random rotation may look aligned


@dataclass(frozen=True, eq=False)
class Alignment:
    """How the axes of the active latents lie to the decoder's singular directions.

    Attributes:
        word: The verdict.
        low: End of the 95 % interval of distance / chance, over the choice of observations.
        high: The other end.
        distance: Distance to orthogonality.
        cosines: Angles between Jacobian columns.
        contrast: IMA contrast.
        angles: Of each axis with its singular direction, in degrees, averaged over points.
        overlap: Of each column with all others: root sum of squared cosines.
        pairs: The worst pairs of latents, by their names, with the mean absolute cosine.
        mixed: How many pairs have one above 0.3.
        luck: Share of random rotations that come as near; nan for more than four latents.
    """

    word: Word
    low: float
    high: float
    distance: DistanceToOrthogonality
    cosines: ColumnCosines
    contrast: IMAContrast
    angles: Float[Tensor, "d"]
    overlap: Float[Tensor, "d"]
    pairs: tuple[tuple[int, int, float], ...]
    mixed: int
    luck: float

    def __post_init__(self) -> None:
        check_choices(self)


def judge_alignment(
    matrices: Float[Tensor, "m d d"], active: Bool[Tensor, "d"], contrast_of_mean: float
) -> Alignment | None:
    """Judge J^T J at some points over the active latents; None if fewer than two are."""
    names = active.nonzero().flatten().tolist()
    if len(names) < 2:
        return None
    d = len(names)
    parts = [
        _measure(part[:, active][:, :, active])
        for part in matrices.split(max(1, AT_ONCE // (8 * d * d)))
    ]
    weights = torch.tensor([len(part[0].per_sample) for part in parts]).double()
    weights /= weights.sum()
    per_sample, overlap, turned, contrast = (
        torch.cat([get(part) for part in parts])
        for get in (
            lambda part: part[0].per_sample,
            lambda part: part[2],
            lambda part: part[3],
            lambda part: part[4],
        )
    )
    chance = parts[0][0].chance
    degenerate = sum(float(w) * part[0].degenerate for w, part in zip(weights, parts, strict=True))
    mean = float(per_sample.mean())
    distance = DistanceToOrthogonality(mean, per_sample, chance, mean / chance, degenerate)
    matrix = sum(w * part[1].matrix for w, part in zip(weights, parts, strict=True))
    assert isinstance(matrix, Tensor)
    cosine = torch.cat([part[1].per_sample for part in parts])
    cosines = ColumnCosines(float(cosine.mean()), matrix, cosine)
    m = len(per_sample)
    error = float(per_sample.std()) / math.sqrt(m) * float(students_t.ppf(0.975, m - 1))
    low, high = (mean - error) / chance, (mean + error) / chance
    typical = 2 * math.degrees(math.asin(min(1.0, mean / (2 * math.sqrt(d)))))
    above = torch.triu_indices(d, d, offset=1)
    values = matrix[above[0], above[1]]
    worst = values.argsort(descending=True)[:PAIRS].tolist()
    total, angles = overlap.mean(0), turned.clamp(0, 1).acos().rad2deg().mean(0)
    astray = ((angles >= FAR) & (total > ORTHOGONAL)).any() or values.max() >= MIXED
    if high < ALIGNED and typical < NEAR and not astray:
        word: Word = "aligned"
    elif float(total.max()) <= ORTHOGONAL:
        word = "undecided"
    else:
        word = "not aligned" if low > UNALIGNED else "partly aligned"
    return Alignment(
        word,
        low,
        high,
        distance,
        cosines,
        IMAContrast(float(contrast.mean()), contrast, contrast_of_mean),
        angles,
        total,
        tuple((names[above[0, k]], names[above[1, k]], float(values[k])) for k in worst),
        int((values >= MIXED).sum()),
        _luck(d, mean),
    )


def _measure(
    matrices: Float[Tensor, "m d d"],
) -> tuple[DistanceToOrthogonality, ColumnCosines, Tensor, Tensor, Tensor]:
    """Distances, cosines, overlaps, cosines of axes with singular directions, contrasts."""
    cosines = normalised_gram(matrices)
    overlap = (cosines.square().sum(2) - 1).clamp(min=0).sqrt()
    values, v = singular_directions(matrices)
    turned = (v * nearest_signed_permutation(v)).sum(2)
    contrast, found = contrast_of_gram(matrices), distance_of_directions(values, v)
    return found, cosines_of_gram(matrices), overlap, turned, contrast


def _luck(d: int, distance: float) -> float:
    """The share of random rotations that come as near as this."""
    if d > LUCKY:
        return math.nan
    generator = torch.Generator().manual_seed(0)
    q, _ = torch.linalg.qr(torch.randn(4000, d, d, generator=generator, dtype=torch.float64))
    return float((signed_permutation_distance(q) <= distance).double().mean())
