"""Figures of theorems 1 and 2 of Allen (2024), drawn from results."""

from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure

from unpick.papers.allen2024.pushforward import plots
from unpick.papers.allen2024.pushforward.claims import measured
from unpick.papers.allen2024.pushforward.decoders import (
    DECODERS,
    OBLIQUE,
    RIGHT,
    lengths_of,
    linear,
)
from unpick.papers.allen2024.surfaces import Map, box_muller
from unpick.study.study import Results
from unpick.theory.pushforward import push_forward

Array = np.ndarray
SHOWN = ("strip", "helicoid", "sphere")


def chart(
    title: str, decode: Map, axes: Float[Array, "2 2"], at: Float[Array, "2"]
) -> plots.Chart:
    """A decoder with straight lines through a latent point, along the columns of `axes`."""
    ticks = np.linspace(-2.2, 2.2, 67)
    grid = np.stack(np.meshgrid(ticks, ticks, indexing="ij"), 2)
    flat = torch.from_numpy(grid.reshape(-1, 2))
    lines = []
    for axis in axes.T:
        line = at + np.linspace(-3.5, 3.5, 281)[:, None] * axis
        line = line[(np.abs(line) <= ticks[-1]).all(1)]
        lines.append((line, decode(torch.from_numpy(line)).numpy()))
    density = push_forward(decode, flat).log_density.exp().reshape(67, 67)
    image = decode(flat).reshape(67, 67, 2)
    there = decode(torch.from_numpy(at)[None])[0].numpy()
    return plots.Chart(title, grid, image.numpy(), density.numpy(), lines, (at, there))


def draw_lines(results: Results) -> Figure:
    """Figure 1."""
    return plots.carried_lines(
        [
            chart("linear decoder", linear(OBLIQUE), RIGHT, np.array([0.7, -0.3])),
            chart(
                "orthogonal columns (polar plane)",
                partial(box_muller, a=0.8),
                np.eye(2),
                np.array([0.4, 0.5]),
            ),
        ]
    )


def draw_lengths(results: Results) -> Figure:
    """Lengths along the curves of three decoders with orthogonal columns."""
    found = measured(results)
    return plots.length_clouds(
        {f"{name}: {found[name].information:.2f} nats": lengths_of(name) for name in SHOWN}
    )


def draw_both(results: Results) -> Figure:
    """Gap and information of all decoders."""
    found = measured(results).values()
    return plots.gap_and_information(
        list(DECODERS),
        [not known.orthogonal for known in DECODERS.values()],
        np.array([each.gap for each in found]),
        np.array([each.information for each in found]),
        results.computed["independent"]["chance"],
    )
