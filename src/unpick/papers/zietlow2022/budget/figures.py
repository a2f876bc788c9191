"""Precision as a budget: what noise costs along a decoder's columns, and how turning helps."""

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Ellipse, Polygon

from unpick.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE
from unpick.theory.columns import column_product, turned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = np.ndarray
ANGLES = np.linspace(-90.0, 90.0, 361)


def broken_symmetry(m: Float[Array, "p 2"], budget: float = 4.0, degrees: float = 35.0) -> Figure:
    r"""Posteriors in a latent space and in the same one turned, and what they cost.

    Each covariance has the determinant e^{-C} and is the best of its kind: diagonal, with
    \sigma_j^2 \propto 1/\|M_j\|^2, or full, \Sigma \propto (M^\top M)^{-1}.

    Args:
        m: A decoder; it is first turned to orthogonal columns.
        budget: C, the sum of -log sigma_j^2.
        degrees: By how much it is turned on the right.
    """
    _, values, vt = np.linalg.svd(m, full_matrices=False)
    straight = m @ vt.T
    figure = Figure(figsize=(5.2, 5.6), layout="constrained")
    axes = figure.subplot_mosaic("AB;CC", height_ratios=(1.1, 1))
    for key, angle in (("A", 0.0), ("B", degrees)):
        posteriors(axes[key], turned(straight, angle), angle, budget)
    axes["A"].set_title("axes along the\nsingular directions")
    axes["B"].set_title(f"the same latent space\nturned by {degrees:g}°")
    below, scale = axes["C"], 2 * np.exp(-budget / 2)
    cost = scale * np.array([column_product(turned(straight, a)) for a in ANGLES])
    below.plot(ANGLES, cost, color=BLUE, linewidth=2, label="best diagonal posterior")
    flat = np.full(len(ANGLES), scale * values.prod())
    below.plot(ANGLES, flat, color=ORANGE, linewidth=2, label="best full-covariance posterior")
    for angle in (0.0, degrees):
        height = scale * column_product(turned(straight, angle))
        below.plot(angle, height, "o", color=BLUE, markersize=7)
    below.set(
        xlabel="angle of the latent space (degrees)", ylabel="cost of the noise", ylim=(0, None)
    )
    below.set_xticks(np.arange(-90, 91, 45))
    below.legend(loc="upper center", bbox_to_anchor=(0.5, 1.2), ncols=2)
    return figure


def posteriors(axes: "Axes", m: Float[Array, "p 2"], degrees: float, budget: float) -> None:
    """Circles of the prior; at codes, the best diagonal (filled) and full (outlined) posterior."""
    for radius in (1, 2):
        axes.add_patch(Circle((0, 0), radius, fill=False, color=GREY, linewidth=0.8))
    area = np.exp(-budget / 2)
    norms = np.linalg.norm(m, axis=0)
    diagonal = np.diag(norms.prod() * area / norms**2)
    gram = m.T @ m
    full = np.linalg.inv(gram) * np.sqrt(np.linalg.det(gram)) * area
    row = np.array([[-1.6, 0], [-0.8, 0], [0, 0], [0.8, 0], [1.6, 0]])
    up = np.array([0, 1.5])
    codes = np.concatenate([row, row[1:4] + up, row[1:4] - up])
    for code in turned(codes, degrees):
        ellipse(axes, code, diagonal, facecolor=BLUE, alpha=0.45)
        ellipse(axes, code, full, edgecolor=ORANGE, facecolor="none", linewidth=1.6)
    axes.set(xlim=(-2.6, 2.6), ylim=(-2.6, 2.6), aspect="equal", xticks=[], yticks=[])
    axes.set(xlabel="first latent", ylabel="second latent")


def ellipse(
    axes: "Axes", centre: Float[Array, "2"], covariance: Float[Array, "2 2"], **look: object
) -> None:
    """One standard deviation about a mean."""
    values, vectors = np.linalg.eigh(covariance)
    angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
    width, height = 2 * np.sqrt(values[::-1])
    axes.add_patch(Ellipse(tuple(centre), width, height, angle=angle, **look))


def worked_example(
    m: Float[Array, "p 2"], budget: float, printed: float, degrees: float = 45.0
) -> Figure:
    r"""How a budget is best spent, and at which angle it goes furthest (Zietlow 2022, 3.2.4).

    Above, the cost \|M_1\|^2 e^{-p} + \|M_2\|^2 e^{-(C-p)} against the precision p that the first
    latent gets; below, the product of column lengths against the angle of the latent space.

    Args:
        m: The decoder.
        budget: C.
        printed: The least cost as the papers print it.
        degrees: The angle of the second decoder.
    """
    figure = Figure(figsize=(5.2, 5.8), layout="constrained")
    above, below = figure.subplots(2, 1)
    precision = np.linspace(-1.5, budget + 3.0, 400)
    for angle, colour, name in (
        (0.0, BLUE, "$M_1$"),
        (degrees, ORANGE, f"turned by {degrees:g}°"),
    ):
        squares = np.square(turned(m, angle)).sum(0)
        cost = squares[0] * np.exp(-precision) + squares[1] * np.exp(precision - budget)
        best = (budget + np.log(squares[0] / squares[1])) / 2
        least = 2 * np.sqrt(squares.prod()) * np.exp(-budget / 2)
        label = f"{name}: least {least:.2f}"
        above.plot(precision, cost, color=colour, linewidth=2, label=label)
        above.plot(best, least, "o", color=colour, markersize=7)
    above.axhline(
        printed, color=GREY, linestyle="--", label=f"least for $M_1$ as printed {printed:.2f}"
    )
    above.set(yscale="log", ylim=(printed / 2, 1000), ylabel="cost of the noise")
    above.set_xlabel(f"precision $-\\log\\,\\sigma_x^2$ of the first latent, of C = {budget:g}")
    above.legend(loc="upper center", fontsize="small")
    product_by_angle(below, m, degrees)
    return figure


def product_by_angle(axes: "Axes", m: Float[Array, "p 2"], degrees: float) -> None:
    """Product of column lengths as the latent space turns; least at the singular directions."""
    products = np.array([column_product(turned(m, a)) for a in ANGLES])
    axes.plot(ANGLES, products, color=BLACK, linewidth=2)
    for angle, colour, name, shift in (
        (0.0, BLUE, "$M_1$", (-16, 6)),
        (degrees, ORANGE, f"turned by {degrees:g}°", (-8, 2)),
    ):
        height = column_product(turned(m, angle))
        axes.plot(angle, height, "o", color=colour, markersize=7)
        look: dict[str, Any] = {"textcoords": "offset points", "ha": "right", "color": colour}
        axes.annotate(f"{name}: {height:.2f}", (angle, height), shift, **look)
    volume = float(np.linalg.svd(m, compute_uv=False).prod())
    best = ANGLES[products.argmin()]
    axes.axhline(volume, color=GREEN, linestyle="--")
    text = f"singular values multiply to {volume:.2f},\nreached where columns are orthogonal"
    axes.text(0, volume - 1, text, ha="center", va="top", color=GREEN)
    for angle in (best - 180, best - 90, best, best + 90):
        axes.plot(angle, volume, "o", color=GREEN, markersize=5)
    axes.set(xlabel="angle of the latent space (degrees)", ylabel="product of column lengths")
    axes.set(xlim=(-92, 92), ylim=(0, None), xticks=np.arange(-90, 91, 45))


def equal_volumes(m: Float[Array, "p 2"], degrees: float = 45.0) -> Figure:
    """The two columns of a decoder, turned and at their best, spanning the same area.

    They are drawn in the plane that they span.
    """
    u, _, vt = np.linalg.svd(m, full_matrices=False)
    figure = Figure(figsize=(5.2, 4.2), layout="constrained")
    pair = ((f"turned by {degrees:g}°", turned(m, degrees)), ("best angle", m @ vt.T))
    for axes, (name, columns) in zip(figure.subplots(2, 1), pair, strict=True):
        flat = (u.T @ columns).T
        corners = np.stack([np.zeros(2), flat[0], flat.sum(0), flat[1]])
        corners *= np.sign(corners.sum(0))  # to the right and upwards: areas stay the same
        axes.add_patch(Polygon(corners, facecolor=BLUE, alpha=0.15))
        for k, colour in ((1, BLUE), (3, ORANGE)):
            pointer(axes, corners[k], colour)
            text = f"$w_{(k + 1) // 2}$: {np.linalg.norm(corners[k]):.2f}"
            axes.annotate(text, corners[k], (5, 5), textcoords="offset points", color=colour)
        area = abs(np.linalg.det(flat))
        product = column_product(columns)
        axes.set_title(f"{name}: lengths multiply to {product:.2f}, area {area:.2f}")
        low, high = corners.min(0) - 0.3, corners.max(0) + np.array([1.5, 0.9])
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
        axes.set_axis_off()
    return figure


def pointer(axes: "Axes", tip: Float[Array, "2"], colour: str) -> None:
    """An arrow from the origin."""
    look = {"arrowstyle": "-|>", "color": colour, "linewidth": 2.4, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (tip[0], tip[1]), (0, 0), arrowprops=look)


def kl_landscape() -> Figure:
    r"""(\mu^2 + \sigma^2 - \log\sigma^2 - 1)/2 over mean and log variance, with a way to spend it.

    On the way \mu^2 = 1 - \sigma^2: the codes as a whole keep the prior's variance, and the KL is
    the information -\log\sigma^2/2 that the latent carries.
    """
    figure = Figure(figsize=(5.2, 4.2), layout="constrained")
    axes = figure.subplots()
    mean, log_variance = np.meshgrid(np.linspace(-3, 3, 200), np.linspace(-7, 2, 200))
    kl = (mean**2 + np.exp(log_variance) - log_variance - 1) / 2
    levels = [0, 0.1, 0.5, 1, 1.5, 2, 3, 4, 5, 6]
    filled = axes.contourf(mean, log_variance, kl, levels, cmap="Blues", extend="max")
    figure.colorbar(filled, label="KL (nats)", ticks=levels)
    way = np.linspace(0, -6.5, 200)
    for side in (-1, 1):
        axes.plot(side * np.sqrt(1 - np.exp(way)), way, color=ORANGE, linewidth=2.5)
    for nats in (1, 2, 3):
        place = (np.sqrt(1 - np.exp(-2 * nats)), -2 * nats)
        axes.plot(*place, "o", color=ORANGE, markersize=6)
        axes.annotate(
            f"{nats} nat" + "s" * (nats > 1),
            place,
            xytext=(8, -3),
            textcoords="offset points",
            bbox={"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1},
        )
    axes.plot(0, 0, "*", color=BLACK, markersize=11)
    axes.annotate(
        "no information:\nthe prior itself",
        (0, 0),
        xytext=(0, 12),
        ha="center",
        textcoords="offset points",
    )
    axes.set(xlabel=r"mean $\mu$", ylabel=r"log variance $\log\,\sigma^2$")
    return figure
