"""Contact sheets, traversals and latent squares."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from unpick.data import Dataset
from unpick.plots.style import BLUE, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 25  # of a drawn line; more would only make the file larger


def contact_sheet(dataset: Dataset, columns: int = 12, seed: int = 0) -> Figure:
    """Show a data set: a row for each factor varied alone, then random observations."""
    generator = torch.Generator().manual_seed(seed)
    if len(dataset.shape) != 3:
        return point_cloud(dataset)
    rows: list[tuple[str, Tensor]] = []
    if dataset.is_grid:
        for k, factor in enumerate(dataset.factors):
            base = torch.randint(len(dataset), (1,), generator=generator)
            places = dataset.positions(base).repeat(columns, 1)
            places[:, k] = torch.linspace(0, factor.size - 1, columns).round().long()
            rows.append((factor.name, dataset.index_of(places)))
    for _ in range(3):
        rows.append(("random", torch.randint(len(dataset), (columns,), generator=generator)))
    images = torch.stack([dataset.observe(indices) for _, indices in rows])
    return image_grid(images, [name for name, _ in rows], title=f"{dataset.name}")


def image_grid(
    images: Float[Tensor, "rows columns c h w"], labels: Sequence[str], title: str = ""
) -> Figure:
    """Rows of images, each row with a label at its left."""
    rows, columns = images.shape[:2]
    picture = tile(torch.nn.functional.pad(images, (1, 1, 1, 1), value=0.5))
    figure = Figure(figsize=(1.2 + 0.75 * columns, 0.4 + 0.75 * rows), layout="constrained")
    axes = figure.subplots()
    axes.imshow(picture, cmap="gray", vmin=0, vmax=1)
    side = picture.shape[0] / rows
    axes.set_yticks(side * (np.arange(rows) + 0.5), labels)
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title(title)
    return figure


def tile(images: Float[Tensor, "rows columns c h w"]) -> Float[np.ndarray, "height width *c"]:
    """Tile images into one picture for matplotlib; grey ones lose their channel axis."""
    whole = images.permute(0, 3, 1, 4, 2).flatten(2, 3).flatten(0, 1).clamp(0, 1).numpy()
    return whole[..., 0] if images.shape[2] == 1 else whole


def point_cloud(dataset: Dataset) -> Figure:
    """A point cloud in its first two or three coordinates, coloured by each of its factors."""
    rows = torch.arange(min(len(dataset), 5000))
    x = dataset.observe(rows).flatten(1)
    if x.shape[1] < 2:
        raise ValueError(f"a picture needs two values an observation, {dataset.name} has one")
    names = [factor.name for factor in dataset.factors] or [""]
    values = dataset.factor_values(rows) if dataset.factors else torch.zeros(len(x), 1)
    solid = x.shape[1] > 2
    figure = Figure(figsize=(4.2 * len(names), 4), layout="constrained")
    for k, name in enumerate(names):
        options = {"projection": "3d"} if solid else {"aspect": "equal"}
        axes = figure.add_subplot(1, len(names), k + 1, **options)
        axes.scatter(*x.T[: 3 if solid else 2], c=values[:, k], cmap="viridis", s=2)  # type: ignore[misc]
        axes.set(
            **{
                f"{axis}label": dataset.columns[j] if dataset.columns else f"value {j + 1}"
                for j, axis in enumerate("xyz"[: x.shape[1]])
            }
        )
        axes.set_title(f"{dataset.name}: {name}" if name else dataset.name)
    return figure


def latent_squares(
    codes: Mapping[str, Float[Tensor, "s n 2"]], square: Float[Tensor, "n 2"]
) -> Figure:
    """The unit square in latent space: its coordinate lines, a row a method, a column a seed.

    Lines along the first factor are blue, along the second orange; an aligned latent space
    shows them parallel to the axes.
    """
    columns = min(5, *(len(each) for each in codes.values()))
    figure = Figure(figsize=(2.1 * columns + 0.6, 2.15 * len(codes) + 0.4), layout="constrained")
    grid = figure.subplots(len(codes), columns, squeeze=False)
    for k, (method, members) in enumerate(codes.items()):
        for s, axes in enumerate(grid[k]):
            for factor, colour in ((0, BLUE), (1, ORANGE)):
                coordinate_lines(axes, members[s], square, factor, colour)
            axes.set_aspect("equal", adjustable="datalim")
            axes.set_xticks([])
            axes.set_yticks([])
            if k == 0:
                axes.set_title(f"seed {s}", fontsize=9)
        grid[k, 0].set_ylabel(method)
    return figure


def coordinate_lines(
    axes: "Axes",
    codes: Float[Tensor, "n 2"],
    square: Float[Tensor, "n 2"],
    factor: int,
    colour: str,
    lines: int = 9,
) -> None:
    """Draw lines in latent space along which `factor` varies and the other one is fixed."""
    other = 1 - factor
    for level in np.linspace(0.05, 0.95, lines):
        near = (square[:, other] - level).abs() < 0.003
        order = square[near, factor].argsort()
        some = torch.linspace(0, len(order) - 1, min(len(order), POINTS)).round().long()
        line = codes[near][order][some]
        axes.plot(line[:, 0], line[:, 1], color=colour, linewidth=0.8)


def traversals(
    images: Float[Tensor, "d columns c h w"], deviations: Sequence[float], active: Sequence[bool]
) -> Figure:
    """Decoded images as one latent moves at a time; latents in order of importance."""
    labels = [
        f"latent {k + 1}\n" + (f"sd {sd:.2f}" if on else f"sd {sd:.2f}, passive")
        for k, (sd, on) in enumerate(zip(deviations, active, strict=True))
    ]
    title = "one latent from -2 to 2 prior deviations, the others at one image's code"
    return image_grid(images, labels, title)
