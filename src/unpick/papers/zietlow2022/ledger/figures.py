"""Figures of the ledger: no local minima, the budget of precision, the ELBO's gap."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from scipy.linalg import hadamard
from torch import Tensor

from unpick.papers.zietlow2022.ledger import plots
from unpick.study import Drawing
from unpick.study.ledger import Judgement
from unpick.study.ledger.instances import rotation
from unpick.theory import (
    Descent,
    givens_descent,
    optimal_rotation,
    precision_budget,
    riemannian_descent,
)
from unpick.theory.budget import Form, Objective
from unpick.theory.mechanisms import mechanism_gap

DESCENTS: dict[str, Callable[[Tensor, Tensor], Descent]] = {
    "one plane at a time": givens_descent,
    "gradient of all planes": riemannian_descent,
}
SPENDING: dict[str, tuple[Objective, Form]] = {
    "sum of log costs": ("log", "polarized"),
    "sum of costs": ("plain", "polarized"),
    "sum of costs, exact KL": ("plain", "exact"),
}


def descents(judgements: Sequence[Judgement]) -> Figure:
    """From everywhere to the closed form, also from where the gradient is zero."""
    matrix = torch.diag(torch.tensor([8.0, 4.0, 2.0, 1.0])).double()
    draw = np.random.default_rng(0)
    worst = torch.from_numpy(hadamard(4) / 2.0)  # all columns equally long
    starts = {
        "random starts": [torch.from_numpy(rotation(draw, 4)) for _ in range(40)],
        "at and beside the worst point": [worst, *[_beside(worst, e) for e in (1e-9, 1e-6, 1e-3)]],
    }
    paths = {
        name: {
            kind: [descend(matrix, start).objective.numpy() for start in some]
            for kind, some in starts.items()
        }
        for name, descend in DESCENTS.items()
    }
    return plots.rotation_descent(paths, float(optimal_rotation(matrix).log_product))


def _beside(point: Float[Tensor, "d d"], distance: float) -> Float[Tensor, "d d"]:
    noise = torch.randn(point.shape, generator=torch.Generator().manual_seed(0)).to(point)
    return point @ torch.linalg.matrix_exp(distance * (noise - noise.T))


def allocation(judgements: Sequence[Judgement]) -> Figure:
    """Three nats a sample, for 120 Jacobians of three latents."""
    draw = torch.Generator().manual_seed(0)
    scales = 0.35 * torch.randn(120, 1, 3, generator=draw)
    scales = scales + 0.5 * torch.randn(120, 1, 1, generator=draw)
    jacobians = torch.randn(120, 8, 3, generator=draw) * torch.tensor([4.0, 1.0, 0.25])
    jacobians = jacobians * scales.exp()
    spent = {}
    for name, (objective, kl) in SPENDING.items():
        found = precision_budget(jacobians, 3.0, objective=objective, kl=kl)
        spent[name] = (found.variance.numpy(), (found.beta / 2).numpy())
    return plots.budget_allocation(jacobians.norm(dim=1).double().numpy(), spent)


def gap(judgements: Sequence[Judgement]) -> Figure:
    """Of a decoder with oblique columns, at 40 codes."""
    mixing = torch.tensor([[1.0, 0.8], [0.0, 0.6]]).double()
    z = 0.7 * torch.randn(40, 2, generator=torch.Generator().manual_seed(0)).double()
    precisions = 10 ** np.arange(1, 5.1, 0.5)
    found = [mechanism_gap(lambda z: 2 * torch.tanh(z @ mixing.T / 2), z, p) for p in precisions]
    elbo = np.array([each.elbo.mean().item() for each in found])
    likelihood = np.array([each.log_likelihood.mean().item() for each in found])
    regularised = np.array([each.regularised.mean().item() for each in found])
    return plots.elbo_gap(precisions, elbo, likelihood, regularised)


DRAWINGS = (
    Drawing(
        "descent",
        "No local minima",
        "What a rotation of the latent space loses against the best one, diag(8, 4, 2, 1) with "
        "four latents (Z-T1, Z-L5). Left, pairs of latents are turned to orthogonal columns one "
        "after the other; right, the gradient on the orthogonal group. All 88 searches end at "
        "the closed form, those too that start at the worst rotation, where the gradient is zero.",
        descents,
    ),
    Drawing(
        "budget",
        "A budget of precision for a whole data set",
        "The best noise for 120 Jacobians with three latents and three nats each (Z-P5, Z-T1). If "
        "logarithms of the costs are added up, each sample has a level of its own; if costs are, "
        "there is one water level for all. With the exact KL no variance exceeds the prior's.",
        allocation,
    ),
    Drawing(
        "gap",
        "The gap is the IMA contrast",
        "The ELBO with its self-consistent posterior tends to the log-likelihood less the IMA "
        "contrast as the decoder's noise vanishes, not to the log-likelihood (Z-S7.6).",
        gap,
    ),
)
