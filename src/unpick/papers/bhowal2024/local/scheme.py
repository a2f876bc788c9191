"""Figure 3 of Bhowal et al. (2024): linear and nonlinear parts of encoder and decoder, in 2D."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.optimize import minimize_scalar

from unpick.geometry import decoder_jacobians
from unpick.plots.style import BLACK, BLUE, GREY, ORANGE
from unpick.study.study import Results
from unpick.theory.columns import plane_turn

Array = np.ndarray
Step = tuple[str, Callable[[Array], Array]]  # its name, and what it does to points
AXES, LENGTHS = plane_turn(2, 0, 1, np.pi / 6), np.array([0.9, 0.4])  # of the data: U and Sigma
POINTS = 400


def squash(y: Float[Array, "... 2"]) -> Float[Array, "... 2"]:
    """g_D: shrinks by tanh of the length, in every direction alike."""
    length = np.linalg.norm(y, axis=-1, keepdims=True) + 1e-12
    return y * np.tanh(length) / length


def stretch(x: Float[Array, "... 2"]) -> Float[Array, "... 2"]:
    """The inverse of `squash`."""
    length = np.linalg.norm(x, axis=-1, keepdims=True) + 1e-12
    return x * np.arctanh(np.minimum(length, 1 - 1e-9)) / length


def find_turn() -> float:
    """The turn of the latents that noise costs least, in degrees: that of V_D.

    Codes N(0, I) may be turned without a change of the data. With the best noise at a given KL
    the stochastic loss goes with the product of the column lengths of the decoder's Jacobian
    (lemma 5), here averaged in logarithms over codes and searched over angles.
    """
    z = np.random.default_rng(0).normal(size=(POINTS, 2))
    matrix = torch.from_numpy(AXES * LENGTHS)

    def decode(z: torch.Tensor) -> torch.Tensor:
        y = z @ matrix.T
        length = y.norm(dim=1, keepdim=True)
        return y * length.tanh() / length

    jacobians = decoder_jacobians(decode, torch.from_numpy(z)).numpy()

    def cost(degrees: float) -> float:
        columns = jacobians @ plane_turn(2, 0, 1, np.radians(degrees))
        return float(np.log(np.linalg.norm(columns, axis=1)).sum(1).mean())

    found = minimize_scalar(cost, bounds=(-45, 45), method="bounded", options={"xatol": 1e-6})
    return float(found.x)


def draw_scheme(results: Results) -> Figure:
    """Figure 3: a cloud and the latents' axes, step by step through encoder and decoder."""
    degrees = find_turn()
    turn = plane_turn(2, 0, 1, np.radians(degrees))
    decoder: tuple[Step, ...] = (
        (r"codes $z$", lambda z: z),
        (rf"$V_D^T$: {abs(degrees):.1f}°", lambda z: z @ turn),
        (r"$\Sigma_D$", lambda z: z * LENGTHS),
        (r"$U_D$", lambda z: z @ AXES.T),
        (r"data: $g_D$", squash),
    )
    encoder: tuple[Step, ...] = (
        (r"data $x$", lambda x: x),
        (r"$V_E^T$", lambda x: x @ AXES),
        (r"$\Sigma_E$", lambda x: x / LENGTHS),
        (rf"$U_E$: {abs(degrees):.1f}°", lambda x: x @ turn.T),
        (r"codes: $g_E$", lambda x: stretch(x @ turn * LENGTHS) / LENGTHS @ turn.T),
    )
    codes = np.random.default_rng(0).normal(size=(POINTS, 2))
    lines = np.linspace(-2, 2, 41)[:, None, None] * np.eye(2)  # along either latent
    figure = Figure(figsize=(8.6, 4.1), layout="constrained")
    above, below = figure.subplots(2, len(decoder))
    ends = _row(list(below), "decoder", decoder, (codes, lines))
    _row(list(above), "encoder", encoder, ends)
    return figure


def _row(
    row: Sequence[Axes], name: str, steps: tuple[Step, ...], points: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Draw every step; return where cloud and lines end."""
    row[0].set_ylabel(name, fontweight="bold")
    for axes, (title, step) in zip(row, steps, strict=True):
        points = step(points[0]), step(points[1])
        _panel(axes, *points, title)
    for axes in row[1:]:
        look: dict[str, Any] = {"arrowstyle": "-|>", "color": BLACK, "linewidth": 1.2}
        axes.annotate("", (0.02, 0.5), (-0.18, 0.5), xycoords="axes fraction", arrowprops=look)
    return points


def _panel(
    axes: Axes, cloud: Float[Array, "n 2"], lines: Float[Array, "k 2 2"], title: str
) -> None:
    """A cloud, and what became of the latents' axes: blue the first, orange the second."""
    axes.plot(*cloud.T, ".", color=GREY, markersize=2, alpha=0.6, rasterized=True)
    for k, colour in enumerate((BLUE, ORANGE)):
        axes.plot(*lines[:, k].T, color=colour, linewidth=2)
    reach = 1.08 * max(np.abs(lines).max(), np.quantile(np.abs(cloud), 0.995))
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", title=title)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set(visible=True, color=GREY, linewidth=0.5)
