"""Twins of a data set: what was changed, the family of changes, and how it was found."""

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
        (original, scaled(twin - original, epsilon), twin),
        strict=True,
    ):
        axes.imshow(tile(framed(images)), cmap=colours(images, label == "change"), vmin=0, vmax=1)
        axes.set_yticks([axes.get_ylim()[0] / 2], [label])
        bare(axes)
    change_bar(rows, original, epsilon)
    return figure


def change_family(
    table: Float[Tensor, "l c h w"], level: Int[Tensor, "n"], epsilon: float, columns: int = 12
) -> Figure:
    """The one-parameter family of changes, and how many observations get which."""
    figure = Figure(figsize=(1.6 + 0.75 * columns, 2.3), layout="constrained")
    strip, counts = figure.subplots(2, sharex=True, height_ratios=(1, 1.3))
    # An image is of the middle of that part of the axis which it stands above.
    some = ((torch.arange(columns) + 0.5) / columns * len(table)).long()
    strip.imshow(
        tile(framed(scaled(table[some], epsilon))),
        cmap=colours(table, change=True),
        vmin=0,
        vmax=1,
        extent=(0, len(table), 0, 1),
        aspect="auto",
    )
    strip.set_yticks([0.5], ["change"])
    bare(strip)
    change_bar([strip], table, epsilon)
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


def scaled(change: Float[Tensor, "*n"], epsilon: float) -> Float[Tensor, "*n"]:
    """From [-epsilon, epsilon] to [0, 1], where 0.5 is no change."""
    return change / (2 * epsilon) + 0.5


def colours(images: Float[Tensor, "n c h w"], change: bool) -> str:
    """Of grey images; the channels of colour images keep their colours, also for a change."""
    return "RdBu_r" if change and images.shape[1] == 1 else "gray"


def change_bar(rows: "Sequence[Axes]", images: Float[Tensor, "n c h w"], epsilon: float) -> None:
    """What the colours of a change mean; in colour images, the brightness of each channel."""
    figure, axes = rows[0].figure, list(rows)
    shades = ScalarMappable(Normalize(-epsilon, epsilon), colours(images, change=True))
    bar = figure.colorbar(shades, ax=axes, fraction=0.05, pad=0.01)
    bar.set_ticks([-epsilon, 0, epsilon], labels=[f"\u2212{epsilon:g}", "0", f"{epsilon:g}"])
    bar.set_label("per channel" if images.shape[1] == 3 else "change")


def framed(images: Float[Tensor, "n c h w"]) -> Float[Tensor, "1 n c p q"]:
    """One row of images with a grey line around each."""
    return pad(images[None], (1, 1, 1, 1), value=0.5)


def bare(axes: "Axes") -> None:
    """No frame, no ticks, but labels."""
    axes.tick_params(length=0, labelbottom=False)
    axes.spines[:].set_visible(False)
