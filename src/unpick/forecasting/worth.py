"""What each factor saves, and so the order in which they disappear as beta grows."""

import statistics

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.data import Dataset
from unpick.forecasting.directions import Directions
from unpick.models.likelihood import Likelihood
from unpick.theory import factor_gains
from unpick.theory.gain import entropy

SAMPLED = 5000  # rows over which classes are averaged
DARK = 0.01  # a pixel that is always 0 or always 1 counts as one that errs so often


def savings(
    dataset: Dataset, directions: Directions, likelihood: Likelihood, draws: int
) -> tuple[float, ...]:
    """What each factor saves per nat.

    On a grid this is `theory.factor_gains`: the saving of all values of a factor, by log n.
    Without one it is the saving of the first nat. A Gaussian latent with precision 1 + c costs
    1/2 log(1 + c) nats, so the first nat saves the curvature c of the loss along one standard
    deviation of the factor: 2 |J|^2 for the squared error (the beta at which a linear VAE gives
    the direction up), the sum of J_p^2 / (m_p (1 - m_p)) about the mean image m for Bernoulli
    pixels. A class saves what its mean tells, by the entropy of the labels.
    """
    if dataset.is_grid:
        return tuple(factor_gains(dataset, likelihood, draws).values())
    generator = torch.Generator().manual_seed(0)
    rows = torch.randperm(len(dataset), generator=generator)[:SAMPLED]
    x = dataset.observe(rows).flatten(1).double()
    labels = dataset.factor_values(rows)
    found = []
    for k in range(len(dataset.factors)):
        if k in directions.columns:
            at = directions.columns.index(k)
            weight = 2.0
            if likelihood == "bernoulli":
                mean, power = x.mean(0).clamp(DARK, 1 - DARK), directions.power[:, at]
                total = power.sum().clamp(min=1e-300)
                weight = float((power / (mean * (1 - mean))).sum() / total)
            found.append(weight * float(directions.gram[:, at, at].mean()))
        else:
            found.append(_class_saving(x, labels[:, k], likelihood))
    return tuple(found)


def _class_saving(
    x: Float[Tensor, "n p"], labels: Float[Tensor, "n"], likelihood: Likelihood
) -> float:
    """What the mean of its class saves beside the mean of all, by the entropy of the classes."""
    classes, members = labels.unique(return_counts=True)
    shares = members.double() / len(labels)
    nats = float(torch.special.entr(shares).sum())
    if nats == 0:
        return 0.0
    means = torch.stack([x[labels == each].mean(0) for each in classes])
    if likelihood == "bernoulli":
        saved = entropy(x.mean(0)).sum() - shares @ entropy(means).sum(1)
    else:
        saved = shares @ (means - x.mean(0)).square().sum(1)
    return float(saved) / nats


def suggest_betas(saved: tuple[float, ...]) -> tuple[float, float]:
    """A range of beta to try: a tenth of the smallest saving to half of the median one.

    Below it every factor pays ten times over; at its end half of the factors pay no more than
    twice. Factors that save nothing do not count.
    """
    positive = [each for each in saved if each > 0]
    if not positive:
        return 0.0, 0.0
    return min(positive) / 10, statistics.median(positive) / 2
