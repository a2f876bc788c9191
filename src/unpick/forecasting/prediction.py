"""What a well-trained beta-VAE would score: DtO and MIG of ideal codes, as ranges.

The rule was written before any model was trained for the study `forecast`. An ideal code is the
factors, each as a normal score, turned by the cheapest rotation, with posterior noise. Pairs with
little at stake are turned by random angles, as restarts turn them. Trained models are not ideal.
The range of DtO therefore goes from half the lowest draw to a quarter of the way from the highest
draw to chance. The range of MIG goes from the lowest draw to the highest. At its lower end
codes are samples of posteriors, and circles and classes have no gap. At its upper end codes are
means, periodic factors are cut open and lie on an axis, and every class has a latent of its own.

Factors of the study are independent. Correlated ones are made uncorrelated first, a later rule.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from scipy.stats import norm, rankdata
from torch import Tensor

from unpick.data import Dataset
from unpick.forecasting.directions import Directions, matrix_power
from unpick.forecasting.kinds import Kind
from unpick.forecasting.pairs import OPEN, cheapest_angle, cheapest_rotation, turn
from unpick.geometry.orthogonality import distance_of_directions
from unpick.geometry.singular import singular_directions
from unpick.metrics import mutual_information_gap

DRAWS = 20  # of the angles of open pairs
ROWS = 2000  # observations with a code
BINS = 20  # of a factor without a grid


@dataclass(frozen=True)
class Prediction:
    """Scores of a well-trained beta-VAE.

    Attributes:
        beta: Where it is trained: the geometric middle of the betas to try.
        dto: Lowest and highest distance to orthogonality, as shares of chance; None with fewer
            than two ordered factors.
        mig: Lowest and highest MIG.
        ideal_dto: Mean over the draws of ideal codes, as a share of chance.
        ideal_mig: Mean over the draws, circles and classes halfway between their ends.
    """

    beta: float
    dto: tuple[float, float] | None
    mig: tuple[float, float] | None
    ideal_dto: float | None
    ideal_mig: float | None


def predict(
    dataset: Dataset,
    directions: Directions,
    kinds: Sequence[Kind],
    saved: Sequence[float],
    betas: tuple[float, float],
) -> Prediction:
    """Ranges of DtO and MIG by the rule above.

    A latent that saves w per nat has the posterior precision 1 + w / beta, and is noise if w is
    below beta; a turned latent saves the mean over its factors, weighted by their squared shares.
    """
    beta, d = math.sqrt(betas[0] * betas[1]), len(directions.columns)
    if d < 2:
        return Prediction(beta, None, None, None, None)
    judged, root = directions.judged, matrix_power(directions.correlation, 0.5)
    start = cheapest_rotation(judged)
    turned = start.T @ judged @ start
    pairs = [
        pair
        for pair in itertools.combinations(range(d), 2)
        if cheapest_angle(turned[:, pair][:, :, pair])[1] < OPEN
    ]
    generator = torch.Generator().manual_seed(0)
    rows = dataset.sample(ROWS, generator)
    values = dataset.factor_values(rows).double().numpy()[:, list(directions.columns)]
    factors = values if dataset.is_grid else np.stack([rankdata(v) for v in values.T], 1)
    bins = None if dataset.is_grid else BINS
    scores = uncorrelated_scores(values, directions.correlation)
    worth = torch.tensor([saved[k] for k in directions.columns], dtype=torch.float64)
    periodic = np.array([kinds[k] == "periodic" for k in directions.columns])
    distances, low, high = [], [], []
    for _ in range(DRAWS):
        axes = start
        for pair in pairs:
            angle = 90 * float(torch.rand(1, generator=generator)) - 45
            axes = turn(axes, pair, angle)
        gram = axes.T @ judged @ axes
        distances.append(distance_of_directions(*singular_directions(gram)).relative)
        precision = 1 + (root @ axes).square().T @ worth / beta
        noisy, exact = ideal_gaps(scores @ axes, factors, precision, bins, generator)
        low.append(np.where(periodic, 0, noisy).sum() / len(kinds))
        high.append((exact.sum() + kinds.count("categorical")) / len(kinds))
    return Prediction(
        beta,
        (min(distances) / 2, max(distances) + max(0, 1 - max(distances)) / 4),
        (float(min(*low, *high)), float(max(*low, *high))),
        float(np.mean(distances)),
        float(np.mean([*low, *high])),
    )


def uncorrelated_scores(
    values: Float[np.ndarray, "n d"], correlation: Float[Tensor, "d d"]
) -> Float[Tensor, "n d"]:
    """Factors as latents hold them: in order, standard normal, and uncorrelated."""
    ranks = np.stack([rankdata(column) for column in values.T], 1)
    scores = torch.from_numpy(norm.ppf((ranks - 0.5) / len(values)))
    return scores @ matrix_power(correlation, -0.5)


def ideal_gaps(
    codes: Float[Tensor, "n d"],
    factors: Float[np.ndarray, "n d"],
    precision: Float[Tensor, "d"],
    bins: int | None,
    generator: torch.Generator,
) -> tuple[Float[np.ndarray, "d"], Float[np.ndarray, "d"]]:
    """The gap of each ordered factor in samples of posteriors, and in their means."""
    means = torch.where(precision < 2, 0.0, codes)
    deviation = torch.where(precision < 2, 1.0, precision.rsqrt())
    noise = torch.randn(codes.shape, generator=generator, dtype=codes.dtype)
    noisy, exact = (
        mutual_information_gap(each.numpy(), factors, factor_bins=bins).per_factor
        for each in (means + deviation * noise, means)
    )
    return noisy, exact
