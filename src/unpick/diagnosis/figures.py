"""Pictures of a model: reconstructions, traversals, Jacobian columns, directions, variances."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from unpick.diagnosis.local import Examined
from unpick.diagnosis.result import Diagnosis
from unpick.geometry.orthogonality import nearest_signed_permutation
from unpick.geometry.singular import singular_directions
from unpick.plots import BLUE, ORANGE, image_grid
from unpick.probe import Probe

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 12  # latents, at most
SHOWN_IN_MAPS = 24  # the same, where each is a row of numbers
SHOWN_AS_MARKS = 64  # the same, where each is a mark
STEPS = 9  # of a traversal
PAIRS = 10  # of observations and reconstructions


def reconstructions(examined: Examined) -> Figure:
    """Some observations, drawn at random, and what the model makes of them."""
    probe = examined.probe
    chosen = torch.randperm(len(probe), generator=torch.Generator().manual_seed(2))[:PAIRS]
    part = probe.at(chosen)
    both = torch.stack([part.observations.float(), part.reconstructions])
    images = as_images(both.flatten(0, 1))
    if images is not None:
        shown = _shown(probe, images).unflatten(0, both.shape[:2])
        return image_grid(shown, ["x", "reconstruction"])
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    axes = figure.subplots()
    for colour, label, lines in zip((BLUE, ORANGE), ("x", "reconstruction"), both, strict=True):
        for line in lines[:3].flatten(1):
            axes.plot(line, color=colour, marker=".", linewidth=0.8, label=label)
            label = "_again"
    axes.set_xlabel("coordinate, of three observations")
    axes.legend(fontsize=8)
    return figure


def traversals(examined: Examined, diagnosis: Diagnosis) -> Figure:
    """One latent at a time from -2 to 2 deviations about a typical code, important ones first."""
    probe, locations = examined.probe, examined.model.locations
    order, mean = diagnosis.order[:SHOWN], probe.mean
    typical = (mean - mean.mean(0)).square().sum(1).argmin()
    reach = mean.std(0, correction=0)
    if probe.variance is not None:
        reach = reach.clamp(min=1.0)  # the prior's, so that passive latents are moved as well
    z = mean[typical].repeat(len(order), STEPS, 1)
    steps = torch.linspace(-2, 2, STEPS).to(z)[:, None]
    for row, latent in enumerate(order):
        some = slice(latent * locations, (latent + 1) * locations)  # a channel at all locations
        z[row, :, some] += steps * reach[some]
    parts = [probe.decoder(part).float() for part in z.flatten(0, 1).split(probe.batch)]
    moved = torch.cat(parts).reshape(len(order), STEPS, *probe.shape)
    labels = [_label(examined, diagnosis, latent) for latent in order]
    images = as_images(moved.flatten(0, 1))
    if images is not None:
        return image_grid(_shown(probe, images).unflatten(0, (len(order), STEPS)), labels)
    if moved[0, 0].numel() <= 3:
        return _curves(probe, moved.flatten(2), labels)
    return _lines(moved.flatten(2), labels)


def _curves(probe: Probe, moved: Float[Tensor, "d steps p"], labels: Sequence[str]) -> Figure:
    """Traversals as curves among the observations, in the first two coordinates."""
    figure = Figure(figsize=(5.5, 5), layout="constrained")
    axes = figure.subplots()
    cloud = probe.observations.flatten(1)
    axes.scatter(cloud[:, 0], cloud[:, -1 if cloud.shape[1] == 1 else 1], s=3, color="#bbbbbb")
    for curve, label in zip(moved, labels, strict=True):
        points = (curve[:, 0], curve[:, -1 if curve.shape[1] == 1 else 1])
        axes.plot(*points, marker=".", label=label.replace("\n", ", "))
    axes.set_xlabel("first coordinate")
    axes.set_ylabel("second coordinate")
    axes.legend(fontsize=8)
    return figure


def _lines(moved: Float[Tensor, "d steps p"], labels: Sequence[str]) -> Figure:
    """Traversals of vectors: every step a line over the coordinates."""
    figure = Figure(figsize=(9, 1.1 * len(moved) + 0.5), layout="constrained")
    grid = figure.subplots(len(moved), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, steps, label in zip(grid, moved, labels, strict=True):
        for k, line in enumerate(steps):
            shade = k / (len(steps) - 1)
            axes.plot(line, color=(shade, 0.35, 1 - shade), linewidth=0.8)
        axes.set_ylabel(label, rotation=0, ha="right", va="center", fontsize=8)
    grid[-1].set_xlabel("coordinate of x; blue is -2 deviations, red 2")
    return figure


def jacobian_columns(examined: Examined, diagnosis: Diagnosis) -> Figure:
    """What a small step along each latent changes, at a few observations: blue less, red more."""
    probe, local = examined.probe, examined.local
    assert local is not None
    order = diagnosis.order[:SHOWN]
    columns = local.jacobians[:, :, list(order)].mT
    images = as_images(columns.reshape(-1, *probe.shape))
    names = [_label(examined, diagnosis, latent).split("\n")[0] for latent in order]
    if images is None:
        figure = Figure(figsize=(9, 1 + 0.3 * len(order)), layout="constrained")
        axes = figure.subplots()
        _heat(axes, columns[0], names, diverging=True)
        axes.set_xlabel("coordinate of x, at the first observation")
        return figure
    images = images.mean(1).unflatten(0, columns.shape[:2])  # colours together
    inputs = as_images(probe.observations[local.rows[: len(columns)]])
    assert inputs is not None
    inputs = _shown(probe, inputs)
    height = 0.95 * len(columns) + 0.4
    figure = Figure(figsize=(0.95 * (len(order) + 1), height), layout="constrained")
    grid = figure.subplots(len(columns), len(order) + 1, squeeze=False)
    for row, (x, pictures) in enumerate(zip(inputs, images, strict=True)):
        shown = x.permute(1, 2, 0).clamp(0, 1).numpy()
        grid[row, 0].imshow(shown if len(x) == 3 else shown[..., 0], cmap="gray")
        limit = float(pictures.abs().max()) or 1.0
        for axes, picture in zip(grid[row, 1:], pictures, strict=True):
            axes.imshow(picture.numpy(), cmap="RdBu_r", vmin=-limit, vmax=limit)
    for axes, name in zip(grid[0], ["x", *names], strict=True):
        axes.set_title(name, fontsize=8)
    for axes in grid.flat:
        axes.set_xticks([])
        axes.set_yticks([])
    return figure


def direction_heat_map(examined: Examined, diagnosis: Diagnosis) -> Figure:
    """Mean |V|: each singular direction, given to its nearest latent, as a mixture of latents."""
    active, local = diagnosis.active, examined.local
    assert local is not None
    mixed = torch.zeros(int(active.sum()), int(active.sum())).double()
    for part in local.gram.split(16):
        _, v = singular_directions(part[:, active][:, :, active])
        mixed += (v @ nearest_signed_permutation(v).mT).abs().sum(0) / len(local.gram)
    places = {latent: k for k, latent in enumerate(active.nonzero().flatten().tolist())}
    chosen = [k for k in diagnosis.order if k in places][:SHOWN_IN_MAPS]
    rows = torch.tensor([places[k] for k in sorted(chosen)])
    mixed, names = mixed[rows][:, rows], [str(k) for k in sorted(chosen)]
    figure = Figure(
        figsize=(1.6 + 0.5 * len(names), 1.3 + 0.45 * len(names)), layout="constrained"
    )
    axes = figure.subplots()
    _heat(axes, mixed, names)
    axes.set_xticks(range(len(names)), names)
    axes.set_xlabel("singular direction nearest to latent")
    axes.set_ylabel("latent")
    for i, j in torch.ones_like(mixed).nonzero().tolist() if len(names) <= SHOWN else ():
        value = float(mixed[i, j])
        colour = "white" if value > 0.6 else "black"
        axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=7, color=colour)
    return figure


def variance_spectrum(examined: Examined, diagnosis: Diagnosis) -> Figure:
    """Posterior variances, most precise first, beside the optimal ones for this decoder."""
    local = examined.local
    assert local is not None
    assert local.variance is not None
    order = list(diagnosis.order)[:SHOWN_AS_MARKS]
    chosen = local.variance[:100_000, order]
    low, middle, high = chosen.quantile(torch.tensor([0.1, 0.5, 0.9]).double(), dim=0)
    figure = Figure(figsize=(6.5, 3.6), layout="constrained")
    axes = figure.subplots()
    places = range(len(order))
    axes.vlines(places, low, high, color=BLUE, linewidth=4, alpha=0.4)
    axes.plot(places, middle, "o", color=BLUE, label="encoder: median, 10 to 90 % of observations")
    if diagnosis.optimal_variance is not None:
        optimal = diagnosis.optimal_variance[:, order].median(0).values
        axes.plot(places, optimal, "_", color=ORANGE, markersize=16, markeredgewidth=2)
        axes.plot([], [], "_", color=ORANGE, label="optimal for this decoder: median")
    axes.axhline(1, color="#888888", linewidth=0.8)
    axes.set_yscale("log")
    axes.set_ylim(bottom=min(0.1, axes.get_ylim()[0]))  # a decade at least, for readable ticks
    axes.set_xticks(places, [str(k) for k in order], fontsize=10 if len(order) <= 24 else 5)
    axes.set_xlabel(f"{examined.noun}, most precise first")
    axes.set_ylabel("posterior variance (prior: 1)")
    axes.legend(fontsize=8)
    return figure


def information_map(
    matrix: Float[Tensor, "d k"], names: Sequence[str], order: Sequence[int]
) -> Figure:
    """Which latents hold information on which factors."""
    chosen = sorted(order[:SHOWN_IN_MAPS])
    matrix = matrix[chosen]
    figure = Figure(
        figsize=(2 + 0.6 * matrix.shape[1], 1.2 + 0.35 * len(matrix)), layout="constrained"
    )
    axes = figure.subplots()
    _heat(axes, matrix, [str(k) for k in chosen])
    # Names are the user's: a dollar in one begins no formula.
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right", parse_math=False)
    axes.set_ylabel("latent")
    return figure


def location_map(examined: Examined, diagnosis: Diagnosis) -> Figure:
    """What each location holds, and how far its axes are from the singular directions."""
    local, (_, height, width) = examined.local, examined.model.latent_shape
    assert local is not None
    maps: dict[str, Tensor] = {}
    if local.variance is not None:
        kl = (local.mean.square() + local.variance - local.variance.log() - 1).sum(1) / 2
        maps["KL, nats"] = kl.reshape(-1, height * width).mean(0)
    else:
        spread = local.mean.unflatten(0, (-1, height * width)).std(0).norm(dim=1)
        maps["deviation of the means"] = spread
    if diagnosis.axes is not None:
        distances = diagnosis.axes.distance.per_sample / diagnosis.axes.distance.chance
        total = torch.zeros(height * width).double().index_add_(0, local.places, distances)
        count = torch.bincount(local.places, minlength=height * width)
        maps["distance / chance"] = total / count
    figure = Figure(figsize=(3.6 * len(maps), 3.2), layout="constrained")
    for axes, (title, values) in zip(
        figure.subplots(1, len(maps), squeeze=False)[0], maps.items(), strict=True
    ):
        drawn = axes.imshow(values.reshape(height, width).numpy(), cmap="viridis_r")
        axes.set_title(title, fontsize=9)
        figure.colorbar(drawn, ax=axes, shrink=0.8)
    return figure


def as_images(x: Float[Tensor, "n ..."]) -> Float[Tensor, "n c h w"] | None:
    """Observations as images, channels first, if that is what they look like."""
    shape = x.shape[1:]
    if len(shape) == 2 and min(shape) > 3:
        return x[:, None]
    if len(shape) == 3 and shape[0] in (1, 3):
        return x
    if len(shape) == 3 and shape[2] in (1, 3):
        return x.permute(0, 3, 1, 2)
    return None


def _shown(probe: Probe, images: Float[Tensor, "n c h w"]) -> Float[Tensor, "n c h w"]:
    """Pixels between 0 and 1, whatever the range of x."""
    x = probe.observations
    low, high = min(0.0, float(x.min())), max(1.0, float(x.max()))
    return (images - low) / (high - low)


def _label(examined: Examined, diagnosis: Diagnosis, latent: int) -> str:
    state = "" if diagnosis.active[latent] else "\npassive"
    if diagnosis.regime is None:
        return f"{examined.noun} {latent}{state}"
    variance = float(diagnosis.regime.mean_variance[latent])
    return f"{examined.noun} {latent}\n$\\sigma^2$ = {variance:.2g}" + state.replace("\n", ", ")


def _heat(
    axes: "Axes", matrix: Float[Tensor, "a b"], rows: Sequence[str], diverging: bool = False
) -> None:
    limit = float(matrix.abs().max()) or 1.0
    if diverging:
        low, high, colours = -limit, limit, "RdBu_r"
    else:
        low, high, colours = 0.0, max(1.0, limit), "viridis_r"
    shown = axes.imshow(matrix.numpy(), cmap=colours, vmin=low, vmax=high, aspect="auto")
    axes.set_yticks(range(len(rows)), rows)
    axes.figure.colorbar(shown, ax=axes, shrink=0.8)
