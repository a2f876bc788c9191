"""Pictures of a forecast: lengths, pairs, what each factor saves, and where it acts."""

from typing import TYPE_CHECKING

import numpy as np
import torch
from matplotlib.figure import Figure

from unpick.data import Dataset
from unpick.forecasting.directions import Directions
from unpick.forecasting.phrases import factor_text
from unpick.forecasting.result import Forecast
from unpick.plots import BLUE, GREY, ORANGE, image_grid
from unpick.plots.style import GREEN, house_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 10  # images of a traversal
KINDS = {"ordered": BLUE, "periodic": GREEN, "categorical": GREY}


def draw_lengths(found: Forecast, directions: Directions) -> Figure:
    """The length of each factor's direction over the points."""
    names = [factor_text(found.factors[k]) for k in directions.columns]
    lengths = directions.gram.diagonal(dim1=1, dim2=2).sqrt()
    with house_style():
        figure = Figure(figsize=(6.4, 0.8 + 0.45 * len(names)), layout="constrained")
        axes = figure.subplots()
        axes.boxplot(
            list(lengths.T.numpy()),
            orientation="horizontal",
            tick_labels=names,
            showfliers=False,
            medianprops={"color": ORANGE},
        )
        axes.set_xlabel("length of the local direction, per standard deviation of the factor")
        axes.set_xlim(left=0)
        axes.invert_yaxis()
    return figure


def draw_pairs(found: Forecast) -> Figure:
    """Cosine, closeness of lengths, and confusion of each pair."""
    names = list(dict.fromkeys(name for p in found.pairs for name in (p.first, p.second)))
    at = {name: k for k, name in enumerate(names)}
    with house_style():
        side = 1.2 + 0.55 * len(names)
        figure = Figure(figsize=(3 * side, side + 0.4), layout="constrained")
        for axes, what, title in zip(
            figure.subplots(1, 3),
            ("cosine", "close", "confusion"),
            ("cosine of directions", "share with close lengths", "foretold confusion"),
            strict=True,
        ):
            matrix = np.full((len(names), len(names)), np.nan)
            for pair in found.pairs:
                k, j = at[pair.first], at[pair.second]
                matrix[k, j] = matrix[j, k] = getattr(pair, what)
            _matrix(axes, matrix, names)
            axes.set_title(title, fontsize=9)
    return figure


def _matrix(axes: "Axes", matrix: np.ndarray, names: list[str]) -> None:
    """Numbers from 0 to 1 as shades, written in."""
    axes.imshow(matrix, cmap="Blues", vmin=0, vmax=1)
    axes.set_xticks(range(len(names)), names, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    for (k, j), value in np.ndenumerate(matrix):
        if np.isfinite(value):
            colour = "white" if value > 0.6 else "#222222"
            axes.text(j, k, f"{value:.2f}", ha="center", va="center", fontsize=8, color=colour)


def draw_savings(found: Forecast) -> Figure:
    """What each factor saves per nat, with the betas to try."""
    assert found.betas is not None
    shown = sorted((f for f in found.factors if f.saving > 0), key=lambda f: f.saving)
    with house_style():
        figure = Figure(figsize=(6.4, 0.9 + 0.35 * len(shown)), layout="constrained")
        axes = figure.subplots()
        low, high = found.betas
        axes.axvspan(low, high, color=ORANGE, alpha=0.15, label="betas to try", linewidth=0)
        for k, factor in enumerate(shown):
            axes.plot(factor.saving, k, "o", color=KINDS[factor.kind])
        axes.hlines(
            range(len(shown)), low / 2, [f.saving for f in shown], color=GREY, linewidth=0.8
        )
        axes.set_yticks(range(len(shown)), [factor_text(f) for f in shown])
        axes.set_xscale("log")
        axes.set_xlabel("beta; a dot is what the factor saves per nat")
        axes.legend(loc="lower right")
    return figure


def draw_spectra(found: Forecast) -> Figure:
    """Global and local standard deviations."""
    with house_style():
        figure = Figure(figsize=(5.2, 3.2), layout="constrained")
        axes = figure.subplots()
        for label, colour, values in (
            ("all observations", GREY, found.spectra.global_deviations),
            ("at a point", BLUE, found.spectra.local_deviations),
        ):
            axes.plot(range(1, len(values) + 1), values, marker="o", color=colour, label=label)
        axes.set_xlabel("principal direction")
        axes.set_ylabel("standard deviation")
        axes.set_ylim(bottom=0)
        axes.legend()
    return figure


def draw_traversals(dataset: Dataset) -> Figure | None:
    """Each factor of an image data set moved alone; None unless it is a grid of images."""
    if not dataset.is_grid or len(dataset.shape) != 3 or dataset.shape[0] not in (1, 3):
        return None
    generator = torch.Generator().manual_seed(1)
    start = dataset.positions(dataset.sample(1, generator))
    rows = []
    for k, size in enumerate(dataset.sizes):
        places = start.repeat(COLUMNS, 1)
        places[:, k] = torch.linspace(0, size - 1, COLUMNS).round().long()
        rows.append(dataset.index_of(places))
    with house_style():
        return image_grid(dataset.observe(torch.stack(rows)), [f.name for f in dataset.factors])


def draw_power(found: Forecast, dataset: Dataset, directions: Directions) -> Figure | None:
    """Where in an image each factor acts; None unless observations are images."""
    if len(dataset.shape) != 3:
        return None
    power = directions.power.T.reshape(-1, *dataset.shape).mean(1).sqrt().numpy()
    names = [found.factors[k].name for k in directions.columns]
    with house_style():
        figure = Figure(figsize=(1.5 * len(names), 1.9), layout="constrained")
        for axes, image, name in zip(
            figure.subplots(1, len(names), squeeze=False)[0], power, names, strict=True
        ):
            axes.imshow(image, cmap="magma", vmin=0)
            axes.set_title(name, fontsize=9)
            axes.set_xticks([])
            axes.set_yticks([])
    return figure
