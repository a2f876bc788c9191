"""Theorems 1 and 2 and figure 1 of Allen (2024): what of a decoded prior is independent."""

from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure

from unpick.papers.allen2024.pushforward.claims import (
    along_left_singular,
    counted,
    falls_short,
    independent,
    multiply,
    own_speed,
)
from unpick.papers.allen2024.pushforward.figures import (
    Chart,
    carried_lines,
    gap_and_information,
    length_clouds,
)
from unpick.papers.allen2024.pushforward.mixings import (
    MIXINGS,
    OBLIQUE,
    RIGHT,
    SAMPLES,
    chance,
    linear,
    measured,
)
from unpick.study.study import Claim, Drawing, Results, Study
from unpick.theory.pushforward import push_forward
from unpick.theory.surfaces import Map, box_muller

Array = np.ndarray
SHOWN = ("strip", "helicoid", "sphere")


def chart(title: str, decode: Map, axes: Float[Array, "2 2"], at: Float[Array, "2"]) -> Chart:
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
    return Chart(title, grid, image.numpy(), density.numpy(), lines, (at, there))


def draw_lines(results: Results) -> Figure:
    """Figure 1."""
    return carried_lines(
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
    """Of three decoders with orthogonal columns."""
    return length_clouds(
        {f"{n}: {measured(n).information:.2f} nats": measured(n).lengths for n in SHOWN}
    )


def draw_both(results: Results) -> Figure:
    """Of all decoders."""
    found = [measured(name) for name in MIXINGS]
    return gap_and_information(
        list(MIXINGS),
        [not mixing.orthogonal for mixing in MIXINGS.values()],
        np.array([each.gap for each in found]),
        np.array([each.information for each in found]),
        chance(),
    )


STUDY = Study(
    name="allen-pushforward",
    title="Orthogonal columns and independent components",
    source="Allen (2024), theorems 1 and 2, figure 1",
    about="A decoder carries the prior to a distribution on its image. Theorem 1 says that for a "
    "linear decoder this is a product of independent components along left singular vectors, "
    "theorem 2 the same for every decoder whose Jacobian has orthogonal columns. Here nine "
    "decoders of two latents are measured, six with orthogonal columns and three without; nothing "
    "is trained. Densities are counted from draws, by area in a small disc and by length along a "
    "curve, so that no formula is judged by itself.\n\n"
    "Theorem 2 can be read in two ways. That the density at a point is the product of the "
    "densities along the curves through it is so, and only for orthogonal columns: otherwise the "
    "product lacks the IMA contrast. That the factors belong to independent components is another "
    "matter: the factor of a curve is a density by length along it, and lengths along the two "
    "curves are independent if the speed along each depends on its own latent alone. On a "
    "helicoid or a sphere it does not, and they are dependent. Orthogonal columns are neither "
    "needed for that nor enough. (The latents themselves are independent by assumption, for any "
    "decoder.) The corrected statement is in the ledger: A-T1, A-T2.\n\n"
    "Information is estimated from nearest neighbours (Kraskov et al. 2004) on normal scores of "
    f"{SAMPLES} draws; chance is the largest of a hundred estimates for independent numbers.",
    claims=(
        Claim(
            "The density of the decoded prior is p(z) over the product of singular values "
            "(eq. 9, 12).",
            counted,
        ),
        Claim(
            "Theorem 1: under a linear decoder, components along left singular vectors are "
            "independent, and the density is the product of theirs.",
            along_left_singular,
        ),
        Claim(
            "Theorem 2, of densities: with orthogonal columns the density is the product of "
            "densities along the curves of the latents (eq. 13).",
            multiply,
        ),
        Claim(
            "Theorem 2, of components: with orthogonal columns what lies along these curves is "
            "statistically independent.",
            independent,
        ),
        Claim(
            "Corrected (ledger A-T2): lengths along the curves are independent where each "
            "curve's speed depends on its own latent alone, with orthogonal columns or without.",
            own_speed,
        ),
        Claim(
            "Without orthogonal columns (section 3.2.3) densities along the latents do not "
            "multiply to the density: they lack the IMA contrast.",
            falls_short,
        ),
    ),
    drawings=(
        Drawing(
            "allen-1",
            "Lines that stay orthogonal",
            "After figure 1. Blue: lines through a point of the latent space; orange: the same, "
            "decoded. A linear decoder (left) carries its right singular directions to orthogonal "
            "lines, the left singular directions, but the standard grid (grey) to an oblique one. "
            "With orthogonal columns (right) the standard grid itself is carried to curves that "
            "cross at right angles. The darker, the denser.",
            draw_lines,
        ),
        Drawing(
            "lengths",
            "Orthogonal, but not independent",
            "Draws from the prior, told by their lengths along the curves of the two latents, for "
            "three decoders with orthogonal columns. Orange: 10, 50 and 90 % of the second length "
            "among draws with a similar first. On the strip the lines are level: the lengths are "
            "independent. On the helicoid the second spreads as the first grows in size; on the "
            "sphere it shrinks.",
            draw_lengths,
        ),
        Drawing(
            "gap-and-information",
            "Two different questions",
            "Orange names: orthogonal columns; blue: oblique ones. Left, whether densities along "
            "the latents multiply: they do for orthogonal columns alone. Right, whether lengths "
            "along the curves are independent (shaded: as good as independent): that does not go "
            "by the columns' angles.",
            draw_both,
        ),
    ),
)
