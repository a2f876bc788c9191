"""Figure 3.6: images along one axis after another, from the mean image."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from unpick.papers.zietlow2022.eigenfaces.claims import TOLD
from unpick.papers.zietlow2022.eigenfaces.readings import (
    AXES,
    SEEN,
    STEPS,
    find_axes,
    move_components,
    move_latents,
)
from unpick.plots.images import tile
from unpick.probe import probe_run
from unpick.study.study import Results

GAP = 2  # pixels between images


def draw(row: str, results: Results) -> Figure | None:
    """Figure 3.6 for one data set, and the ordinary eigenfaces."""
    if row not in results.rows():
        return None
    run = results.rows()[row]["beta-VAE"].runs[0]
    found, probe = find_axes(run), probe_run(run, samples=SEEN)
    sizes = [f"deviation {deviation:.2f}" for deviation in found.deviation[:AXES]]
    numbers = [f"component {k + 1}" for k in range(AXES)]
    return eigenfaces(
        {
            "eigenfaces of the beta-VAE": (
                move_latents(probe),
                label_axes(sizes, found.latents.parts, found.factors),
            ),
            "ordinary eigenfaces": (
                move_components(probe)[0],
                label_axes(numbers, found.components.parts, found.factors),
            ),
        },
        STEPS,
    )


def label_axes(
    labels: Sequence[str], parts: Float[np.ndarray, "k factors"], factors: Sequence[str]
) -> list[str]:
    """Labels with the factor that each axis predicts best, if it predicts one."""
    if not factors:
        return list(labels)
    best = [(factors[row.argmax()], row.max()) for row in parts]
    return [
        f"{label}\n" + (f"{name} {part:.2f}" if part >= TOLD else "no single factor")
        for label, (name, part) in zip(labels, best, strict=True)
    ]


def eigenfaces(
    panels: Mapping[str, tuple[Float[Tensor, "rows columns c h w"], Sequence[str]]],
    steps: Sequence[float],
) -> Figure:
    """Discrete traversals side by side, a row an axis, after Zietlow (2022), figure 3.6.

    Args:
        panels: Images along each axis, and a label for each axis, by title.
        steps: How far from the mean image each column is.
    """
    if not panels:
        raise ValueError("panels must hold at least one, got none")
    rows, columns = next(iter(panels.values()))[0].shape[:2]
    figure = Figure(
        figsize=((0.72 * columns + 1.1) * len(panels), 0.72 * rows + 0.7), layout="constrained"
    )
    for axes, (title, (images, labels)) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
    ):
        height, width = images.shape[3:]
        room = torch.nn.functional.pad(images, (0, GAP, 0, GAP), value=1.0)
        axes.imshow(
            tile(room)[:-GAP, :-GAP],
            cmap="gray",
            vmin=0,
            vmax=1,
            interpolation="none",  # the file holds the pixels as they are
        )
        across, down = np.arange(columns) * (width + GAP), np.arange(rows) * (height + GAP)
        axes.set_xticks(across + width / 2, [f"{step:+g}" if step else "mean" for step in steps])
        axes.set_yticks(down + height / 2, labels)
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set_title(title)
    return figure
