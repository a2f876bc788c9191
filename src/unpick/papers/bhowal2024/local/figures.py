"""Local decoders: what they make of a change, and their errors by the width of posteriors."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from torch import Tensor

from unpick.plots.images import tile
from unpick.plots.style import BLACK, COLOURS, GREY

MARKERS = "osD^v"


@dataclass(frozen=True, eq=False)
class Change:
    """What one draw of the posterior's noise does to a decoded image.

    Attributes:
        before: Dec(mu).
        after: Dec(z).
        maps: By name, what approximations say of Dec(z) - Dec(mu).
    """

    before: Float[Tensor, "c h w"]
    after: Float[Tensor, "c h w"]
    maps: Mapping[str, Float[Tensor, "c h w"]]


def changes(rows: Mapping[str, Change]) -> Figure:
    """A row a model: the images, their difference, and what each map says of it.

    Below each map: what it leaves of the change, as a share of its square.

    Args:
        rows: By the name of the model; all with the same maps.
    """
    if not rows:
        raise ValueError("rows must hold at least one change, got none")
    names = list(next(iter(rows.values())).maps)
    columns = ["Dec(mu)", "Dec(z)", "change", *names]
    figure = Figure(figsize=(1.15 * len(columns) + 0.5, 1.4 * len(rows)), layout="constrained")
    grid = figure.subplots(len(rows), len(columns), squeeze=False)
    for line, (model, row) in zip(grid, rows.items(), strict=True):
        change = row.after - row.before
        reach = float(max(image.mean(0).abs().max() for image in (change, *row.maps.values())))
        for axes, image in zip(line, (row.before, row.after), strict=False):
            axes.imshow(tile(image[None, None]), cmap="gray", vmin=0, vmax=1)
        for axes, image in zip(line[2:], (change, *row.maps.values()), strict=True):
            axes.imshow(image.mean(0).numpy(), cmap="RdBu_r", vmin=-reach, vmax=reach)
        for axes, image in zip(line[3:], row.maps.values(), strict=True):
            left = float((change - image).square().sum() / change.square().sum())
            axes.set_xlabel(f"leaves {left:.0%}", fontsize=8)
        line[0].set_ylabel(model)
        for axes in line:
            axes.set_xticks([])
            axes.set_yticks([])
            axes.spines[:].set(visible=True, color=GREY, linewidth=0.5)
    for axes, name in zip(grid[0], columns, strict=True):
        axes.set_title(name, fontsize=9)
    return figure


@dataclass(frozen=True, eq=False)
class Sizes:
    """Runs of one model on one data set, a value a run.

    Attributes:
        noise: Sum of the latents' posterior variances.
        residual: Of a local decoder, like for like.
        released: The released code's number.
    """

    noise: Float[np.ndarray, "s"]
    residual: Float[np.ndarray, "s"]
    released: Float[np.ndarray, "s"]


def sizes(panels: Mapping[str, Mapping[str, Sizes]], latents: int) -> Figure:
    """Left what a local decoder leaves, right what the released code prints, a dot a run.

    The curve is what is to be expected of a layer that was never fitted: P = (sum of the latents'
    variances + 1 for the bias) / (3 latents), squared, with A left out.

    Args:
        panels: By data set and model.
        latents: How many there are.
    """
    if not any(panels.values()):
        raise ValueError("panels must hold at least one model, got none")
    figure = Figure(figsize=(7.4, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True)
    models = list(dict.fromkeys(name for columns in panels.values() for name in columns))
    for marker, columns in zip(MARKERS, panels.values(), strict=False):
        for name, each in columns.items():
            colour = COLOURS[models.index(name)]
            _dots(left, each.noise, each.residual, marker, colour)
            _dots(right, each.noise, each.released, marker, colour)
    largest = max(each.noise.max() for columns in panels.values() for each in columns.values())
    noise = np.linspace(0, 1.05 * largest, 100)
    right.plot(noise, ((noise + 1) / (3 * latents)) ** 2, color=GREY, lw=1, zorder=0)
    left.set_ylabel("relative residual, tanh")
    left.set_title("like for like", fontsize=9)
    right.set_ylabel("number printed for the linear fit")
    right.set_title("released code", fontsize=9)
    for axes in (left, right):
        axes.set_xlabel(f"sum of the {latents} posterior variances")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
    key = [_mark("o", colour, name) for colour, name in zip(COLOURS, models, strict=False)]
    key += [_mark(m, BLACK, name) for m, name in zip(MARKERS, panels, strict=False)]
    key.append(Line2D([], [], color=GREY, lw=1, label="never fitted"))
    figure.legend(handles=key, loc="outside lower center", ncols=-(-len(key) // 2))
    return figure


def _dots(
    axes: Axes, x: Float[np.ndarray, "s"], y: Float[np.ndarray, "s"], marker: str, colour: str
) -> None:
    axes.plot(x, y, marker, color=colour, markersize=5, alpha=0.7, markeredgewidth=0)


def _mark(marker: str, colour: str, name: str) -> Line2D:
    return Line2D([], [], color=colour, marker=marker, linestyle="", markersize=5, label=name)
