"""Figures of local decoders: one change in pictures, and errors by the width of posteriors."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from torch import Tensor

from unpick.data import Dataset
from unpick.geometry import fit_local_decoder
from unpick.plots.comparison import ComparedValues
from unpick.plots.images import tile
from unpick.plots.restart_scores import grouped_scores
from unpick.plots.style import BLACK, COLOURS, GREY
from unpick.probe import probe_run
from unpick.runs import Run
from unpick.study.study import Results

MARKERS = "osD^v"
SHOWN = {
    "Jacobian": "Jacobian",
    "linear": "line",
    "nonlinear": "tanh",
    "even": "no odd map can leave less",
}
PICTURED = 0  # the test observation that is pictured


@dataclass(frozen=True, eq=False)
class PicturedChange:
    """The effect of one draw of the posterior's noise on a decoded image.

    Attributes:
        before: Dec(mu).
        after: Dec(z).
        maps: Approximations of Dec(z) - Dec(mu), by name.
    """

    before: Float[Tensor, "c h w"]
    after: Float[Tensor, "c h w"]
    maps: Mapping[str, Float[Tensor, "c h w"]]


def picture_changes(rows: Mapping[str, PicturedChange]) -> Figure:
    """A row a model: the images, their difference, and each map's approximation of it.

    Below each map: its residual, as a share of the squared change.

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
class NoiseAndErrors:
    """Runs of one model on one data set, a value a run.

    Attributes:
        noise: Sum of the latents' posterior variances.
        residual: Relative residual of a local decoder.
        released: The number that the released code prints.
    """

    noise: Float[np.ndarray, "s"]
    residual: Float[np.ndarray, "s"]
    released: Float[np.ndarray, "s"]


def errors_by_noise(panels: Mapping[str, Mapping[str, NoiseAndErrors]], latents: int) -> Figure:
    """Left the residual of a local decoder, right the released code's number; a dot a run.

    The curve is the expected number of a layer that was never fitted: P^2 with P = (sum of the
    latents' variances + 1 for the bias) / (3 latents); A is left out.

    Args:
        panels: By data set and model.
        latents: The number of latents.
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


def draw_errors(results: Results) -> Figure | None:
    """The residuals of local decoders, a panel a data set."""
    panels = {
        row: {
            column: [ComparedValues(name, outcome.values[key]) for key, name in SHOWN.items()]
            for column, outcome in columns.items()
        }
        for row, columns in results.rows().items()
    }
    return grouped_scores(panels, "relative residual") if panels else None


def draw_sizes(results: Results) -> Figure | None:
    """Errors against the width of the posterior, ours and the released code's."""
    names = ("noise", "nonlinear", "released linear")
    panels = {
        row: {
            column: NoiseAndErrors(*(outcome.values[name] for name in names))
            for column, outcome in columns.items()
        }
        for row, columns in results.rows().items()
    }
    if not panels:
        return None
    return errors_by_noise(panels, results.outcomes[0].cell.config.model.latents)


def draw_changes(row: str, results: Results) -> Figure | None:
    """One observation and one draw of white noise, for each model of a data set."""
    columns = results.rows().get(row)
    if not columns:
        return None
    dataset = next(iter(columns.values())).cell.config.data.load()
    return picture_changes(
        {name: picture_change(o.runs[0], dataset) for name, o in columns.items()}
    )


@torch.no_grad()
def picture_change(run: Run, dataset: Dataset) -> PicturedChange:
    """The change that noise makes to one observation, and each local decoder's approximation."""
    probe = probe_run(run, dataset, PICTURED + 1).at(torch.tensor([PICTURED]))
    decode, mean, variance = probe.decoder, probe.mean, probe.variance
    assert variance is not None
    white = torch.randn(mean.shape, generator=torch.Generator().manual_seed(0))
    noise = white * variance.sqrt()
    line, curved = (
        fit_local_decoder(decode, mean, variance.sqrt(), nonlinearity=f).matrices[0] @ noise[0]
        for f in ("linear", "tanh")
    )
    before, after = decode(mean)[0], decode(mean + noise)[0]
    maps = {
        "Jacobian": probe.jacobians[0] @ noise[0],
        "line": line,
        "tanh": curved.tanh(),
    }
    return PicturedChange(
        before, after, {name: each.view_as(before) for name, each in maps.items()}
    )
