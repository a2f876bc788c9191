"""Pictures of the ledger: what the solvers find, and how fast approximations become exact."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from scipy.linalg import hadamard
from torch import Tensor

from unpick.figures import theory as figures
from unpick.figures.pushforward import Curve, pushforward_density
from unpick.models.linear import linear_vae
from unpick.studies import Drawing
from unpick.theory import (
    Descent,
    Judgement,
    givens_descent,
    optimal_rotation,
    precision_budget,
    riemannian_descent,
)
from unpick.theory.budget import Form, Objective
from unpick.theory.instances import rotation
from unpick.theory.mechanisms import mechanism_gap
from unpick.theory.plateaus import optimal_slopes
from unpick.theory.pushforward import push_forward

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
    return figures.rotation_descent(paths, float(optimal_rotation(matrix).log_product))


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
    return figures.budget_allocation(jacobians.norm(dim=1).double().numpy(), spent)


def orders(judgements: Sequence[Judgement]) -> Figure | None:
    """The errors of the approximations, as their checks measured them."""
    curves = {
        f"{judgement.entry.id}: {judgement.entry.title}": judgement.evidence.errors
        for judgement in judgements
        if judgement.evidence.errors and judgement.word == "approximate"
    }
    return figures.error_orders(curves) if curves else None


def density(judgements: Sequence[Judgement]) -> Figure:
    """Of the prior decoded by the complex exponential, whose columns are orthogonal."""

    def decode(z: Float[Tensor, "n 2"]) -> Float[Tensor, "n 2"]:
        image = torch.exp(0.33 * torch.complex(z[:, 0], z[:, 1]))
        return torch.stack([image.real, image.imag], 1)

    ticks = torch.linspace(-2.4, 2.4, 61).double()
    crossing = (40, 37)
    grid = torch.stack(torch.meshgrid(ticks, ticks, indexing="ij"), 2)
    flat = grid.reshape(-1, 2)
    image, found = decode(flat).reshape(grid.shape), push_forward(decode, flat)
    by_area = found.log_density.exp().reshape(61, 61)
    along = found.along_latents.exp().reshape(grid.shape)
    names, places = ("first latent changes", "second latent changes"), (slice(None), crossing[1])
    curves = []
    for k, name in enumerate(names):
        line = places if k == 0 else (crossing[0], slice(None))
        curves.append(
            Curve(
                name,
                grid[line].numpy(),
                image[line].numpy(),
                along[(*line, k)].numpy(),
                crossing[k],
            )
        )
    return pushforward_density(
        grid.numpy(), image.numpy(), by_area.numpy(), curves, float(by_area[crossing])
    )


def plateaus(judgements: Sequence[Judgement]) -> Figure:
    """Between three data points one apart, beta 0.05; jumps are put half way."""
    v = np.linspace(-1, 1, 801)
    profiles = {}
    for bound in (1.0, 2.0, 4.0, 16.0):
        best = optimal_slopes(1.0, bound, 0.05)
        slope = np.where(np.abs(np.abs(v) - 0.5) < best.share / 2, best.high, best.low)
        steps = (slope[1:] + slope[:-1]) / 2 * np.diff(v)
        u = np.concatenate([[0.0], np.cumsum(steps)])
        profiles[bound] = (u - u[400]) / (u[-1] - u[400])
    points = np.array([[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]])
    return figures.plateau_profiles(v, profiles, points)


def gap(judgements: Sequence[Judgement]) -> Figure:
    """Of a decoder with oblique columns, at 40 codes."""
    mixing = torch.tensor([[1.0, 0.8], [0.0, 0.6]]).double()
    z = 0.7 * torch.randn(40, 2, generator=torch.Generator().manual_seed(0)).double()
    precisions = 10 ** np.arange(1, 5.1, 0.5)
    found = [mechanism_gap(lambda z: 2 * torch.tanh(z @ mixing.T / 2), z, p) for p in precisions]
    elbo = np.array([each.elbo.mean().item() for each in found])
    likelihood = np.array([each.log_likelihood.mean().item() for each in found])
    regularised = np.array([each.regularised.mean().item() for each in found])
    return figures.elbo_gap(precisions, elbo, likelihood, regularised)


def spectrum(judgements: Sequence[Judgement]) -> Figure:
    """Of Gaussian data in eight dimensions, six latents, noise variance one half."""
    scales = torch.tensor([4.0, 3.0, 2.0, 1.3, 0.8, 0.5, 0.3, 0.2]).double()
    x = torch.randn(500, 8, generator=torch.Generator().manual_seed(0)).double() * scales
    values = torch.linalg.eigvalsh(torch.cov(x.T, correction=0)).numpy()
    lengths = linear_vae(x, 6, 0.5).weights.norm(dim=0).numpy()
    return figures.linear_vae_spectrum(values, lengths, 0.5)


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
        "orders",
        "How good the approximations are",
        "Relative error against the scale of the noise, as the checks measured it.",
        orders,
    ),
    Drawing(
        "pushforward",
        "The decoded prior",
        "A decoder whose columns are orthogonal (A-T2, after Allen 2024, figure 1). Densities by "
        "length along the two curves multiply to the density by area where they cross.",
        density,
    ),
    Drawing(
        "plateaus",
        "Plateaus and jumps",
        "The decoder of least cost through three data points if its slope is bounded (A-S4, "
        "A-E14): the steeper it may be, the flatter it is at the data.",
        plateaus,
    ),
    Drawing(
        "gap",
        "The gap is the IMA contrast",
        "The ELBO with its self-consistent posterior tends to the log-likelihood less the IMA "
        "contrast as the decoder's noise vanishes, not to the log-likelihood (Z-S7.6).",
        gap,
    ),
    Drawing(
        "spectrum",
        "What a linear VAE keeps",
        "Squared column lengths and noise add up to the eigenvalues of the data, and a latent is "
        "passive where the eigenvalue is below the noise (A-E4, A-C1.1, A-C3.1).",
        spectrum,
    ),
)
