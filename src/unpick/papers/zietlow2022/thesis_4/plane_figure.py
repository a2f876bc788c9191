"""Two latents moved at once: what a decoder draws on a plane of its latent space."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor
from torch.nn.functional import pad

from unpick.plots.images import tile

GAP = 1  # pixels between images


def planes(
    groups: Mapping[str, Mapping[str, Float[Tensor, "rows columns c h w"]]],
    factors: Mapping[str, tuple[str, str]],
    reach: float,
) -> Figure:
    """Grids of decoded images, a row of panels a group.

    After Zietlow (2022), figures 4.10 and 4.11.

    Args:
        groups: By their name, panels that belong together: by theirs, images whose first row is at
            the top, where the second latent is largest.
        factors: What the latents along the x and the y axis should hold, by the group's name.
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
                interpolation="nearest",
            )
            axes.set_title(title, fontsize=8)
            axes.set_xticks(np.array([-reach, 0, reach]))
            axes.set_yticks(np.array([-reach, 0, reach]) if k == 0 else [])
            axes.tick_params(length=2, labelsize=7)
            across, up = factors[name]
            axes.set_xlabel(f"latent of {across}", fontsize=8)
            if k == 0:
                other = "other latent" if across == up else "latent"
                axes.set_ylabel(f"{name}\n{other} of {up}", fontsize=8)
    return figure
