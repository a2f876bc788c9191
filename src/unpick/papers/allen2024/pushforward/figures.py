"""Figures of theorems 1 and 2 of Allen (2024), drawn from results."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure

from unpick.geometry import decoder_jacobians
from unpick.papers.allen2024.pushforward import plots
from unpick.papers.allen2024.pushforward.claims import measured
from unpick.papers.allen2024.pushforward.decoders import (
    DECODERS,
    OBLIQUE,
    lengths_of,
    linear,
)
from unpick.papers.allen2024.surfaces import Map, strip
from unpick.study.study import Results
from unpick.theory.pushforward import push_forward

Array = np.ndarray
SHOWN = ("strip", "helicoid", "sphere")
TILT = 45.0  # degrees from which a surface is seen


@dataclass(frozen=True, eq=False)
class Shown:
    """A decoder of figure 1.

    Attributes:
        title: Its name.
        decode: From latents to observations.
        at: Where its lines cross.
        point: The name of that place.
        names: Of sub-manifolds in the latent space and of their images, with a place for the
            latent's number.
        ends: Which ends of the lines carry the names, by line, then latent space and image.
    """

    title: str
    decode: Map
    at: tuple[float, float]
    point: str
    names: tuple[str, str]
    ends: tuple[tuple[int, int], tuple[int, int]]


FIGURE_1 = (
    Shown(
        "linear decoder",
        linear(OBLIQUE),
        (0.7, -0.3),
        "$z^* = V v^*$",
        (r"$\mathcal{{V}}^{{({})}}_{{v^*}}$", r"$\mathcal{{M}}^{{({})}}_{{f,v^*}}$"),
        ((-1, -1), (-1, -1)),
    ),
    Shown(
        "orthogonal columns (bent strip)",
        partial(strip, a=0.7, b=0.6),
        (0.5, 0.6),
        "$z^*$",
        (r"$\mathcal{{Z}}^{{({})}}_{{z^*}}$", r"$\mathcal{{M}}^{{({})}}_{{f,z^*}}$"),
        ((-1, -1), (0, 0)),
    ),
)


def chart(shown: Shown) -> plots.Chart:
    """A decoder with straight lines through a latent point, along its right singular vectors."""
    decode, at = shown.decode, np.array(shown.at)
    ticks = np.linspace(-2.2, 2.2, 67)
    grid = np.stack(np.meshgrid(ticks, ticks, indexing="ij"), 2)
    flat = torch.from_numpy(grid.reshape(-1, 2))
    left, right = singular_vectors(decode, at)
    eye = view(left)

    def seen(z: Float[Array, "n 2"]) -> Float[Array, "n 2"]:
        return decode(torch.from_numpy(z)).numpy() @ eye

    lines = []
    for k, axis in enumerate(right.T):
        line = at + np.linspace(-3.5, 3.5, 281)[:, None] * axis
        line = line[(np.abs(line) <= ticks[-1]).all(1)]
        names = (shown.names[0].format(k + 1), shown.names[1].format(k + 1))
        lines.append(plots.Line(line, seen(line), names, shown.ends[k]))
    return plots.Chart(
        shown.title,
        grid,
        seen(flat.numpy()).reshape(67, 67, 2),
        push_forward(decode, flat).log_density.exp().reshape(67, 67).numpy(),
        lines,
        (at, seen(at[None])[0]),
        (right, eye.T @ left),
        shown.point,
    )


def singular_vectors(
    decode: Map, at: Float[Array, "2"]
) -> tuple[Float[Array, "p 2"], Float[Array, "2 2"]]:
    """Left and right ones of the Jacobian, as columns, in the order of the latents."""
    jacobian = decoder_jacobians(decode, torch.from_numpy(at)[None])[0].numpy()
    left, _, vt = np.linalg.svd(jacobian, full_matrices=False)
    order = np.abs(vt).argmax(0)
    signs = np.sign(vt[order].diagonal())
    return left[:, order] * signs, vt[order].T * signs


def view(left: Float[Array, "p 2"]) -> Float[Array, "p 2"]:
    """What is to the right and what is up for an eye, as columns.

    In a plane these are its own axes. On a surface in space the eye looks from the side of its
    first tangent: both stay at right angles, and the bend along the first one is seen.
    """
    if len(left) == 2:
        return np.eye(2)
    normal = np.cross(left[:, 0], left[:, 1])
    tilt = np.radians(TILT)
    return np.stack([left[:, 0], np.cos(tilt) * left[:, 1] + np.sin(tilt) * normal], 1)


def draw_lines(results: Results) -> Figure:
    """Figure 1."""
    return plots.carried_lines([chart(shown) for shown in FIGURE_1])


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
