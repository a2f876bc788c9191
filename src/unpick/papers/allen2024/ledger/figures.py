"""Figures of the ledger: the decoded prior, plateaus, what a linear VAE keeps."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from unpick.models.linear import linear_vae
from unpick.papers.allen2024.ledger import plots
from unpick.papers.allen2024.pushforward.plots import Curve, pushforward_density
from unpick.study import Drawing
from unpick.study.ledger import Judgement
from unpick.theory.plateaus import optimal_slopes
from unpick.theory.pushforward import push_forward


def density(judgements: Sequence[Judgement]) -> Figure:
    """The prior decoded by the complex exponential, whose columns are orthogonal."""

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
    """The best decoder through three data points one apart, beta 0.05, jumps half way."""
    v = np.linspace(-1, 1, 801)
    profiles = {}
    for bound in (1.0, 2.0, 4.0, 16.0):
        best = optimal_slopes(1.0, bound, 0.05)
        slope = np.where(np.abs(np.abs(v) - 0.5) < best.share / 2, best.high, best.low)
        steps = (slope[1:] + slope[:-1]) / 2 * np.diff(v)
        u = np.concatenate([[0.0], np.cumsum(steps)])
        profiles[bound] = (u - u[400]) / (u[-1] - u[400])
    points = np.array([[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]])
    return plots.plateau_profiles(v, profiles, points)


def spectrum(judgements: Sequence[Judgement]) -> Figure:
    """A linear VAE with six latents on Gaussian data in eight dimensions, noise variance 0.5."""
    scales = torch.tensor([4.0, 3.0, 2.0, 1.3, 0.8, 0.5, 0.3, 0.2]).double()
    x = torch.randn(500, 8, generator=torch.Generator().manual_seed(0)).double() * scales
    values = torch.linalg.eigvalsh(torch.cov(x.T, correction=0)).numpy()
    lengths = linear_vae(x, 6, 0.5).weights.norm(dim=0).numpy()
    return plots.linear_vae_spectrum(values, lengths, 0.5)


DRAWINGS = (
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
        "spectrum",
        "What a linear VAE keeps",
        "Squared column lengths and noise add up to the eigenvalues of the data, and a latent is "
        "passive where the eigenvalue is below the noise (A-E4, A-C1.1, A-C3.1).",
        spectrum,
    ),
)
