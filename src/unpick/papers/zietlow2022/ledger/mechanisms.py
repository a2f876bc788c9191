"""The limit of the ELBO that Zietlow (2022), section 7.6, reports: a log-likelihood and IMA."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.geometry.columns import ima_contrast
from unpick.geometry.jacobian import decoder_jacobians
from unpick.study.ledger.checks import Order
from unpick.study.ledger.entry import Entry, Mutation
from unpick.theory.mechanisms import mechanism_gap

CODES = torch.randn(8, 2, generator=torch.Generator().manual_seed(0)).double() / 2


def _sheared(z: Float[Tensor, "n 2"]) -> Float[Tensor, "n 3"]:
    a, b = z.T
    return torch.stack([a + b / 2, b + a.sin() / 3, a * b / 4], 1)


def _gap_error(contrast: Callable[[Tensor], Tensor], scale: float) -> float:
    """Of log p(x) - ELBO at noise of that scale, as a share."""
    gap = mechanism_gap(_sheared, CODES, scale**-2).gap
    return float((contrast(decoder_jacobians(_sheared, CODES)) - gap).abs().mean() / gap.mean())


GAP = Entry(
    id="Z-S7.6",
    source="Zietlow (2022), section 7.6, figure 7.6; Reizinger et al. (2022)",
    title="The gap of the ELBO tends to the IMA contrast",
    statement="With variances $1/(1 + \\gamma^2 \\|J_k\\|^2)$ and an encoder that inverts the "
    "decoder, $\\log p(x) - \\mathrm{ELBO}$ tends to the IMA contrast as the precision of the "
    "likelihood, $\\gamma^2$, grows.",
    formula=r"\log p(x) - \mathrm{ELBO}^* \to \sum_k \log \|J_k\| - \frac{1}{2} \log\det J^\top J",
    assumptions="Smooth injective decoder, Gaussian likelihood and prior, $x$ on the image.",
    printed=lambda jacobians: ima_contrast(jacobians).per_sample,
    check=Order(
        _gap_error,
        2.0,
        "mean error of the gap of a nonlinear decoder at 8 codes, as a share, noise $1/\\gamma$",
    ),
    mutation=Mutation(
        "$\\log\\det J^\\top J$ without the half",
        lambda jacobians: (
            jacobians.norm(dim=1).log().sum(1)
            - torch.linalg.slogdet(jacobians.mT @ jacobians).logabsdet
        ),
    ),
    approximation=True,
    remark="For a linear decoder $W$ the gap is known in full. With $P = I + \\gamma^2 W^\\top W$ "
    "it is $\\frac{1}{2} \\left(\\sum_k \\log P_{kk} - \\log\\det P + z^\\top P^{-1} z\\right)$.",
)
ENTRIES = (GAP,)
