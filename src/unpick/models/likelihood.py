"""How an observation scatters about the decoder's output, in nats (or squared error) an image.

All that a likelihood must answer stands here: its distortion, its mean, and the first and second
derivative of the distortion by the decoder's output.
"""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, mse_loss

from unpick.names import unknown_choice

Likelihood = Literal["gaussian", "bernoulli"]


def distortion(
    likelihood: Likelihood, x: Float[Tensor, "s b *shape"], output: Float[Tensor, "s b *shape"]
) -> Float[Tensor, "s b *shape"]:
    r"""What reconstruction costs, pixel by pixel; a loss sums over them.

    `gaussian` is \|x - \hat x\|^2 exactly, as papers write it, so that beta there is 2 sigma^2.
    `bernoulli` is the cross-entropy of pixels in [0, 1] with `output` as logits.
    """
    match likelihood:
        case "gaussian":
            return mse_loss(output, x, reduction="none")
        case "bernoulli":
            return binary_cross_entropy_with_logits(output, x, reduction="none")
    raise unknown_choice("likelihood", likelihood, Likelihood)


def mean(likelihood: Likelihood, output: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    """The expected observation: the output itself, or its sigmoid."""
    match likelihood:
        case "gaussian":
            return output
        case "bernoulli":
            return torch.sigmoid(output)
    raise unknown_choice("likelihood", likelihood, Likelihood)


def slope_factor(likelihood: Likelihood) -> float:
    """The derivative of the distortion by the output is this times (mean - x): 2, or 1."""
    match likelihood:
        case "gaussian":
            return 2.0
        case "bernoulli":
            return 1.0
    raise unknown_choice("likelihood", likelihood, Likelihood)


def curvature(likelihood: Likelihood, output: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    """The second derivative of the distortion by the output: 2, or p (1 - p)."""
    match likelihood:
        case "gaussian":
            return torch.full_like(output, 2.0)
        case "bernoulli":
            return torch.sigmoid(output) * torch.sigmoid(-output)
    raise unknown_choice("likelihood", likelihood, Likelihood)
