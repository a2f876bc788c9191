"""Twins of a data set: the change, its one-parameter family, and its training."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float, Int
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from torch import Tensor
from torch.nn.functional import pad

from unpick.plots.images import tile
from unpick.plots.style import BLUE, GREY, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def twin_sheet(
    original: Float[Tensor, "n c h w"], twin: Float[Tensor, "n c h w"], epsilon: float
) -> Figure:
    """Original images, the change and the changed images (Zietlow 2022, figure 4.3)."""
    figure = Figure(figsize=(1.6 + 0.75 * len(original), 2.4), layout="constrained")
    rows = figure.subplots(3)
    for axes, label, images in zip(
        rows,
        ("original", "change", "twin"),
        (original, scale_change(twin - original, epsilon), twin),
        strict=True,
    ):
        axes.imshow(
            tile(add_frames(images)), cmap=colour_map(images, label == "change"), vmin=0, vmax=1
        )
        axes.set_yticks([axes.get_ylim()[0] / 2], [label])
        hide_frame(axes)
    add_colour_bar(rows, original, epsilon)
    return figure


def change_family(
    table: Float[Tensor, "l c h w"], level: Int[Tensor, "n"], epsilon: float, columns: int = 12
) -> Figure:
    """The one-parameter family of changes, and the share of observations at each level."""
    figure = Figure(figsize=(1.6 + 0.75 * columns, 2.3), layout="constrained")
    strip, counts = figure.subplots(2, sharex=True, height_ratios=(1, 1.3))
    # Each image shows the level in the middle of its part of the axis.
    some = ((torch.arange(columns) + 0.5) / columns * len(table)).long()
    strip.imshow(
        tile(add_frames(scale_change(table[some], epsilon))),
        cmap=colour_map(table, change=True),
        vmin=0,
        vmax=1,
        extent=(0, len(table), 0, 1),
        aspect="auto",
    )
    strip.set_yticks([0.5], ["change"])
    hide_frame(strip)
    add_colour_bar([strip], table, epsilon)
    edges = np.linspace(0, len(table), min(60, len(table)) + 1)
    shares, _ = np.histogram(level.numpy() + 0.5, edges)
    counts.stairs(100 * shares / len(level), edges, fill=True, color=BLUE)
    counts.set_xlim(0, len(table))
    counts.set_xlabel("level of the neuron")
    counts.set_ylabel("observations (%)")
    return figure


def contest_curves(log: Sequence[tuple[int, float, float]]) -> Figure:
    """Reconstruction losses of entangled and disentangled models, and their difference."""
    steps, entangled, disentangled = np.array(log, dtype=float).reshape(-1, 3).T
    figure = Figure(figsize=(6.8, 2.6), layout="constrained")
    both, difference = figure.subplots(1, 2)
    both.plot(steps, entangled, color=ORANGE, linewidth=1, label="entangled")
    both.plot(steps, disentangled, color=BLUE, linewidth=1, label="disentangled")
    both.set_title("loss of the adapting decoders")
    both.legend(frameon=False)
    difference.axhline(0, color=GREY, linewidth=0.8)
    difference.plot(steps, entangled - disentangled, color=BLUE, linewidth=1)
    difference.set_title("entangled - disentangled")
    for axes in (both, difference):
        axes.set_xlabel("step")
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def scale_change(change: Float[Tensor, "*n"], epsilon: float) -> Float[Tensor, "*n"]:
    """Map [-epsilon, epsilon] to [0, 1]; 0.5 is no change."""
    return change / (2 * epsilon) + 0.5


def colour_map(images: Float[Tensor, "n c h w"], change: bool) -> str:
    """The name of the colour map: diverging for a change of grey images, grey for the rest."""
    return "RdBu_r" if change and images.shape[1] == 1 else "gray"


def add_colour_bar(
    rows: "Sequence[Axes]", images: Float[Tensor, "n c h w"], epsilon: float
) -> None:
    """Explain the colours of a change; in colour images, the brightness of each channel."""
    figure, axes = rows[0].figure, list(rows)
    shades = ScalarMappable(Normalize(-epsilon, epsilon), colour_map(images, change=True))
    bar = figure.colorbar(shades, ax=axes, fraction=0.05, pad=0.01)
    bar.set_ticks([-epsilon, 0, epsilon], labels=[f"\u2212{epsilon:g}", "0", f"{epsilon:g}"])
    bar.set_label("per channel" if images.shape[1] == 3 else "change")


def add_frames(images: Float[Tensor, "n c h w"]) -> Float[Tensor, "1 n c p q"]:
    """Put a grey line around each image; return them as one row."""
    return pad(images[None], (1, 1, 1, 1), value=0.5)


def hide_frame(axes: "Axes") -> None:
    """Hide frame and ticks, keep labels."""
    axes.tick_params(length=0, labelbottom=False)
    axes.spines[:].set_visible(False)
