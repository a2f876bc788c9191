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
RESIDUALS = 1000  # rows that tell how much class means vary by chance
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
    pixels. A class saves what its mean tells, by the entropy of the labels. A factor that is not
    told from noise saves 0.
    """
    if dataset.is_grid:
        return tuple(factor_gains(dataset, likelihood, draws).values())
    generator = torch.Generator().manual_seed(0)
    rows = torch.randperm(len(dataset), generator=generator)[:SAMPLED]
    x = dataset.observe(rows).flatten(1).double()
    if likelihood == "bernoulli" and (x.min() < 0 or x.max() > 1):
        raise ValueError("x must lie in [0, 1] for a Bernoulli likelihood")
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
        elif k in directions.lost:
            found.append(0.0)
        else:
            found.append(_class_saving(x, labels[:, k], likelihood))
    return tuple(found)


def _class_saving(
    x: Float[Tensor, "n p"], labels: Float[Tensor, "n"], likelihood: Likelihood
) -> float:
    """What the mean of its class saves beside the mean of all, by the entropy of the classes.

    Class means differ by chance, too. What chance saves on average is subtracted; if what is left
    is within three deviations of what chance saves, the classes save nothing.
    """
    classes, members, counts = labels.unique(return_inverse=True, return_counts=True)
    shares = counts.double() / len(labels)
    nats = float(torch.special.entr(shares).sum())
    if len(labels) <= len(classes) or nats == 0:
        return 0.0
    mean, means = x.mean(0), torch.stack([x[labels == each].mean(0) for each in classes])
    residual, free = x - means[members], len(classes) - 1
    if likelihood == "bernoulli":
        saved = entropy(mean).sum() - shares @ entropy(means).sum(1)
        residual = residual / (2 * mean * (1 - mean)).clamp(min=1e-12).sqrt()  # to second order
    else:
        saved = shares @ (means - mean).square().sum(1)
    by_chance = residual.square().sum() / (len(labels) - len(classes)) * free / len(labels)
    some = residual[:RESIDUALS]
    deviation = (some @ some.T).norm() / len(some) * (2 * free) ** 0.5 / len(labels)
    left = float(saved - by_chance)
    return left / nats if left > 3 * float(deviation) else 0.0


def suggest_betas(saved: tuple[float, ...]) -> tuple[float, float] | None:
    """A range of beta to try: a tenth of the smallest saving to half of the median one.

    Below it every factor pays ten times over; at its end half of the factors pay no more than
    twice. Factors that save nothing do not count; without others no beta is suggested.
    """
    positive = [each for each in saved if each > 0]
    if not positive:
        return None
    return min(positive) / 10, statistics.median(positive) / 2
