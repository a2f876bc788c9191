"""Pictures of components: how many there are, what one does, and rows and columns together."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Shaped
from matplotlib.figure import Figure

from unpick.plots.style import BLUE, COLOURS, GREY, ORANGE, house_style

Array = np.ndarray
CLOSE = 0.12  # correlations between ends of arrows that are drawn apart


def scree(
    explained: Float[Array, "k"],
    linear: Float[Array, "l"],
    table: Mapping[str, Array],
    beta: float,
) -> Figure:
    """How many components there are: what each explains, and latents over beta.

    Args:
        explained: Share of the variance that each component adds.
        linear: The same of PCA.
        table: `NonlinearPCA.restarts_`: columns stage, beta, active and agreement.
        beta: The one that was chosen.
    """
    with house_style():
        figure = Figure(figsize=(7.2, 2.8), layout="constrained")
        left, right = figure.subplots(1, 2)
        count = len(explained)
        for values, name, colour in ((linear, "PCA", GREY), (explained, "NonlinearPCA", BLUE)):
            label = f"{name}: the first {count} explain {values[:count].sum():.0%}"
            left.plot(np.arange(1, len(values) + 1), values, "o-", color=colour, label=label)
        left.axvline(count + 0.5, color=ORANGE, label=f"{count} components found")
        left.set(xlabel="component", ylabel="share of the variance", ylim=(0, None))
        left.legend(fontsize=7)
        searched = table["stage"] == "search"
        betas = np.unique(table["beta"][searched])
        rows = [searched & (table["beta"] == b) for b in betas]
        again = table["active"] * np.nan_to_num(table["agreement"])
        for values, name, colour in (
            (table["active"], "active", GREY),
            (again, "found again by other restarts", BLUE),
        ):
            means = [values[row].mean() for row in rows]
            if np.isfinite(table["agreement"][searched]).any() or name == "active":
                right.plot(betas, means, "o-", color=colour, label=name)
        right.axvline(beta, color=ORANGE, label="chosen beta")
        right.set(xscale="log", xlabel="beta", ylabel="latents")
        right.legend(loc="center left", fontsize=7)
    return figure


def traversal(
    steps: Float[Array, "t"],
    rows: Float[Array, "k t p"],
    names: Sequence[str],
    most: int = 5,
) -> Figure:
    """What each component does: decoded rows as one component moves and the others stay at 0.

    Args:
        steps: Values of the component.
        rows: Decoded rows, for each component and step.
        names: Of the columns.
        most: Columns that are shown of each component: those that move most.
    """
    with house_style():
        figure = Figure(figsize=(2.6 * len(rows), 2.8), layout="constrained")
        for axes, (k, curves) in zip(
            np.atleast_1d(figure.subplots(1, len(rows), sharey=True)), enumerate(rows), strict=True
        ):
            moved = np.ptp(curves, axis=0).argsort()[::-1][:most]
            for column, colour in zip(moved, COLOURS, strict=False):
                axes.plot(steps, curves[:, column], color=colour, label=names[column])
            axes.set(title=f"component {k}", xlabel="its value")
            axes.legend(fontsize=6)
        figure.axes[0].set_ylabel("decoded columns")
    return figure


def biplot(
    codes: Float[Array, "n 2"],
    loadings: Float[Array, "p 2"],
    names: Sequence[str],
    groups: Shaped[Array, "n"] | None = None,
    most: int = 8,
) -> Figure:
    """Rows as points and columns as arrows, on two components.

    Args:
        codes: Two components of each row.
        loadings: Correlation of each column with them.
        names: Of the columns.
        groups: Names of groups, which colour the rows.
        most: Columns that are shown: those with the longest arrows, and of arrows that nearly
            coincide only the longest.
    """
    with house_style():
        figure = Figure(figsize=(4.6, 4.2), layout="constrained")
        axes = figure.subplots()
        groups = np.zeros(len(codes)) if groups is None else groups
        for group, colour in zip(np.unique(groups), COLOURS, strict=False):
            own = codes[groups == group]
            axes.plot(*own.T, ".", color=colour, alpha=0.5, markersize=5, label=str(group))
        if len(np.unique(groups)) > 1:
            axes.legend(fontsize=7, loc="lower left")
        scale = np.abs(codes).max() * 0.9
        for column in distinct(loadings)[:most]:
            end = loadings[column] * scale
            arrow = {"arrowstyle": "->", "color": COLOURS[-1]}
            axes.annotate("", end, (0, 0), arrowprops=arrow)
            axes.annotate(names[column], end, fontsize=7)
        axes.set(xlabel="component 0", ylabel="component 1")
    return figure


def distinct(loadings: Float[Array, "p 2"]) -> list[int]:
    """Columns by length, without those whose arrow ends close to that of a longer one.

    Example:
        >>> distinct(np.array([[0.5, 0.0], [0.0, 0.9], [0.05, 0.85]]))
        [1, 0]
    """
    found: list[int] = []
    for column in np.linalg.norm(loadings, axis=1).argsort()[::-1].tolist():
        if all(np.linalg.norm(loadings[column] - loadings[k]) > CLOSE for k in found):
            found.append(column)
    return found
