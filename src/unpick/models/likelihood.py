"""How an observation scatters about the decoder's output, in nats (or squared error) an image."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, mse_loss

Likelihood = Literal["gaussian", "bernoulli"]


def distortion(
    likelihood: Likelihood, x: Float[Tensor, "s b *shape"], output: Float[Tensor, "s b *shape"]
) -> Float[Tensor, "s b *shape"]:
    r"""What reconstruction costs, pixel by pixel; a loss sums over them.

    `gaussian` is \|x - \hat x\|^2 exactly, as papers write it, so that beta there is 2 sigma^2.
    `bernoulli` is the cross-entropy of pixels in [0, 1] with `output` as logits.
    """
    if likelihood == "gaussian":
        return mse_loss(output, x, reduction="none")
    return binary_cross_entropy_with_logits(output, x, reduction="none")


def mean(likelihood: Likelihood, output: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    """The expected observation: the output itself, or its sigmoid."""
    return output if likelihood == "gaussian" else torch.sigmoid(output)
