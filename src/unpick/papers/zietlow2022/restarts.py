"""Figures 3.4 and 3.5: restarts of one method."""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from unpick.plots.images import coordinate_lines
from unpick.plots.style import BLACK, BLUE, COLOURS, GREY, ORANGE

MARKERS = "osD^vP*"
RESTARTS = 4  # of a row of squares, at most
AVERAGED = 6  # points of a coordinate line


def restarts(
    groups: Mapping[str, tuple[Float[np.ndarray, "_"], Float[np.ndarray, "_"]]],
    published: Sequence[tuple[float, float, str]] = (),
    note: str = "",
) -> Figure:
    """Distance to orthogonality against disentanglement, a point a restart.

    After Zietlow (2022), figure 3.4.

    Args:
        groups: Distances and scores of runs that belong together, by their name.
        published: A distance, a score and what they are; drawn as hollow crosses.
        note: Stands above, so that it covers no point.
    """
    if not groups:
        raise ValueError("groups must hold at least one, got none")
    if len(groups) > len(MARKERS):
        raise ValueError(f"groups must be {len(MARKERS)} at most, got {len(groups)}")
    figure = Figure(figsize=(5.2, 4.2), layout="constrained")
    axes = figure.subplots()
    x = np.concatenate([distances for distances, _ in groups.values()])
    y = np.concatenate([scores for _, scores in groups.values()])
    if len(x) > 2 and np.ptp(x) > 0:
        line = np.polynomial.Polynomial.fit(x, y, 1)
        ends = np.array([x.min(), x.max()])
        axes.plot(ends, line(ends), color=GREY, linewidth=5, alpha=0.25, zorder=0)
    drawn = zip(groups.items(), MARKERS, COLOURS, strict=False)
    for (name, (distances, scores)), marker, colour in drawn:
        axes.scatter(
            distances,
            scores,
            s=34,
            marker=marker,
            color=colour,
            alpha=0.8,
            linewidth=0.4,
            edgecolor="white",
            label=name,
        )
    for (distance, score, name), marker in zip(published, itertools.cycle("XP"), strict=False):
        axes.scatter(
            distance,
            score,
            s=80,
            marker=marker,
            facecolor="none",
            edgecolor=BLACK,
            linewidth=1.1,
            label=name,
        )
    axes.set_xlabel("distance to orthogonality (0 is aligned)")
    axes.set_ylabel("disentanglement score")
    axes.set_title(note, fontsize="medium", loc="left")
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def degenerate_squares(
    square: Float[Tensor, "n 2"], codes: Mapping[str, Float[Tensor, "_ n 2"]]
) -> Figure:
    """The square of two factors, and below where encoders of several restarts put it.

    After Zietlow (2022), figure 3.5. All latent spaces are drawn to one scale.

    Args:
        square: Factors, in the unit square; coordinate lines need some 20 000 points.
        codes: Latents of each restart, by what was changed in the data; four are drawn.
    """
    if not codes:
        raise ValueError("codes must hold at least one row of restarts, got none")
    columns = min(RESTARTS, *(len(each) for each in codes.values()))
    figure = Figure(figsize=(1.7 * columns + 0.7, 1.75 * len(codes) + 2.5), layout="constrained")
    parts = figure.subfigures(2, 1, squeeze=False, height_ratios=(1.2, len(codes)))[:, 0]
    top = parts[0].subplots()
    _lines(top, square, square)
    top.set_title("the data's two factors")
    top.set_xlabel("first factor", color=BLUE)
    top.set_ylabel("second factor", color=ORANGE)
    grid = parts[1].subplots(len(codes), columns, squeeze=False)
    reach = max(float(each[:columns].abs().max()) for each in codes.values()) * 1.05
    for k, (name, members) in enumerate(codes.items()):
        for s in range(columns):
            axes = grid[k, s]
            _lines(axes, members[s], square)
            axes.set(xlim=(-reach, reach), ylim=(-reach, reach))
            if k == 0:
                axes.set_title(f"restart {s + 1}", fontsize=9)
            if s == 0:
                axes.set_ylabel(name)
    return figure


def _lines(axes: Axes, codes: Float[Tensor, "n 2"], square: Float[Tensor, "n 2"]) -> None:
    for factor, colour in ((0, BLUE), (1, ORANGE)):
        coordinate_lines(axes, codes, square, factor, colour)
    # A line is a narrow band of random points: means of neighbours are smooth, and fewer.
    for line in axes.lines:
        points = np.asarray(line.get_xydata())
        parts = np.array_split(points, max(2, len(points) // AVERAGED))
        means = [part.mean(0) for part in parts]
        line.set_data(*np.transpose([points[0], *means, points[-1]]))
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set(visible=True, color=GREY, linewidth=0.5)
