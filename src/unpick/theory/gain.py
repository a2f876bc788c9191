"""What it is worth to know a factor: a guide to beta that needs no training."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.arrays import Array, to_tensor
from unpick.data import Dataset
from unpick.models.likelihood import Likelihood
from unpick.names import unknown_choice

DRAWS = 300  # settings of the other factors, at most


def gain_per_nat(x: Array, likelihood: Likelihood = "bernoulli") -> Float[Tensor, "*n"]:
    r"""What reconstruction saves for each nat that tells the values of a factor apart.

    .. math:: \frac{H(\bar x) - \overline{H(x)}}{\log n}

    with H the entropy of an image of Bernoulli pixels, the means over the n values of the factor.
    Without the factor, the best reconstruction of its n images is their mean; with it, each image
    itself. For the squared error the saving is the variance of the pixels. A latent that tells
    the values apart costs log n nats, so above this beta it costs more than it saves.

    Args:
        x: Observations that differ in one factor only, along the axis before the last; pixels in
            [0, 1] for a Bernoulli likelihood.
        likelihood: What reconstruction is measured by.

    Example:
        >>> gain_per_nat(torch.tensor([[0.0, 0.0], [1.0, 1.0]]))  # two pixels that tell it
        tensor(2.)
    """
    x = to_tensor("x", x, "..., values, pixels")
    if (values := x.shape[-2]) < 2:
        raise ValueError(f"x must hold at least 2 values of the factor, got {values}")
    mean = x.mean(-2, keepdim=True)
    match likelihood:
        case "bernoulli":
            if x.min() < 0 or x.max() > 1:
                raise ValueError("x must lie in [0, 1] for a Bernoulli likelihood")
            saved = entropy(mean).mean(-2) - entropy(x).mean(-2)
        case "gaussian":
            saved = (x - mean).square().mean(-2)
        case _:
            raise unknown_choice("likelihood", likelihood, Likelihood)
    return saved.sum(-1) / math.log(values)


def factor_gains(
    dataset: Dataset, likelihood: Likelihood = "bernoulli", draws: int = DRAWS
) -> dict[str, float]:
    """The gain per nat of every factor, averaged over settings of the other factors.

    It grows with the number of pixels, and so does the beta at which a factor is given up.

    Args:
        dataset: A full grid of factors.
        likelihood: What reconstruction is measured by.
        draws: Random settings of the other factors.
    """
    if draws < 1:
        raise ValueError(f"draws must be at least 1, got {draws}")
    generator = torch.Generator().manual_seed(0)
    gains = {}
    for column, factor in enumerate(dataset.factors):
        others = dataset.positions(dataset.sample(draws, generator))
        places = others[:, None].repeat(1, factor.size, 1)
        places[..., column] = torch.arange(factor.size)
        total = 0.0
        for one in places:
            x = dataset.observe(dataset.index_of(one)).flatten(1).double()
            total += float(gain_per_nat(x, likelihood))
        gains[factor.name] = total / draws
    return gains


def entropy(p: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    """Of pixels that are 1 with probability p, in nats."""
    return torch.special.entr(p) + torch.special.entr(1 - p)
