"""Which factors a VAE will mix: the cheapest rotation of the factors' axes."""

import itertools
import math
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

Fate = Literal["told apart", "mixed", "open"]
# At a ratio of lengths of 1.2 some restarts fail, at 1.5 none (Zietlow 2022, section 3.3.4).
OPEN = math.log((1 + 1.2**2) / (2 * 1.2))  # nats at stake where restarts differ
TURNED = 15.0  # degrees from which axes count as turned
RESOLVED = 100.0  # precision, beside a prior of 1, at which the shorter direction is kept
ANGLES = torch.arange(-44.0, 46.0, dtype=torch.float64)  # degrees
SAMPLES = 50  # of the bootstrap
SWEEPS = 20


def prices(gram: Float[Tensor, "n 2 2"], angles: Float[Tensor, "a"]) -> Float[Tensor, "n a"]:
    r"""What a diagonal posterior pays at each point if two factors are turned by these angles.

    .. math:: \frac12 \sum_{j=1,2} \log(1 + s\, r_j^\top G r_j)

    The columns r_j of a rotation are the latent axes, and G = J^T J. Without the 1 this is the
    logarithm of the product of column norms, the quantity whose minimum at fixed volume makes
    columns orthogonal (Zietlow 2022, section 3.2.4; Rolinek et al. 2019, section 4.3). s is such
    that the shorter factor has a precision of 100 beside the prior's 1, on average over points.

    Args:
        gram: J^T J of two columns at each point.
        angles: In radians.
    """
    lengths = gram.diagonal(dim1=1, dim2=2).mean(0)
    positive = lengths[lengths > 0]
    scale = RESOLVED / positive.min() if len(positive) else 1.0
    one, cross, two = (scale * gram[:, k, j][:, None] for k, j in ((0, 0), (0, 1), (1, 1)))
    c, s = angles.cos(), angles.sin()
    first = c**2 * one + 2 * s * c * cross + s**2 * two
    second = s**2 * one - 2 * s * c * cross + c**2 * two
    # Rounding may leave a square that should be zero a little below it.
    return 0.5 * (first.clamp(min=0).log1p() + second.clamp(min=0).log1p())


def cheapest_angle(gram: Float[Tensor, "n 2 2"]) -> tuple[float, float]:
    """The angle in degrees at which the mean price is lowest, and what is at stake in nats.

    The stake is the difference between the highest and the lowest price over all rotations.

    Example:
        >>> cheapest_angle(torch.tensor([[[4.0, 0.0], [0.0, 1.0]]]))[0]
        0.0
    """
    return _cheapest(prices(gram, ANGLES.deg2rad()).mean(0, keepdim=True))[0]


def judge_pair(gram: Float[Tensor, "n 2 2"]) -> tuple[float, float, float]:
    """The cheapest angle, the stake, and the share of bootstrap samples with the same fate.

    The samples are of the points; the scale of the price stays that of all points.
    """
    each = prices(gram, ANGLES.deg2rad())
    ((angle, stake),) = _cheapest(each.mean(0, keepdim=True))
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randint(len(each), (SAMPLES, len(each)), generator=generator)
    counts = torch.zeros(drawn.shape, dtype=each.dtype)
    counts.scatter_add_(1, drawn, torch.ones_like(counts))
    own = fate_of(angle, stake)
    same = [fate_of(*other) == own for other in _cheapest(counts @ each / len(each))]
    return angle, stake, sum(same) / SAMPLES


def _cheapest(mean_prices: Float[Tensor, "b a"]) -> list[tuple[float, float]]:
    """The angle of lowest price and the stake of each row."""
    lowest, highest = mean_prices.aminmax(dim=1)
    # Of equal prices the angle nearest to the factors' own axes.
    equal = mean_prices <= lowest[:, None] + 1e-9
    nearest = torch.where(equal, ANGLES.abs(), math.inf).argmin(1)
    return list(zip(ANGLES[nearest].tolist(), (highest - lowest).tolist(), strict=True))


def fate_of(angle: float, stake: float) -> Fate:
    """Whether latents tell two factors apart, mix them, or do either, by restart."""
    if stake < OPEN:
        return "open"
    return "mixed" if abs(angle) >= TURNED else "told apart"


def confusion(angle: float, stake: float) -> float:
    """How much two factors share latents: 0 if they are told apart, 1 if both latents hold both.

    sin^2(2 angle) where the price decides. Where little is at stake the angle is anything, and
    sin^2 of it is 1/2 on average. The weight of the first is stake / (stake + OPEN).
    """
    weight = stake / (stake + OPEN)
    return weight * math.sin(2 * math.radians(angle)) ** 2 + (1 - weight) / 2


def turn(
    matrix: Float[Tensor, "d d"], pair: tuple[int, int], angle: float
) -> Float[Tensor, "d d"]:
    """A rotation of the factors, followed by another one in the plane of two of them."""
    plane = torch.eye(len(matrix), dtype=matrix.dtype)
    (k, j), c, s = pair, math.cos(math.radians(angle)), math.sin(math.radians(angle))
    plane[k, k], plane[k, j], plane[j, k], plane[j, j] = c, -s, s, c
    return matrix @ plane


def cheapest_rotation(gram: Float[Tensor, "n d d"]) -> Float[Tensor, "d d"]:
    """The axes of lowest price, as columns: pairs are turned in sweeps until none gains.

    A pair with little at stake stays as it is.
    """
    matrix = torch.eye(gram.shape[1], dtype=gram.dtype)
    for _ in range(SWEEPS):
        still = True
        for pair in itertools.combinations(range(gram.shape[1]), 2):
            turned = matrix.T @ gram @ matrix
            angle, stake = cheapest_angle(turned[:, pair][:, :, pair])
            if abs(angle) >= 1 and stake >= OPEN:
                matrix, still = turn(matrix, pair, angle), False
        if still:
            break
    return matrix
