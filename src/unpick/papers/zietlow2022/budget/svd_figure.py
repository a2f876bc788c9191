"""Figure 2.4: what the three parts of an SVD do, in a decoder and in its encoder."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from unpick.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE

Array = np.ndarray
ENCODER = ("turn: $U^T$", r"stretch: $\Sigma^\dagger$", "turn: $V$")
DECODER = ("turn: $U$", r"stretch: $\Sigma$", "turn: $V^T$")
POINTS = 250


def singular_steps(m: Float[Array, "2 2"]) -> Figure:
    """A decoder and its encoder in three steps each: turn, stretch along the axes, turn.

    After Zietlow (2022), figure 2.4: the encoder goes from left to right, the decoder back.
    """
    reach = float(np.linalg.norm(m, 2))
    gap = 2.15 * reach
    figure = Figure(figsize=(7.6, 3.3), layout="constrained")
    axes = figure.subplots()
    for k, (name, step) in enumerate(stages(m).items()):
        _stage(axes, k * gap, step, m)
        axes.text(k * gap, -1.1 * reach, name, ha="center", va="top")
    for k, (there, back) in enumerate(zip(ENCODER, DECODER, strict=True)):
        middle = (k + 0.5) * gap
        _arrow(axes, k * gap, (k + 1) * gap, 1.1 * reach)
        axes.text(middle, 1.4 * reach, there, ha="center", va="bottom")
        _arrow(axes, (k + 1) * gap, k * gap, -1.6 * reach)
        axes.text(middle, -1.9 * reach, back, ha="center", va="top")
    axes.text(0, 1.4 * reach, "encoder", ha="center", va="bottom", weight="bold")
    axes.text(3 * gap, -1.9 * reach, "decoder", ha="center", va="top", weight="bold")
    axes.set(xlim=(-1.1 * reach, 3 * gap + 1.1 * reach), ylim=(-2.4 * reach, 1.9 * reach))
    axes.set_aspect("equal")
    axes.set_axis_off()
    return figure


def stages(m: Float[Array, "2 2"]) -> Mapping[str, Float[Array, "2 2"]]:
    """What codes have become at each stage, from the data to the codes."""
    _, values, vt = np.linalg.svd(m)
    # Signs are free: the first turn is one by less than 90 degrees, and no reflection.
    signs = np.sign(vt[0, 0]) * np.array([1, np.sign(np.linalg.det(vt))])
    vt = signs[:, None] * vt
    return {
        "data $x$": m,
        "$U^T x$": np.diag(values) @ vt,
        r"$\Sigma^\dagger U^T x$": vt,
        r"codes $z$": np.eye(2),
    }


def _stage(axes: Axes, x: float, step: Float[Array, "2 2"], m: Float[Array, "2 2"]) -> None:
    """The cloud, the unit circle, the singular directions and the latent axes at one stage."""
    place = np.array([[x], [0.0]])
    draw = np.random.default_rng(0)
    angle = np.linspace(0, 2 * np.pi, 200)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    angle, radius = draw.uniform(0, 2 * np.pi, POINTS), np.sqrt(draw.uniform(size=POINTS))
    cloud = radius * np.stack([np.cos(angle), np.sin(angle)])  # uniform in the disc
    axes.plot(*(place + step @ cloud), ".", color=GREY, markersize=2, alpha=0.6)
    axes.plot(*(place + step @ circle), color=BLACK, linewidth=1.2)
    for direction in np.linalg.svd(m)[2]:
        ends = step @ np.stack([-direction, direction], axis=1)
        axes.plot(*(place + ends), color=GREEN, linestyle=":", linewidth=1.8)
    for column, colour in zip(step.T, (BLUE, ORANGE), strict=True):
        look = {"arrowstyle": "-|>", "color": colour, "linewidth": 2.2, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (x + column[0], column[1]), (x, 0), arrowprops=look)


def _arrow(axes: Axes, start: float, end: float, height: float) -> None:
    """A bent arrow from one stage to the next."""
    look = {"arrowstyle": "-|>", "color": BLACK, "shrinkA": 12, "shrinkB": 12}
    look["connectionstyle"] = "arc3,rad=-0.15"
    axes.annotate("", (end, height), (start, height), arrowprops=look)
