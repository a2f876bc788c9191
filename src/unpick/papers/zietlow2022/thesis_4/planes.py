"""Figures 4.10 and 4.11: what a decoder draws where two of its latents move."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor
from torch.nn.functional import pad

from unpick.metrics import mutual_information_gap
from unpick.papers.zietlow2022.thesis_4.rings import POLAR, ring
from unpick.papers.zietlow2022.thesis_4.settings import Data
from unpick.plots.images import tile
from unpick.probe import Probe
from unpick.probe.measures import codes_and_factors

# The factors of a plane, and what takes the second place if no restart finds that one.
FACTORS: Mapping[Data, tuple[str, str, str]] = {
    "sprites": ("x", "y", "y"),
    "shapes3d": ("wall hue", "orientation", "floor hue"),
}
SIDE, REACH = 6, 2.0  # images a side, from -2 to 2 of a latent
GAP = 1  # pixels between images


@dataclass(frozen=True, eq=False)
class Plane:
    """A plane of a latent space.

    Attributes:
        images: Along the first latent from left to right, along the second from below.
        latents: The two of them, from 0.
    """

    images: Float[Tensor, "rows columns c h w"]
    latents: tuple[int, int]

    @property
    def label(self) -> str:
        """The two latents, counted from 1."""
        return " and ".join(str(latent + 1) for latent in self.latents)


def choose_restarts(
    scores: Float[np.ndarray, "s"], rings: Float[np.ndarray, "s"] | None, most: int
) -> dict[str, list[int]]:
    """The restarts of figures 4.10 and 4.11, by kind.

    Where the hue lies along a line, those of highest and those of lowest MIG; where it lies on a
    ring, those of lowest MIG. Without hues the highest and the lowest MIG.

    Args:
        scores: MIG of each restart.
        rings: The share of a ring in each (`rings.Ring`); None where no factor is a hue.
        most: Restarts of each kind, at most.

    Example:
        >>> choose_restarts(np.array([0.1, 0.5, 0.3]), np.array([0.9, 0.2, 0.3]), 2)
        {'line, highest MIG': [1], 'line, lowest MIG': [2], 'ring': [0]}
    """
    order = np.argsort(-scores, kind="stable")
    polar = np.zeros(len(scores), dtype=bool) if rings is None else rings > POLAR
    lines, on_rings = order[~polar[order]], order[polar[order]]
    each = min(most, len(lines) // 2)
    what = "" if rings is None else "line, "
    found = {
        f"{what}highest MIG": lines[:each].tolist(),
        f"{what}lowest MIG": lines[::-1][:each].tolist(),
        "ring": on_rings[::-1][:most].tolist(),
    }
    return {kind: places for kind, places in found.items() if places}


def plane(probe: Probe, factors: tuple[str, str], *, polar: bool = False) -> Plane:
    """Decode a grid over two latents; the others stay at their mean.

    The latents are those that `pair` finds for the two factors, or if `polar` those in which the
    first factor lies on a ring. A latent that falls where its factor rises is flipped, as in
    Zietlow (2022), figure 4.10.
    """
    mean, columns = probe.mean, [probe.factor_names.index(name) for name in factors]
    values = torch.as_tensor(probe.factors)
    codes, known = codes_and_factors(probe)
    if polar:
        first, second = ring(codes, known[:, columns[0]]).latents
    else:
        gap = mutual_information_gap(codes, known)
        first, second = pair((gap.matrix / gap.entropies)[:, columns])
    ends = torch.linspace(-REACH, REACH, SIDE)
    grid = torch.meshgrid(ends.flip(0), ends, indexing="ij")  # from above, from the left
    z = mean.mean(0).repeat(SIDE * SIDE, 1)
    for latent, column, steps in zip((first, second), columns, reversed(grid), strict=True):
        together = torch.corrcoef(torch.stack([mean[:, latent], values[:, column]]))[0, 1]
        z[:, latent] = steps.flatten() * (-1 if together < 0 else 1)
    with torch.no_grad():
        images = probe.decoder(z)
    return Plane(images.unflatten(0, (SIDE, SIDE)), (first, second))


def pair(shares: Float[np.ndarray, "d 2"]) -> tuple[int, int]:
    """The two latents, one for each factor, that together know the largest share of both.

    Example:
        >>> pair(np.array([[0.9, 0.5], [0.8, 0.1], [0.0, 0.0]]))  # the first is needed elsewhere
        (1, 0)
    """
    sums = shares[:, None, 0] + shares[None, :, 1]
    np.fill_diagonal(sums, -np.inf)
    first, second = np.unravel_index(sums.argmax(), sums.shape)
    return int(first), int(second)


def planes(
    groups: Mapping[str, Mapping[str, Float[Tensor, "rows columns c h w"]]],
    labels: Mapping[str, tuple[str, str]],
    reach: float,
) -> Figure:
    """Grids of decoded images, a row of panels a group.

    After Zietlow (2022), figures 4.10 and 4.11.

    Args:
        groups: By their name, panels that belong together: by theirs, images whose first row is at
            the top, where the second latent is largest.
        labels: Of the x and the y axis, by the group's name.
        reach: Latents run from minus this to plus this.
    """
    widest = max((len(panels) for panels in groups.values()), default=0)
    if not widest:
        raise ValueError("groups must hold at least one panel, got none")
    figure = Figure(figsize=(0.5 + 2.3 * widest, 2.65 * len(groups)), layout="constrained")
    grid = figure.subplots(len(groups), widest, squeeze=False)
    for line, (name, panels) in zip(grid, groups.items(), strict=True):
        for axes in line[len(panels) :]:
            axes.set_axis_off()
        for k, (axes, (title, images)) in enumerate(zip(line, panels.items(), strict=False)):
            picture = tile(pad(images, (GAP, GAP, GAP, GAP), value=1.0))
            axes.imshow(
                picture,
                cmap="gray",
                vmin=0,
                vmax=1,
                extent=(-reach, reach, -reach, reach),
                interpolation="none",
            )
            axes.set_title(title, fontsize=8)
            axes.set_xticks(np.array([-reach, 0, reach]))
            axes.set_yticks(np.array([-reach, 0, reach]) if k == 0 else [])
            axes.tick_params(length=2, labelsize=7)
            across, up = labels[name]
            axes.set_xlabel(across, fontsize=8)
            if k == 0:
                axes.set_ylabel(f"{name}\n{up}", fontsize=8)
    return figure
