"""Figures of the scores of several models, a point a run, beside published means."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from unpick.metrics import mutual_information_gap
from unpick.papers.bhowal2024.scores.claims import GAPS, complete_rows
from unpick.plots.images import image_grid
from unpick.plots.style import COLOURS, GREY
from unpick.probe import Probe, probe_run
from unpick.probe.measures import codes_and_factors
from unpick.study.study import Outcome, Results

MARKERS = "osD^v"
WIDTH, HEIGHT = 2.4, 2.3  # of a panel, in inches
SCORE = "OD-Score"
FACTOR, STEPS, REACH = "y", 9, 2.0  # what figure 1 varies; images, and how far a latent goes


@dataclass(frozen=True, eq=False)
class Cloud:
    """Two scores of the runs of one model, and the two published means, if known."""

    x: Float[np.ndarray, "n"]
    y: Float[np.ndarray, "n"]
    published: tuple[float, float] | None = None


def score_relation(
    rows: Mapping[str, Mapping[str, Mapping[str, Cloud]]], label: str, counts: bool = False
) -> Figure:
    """A row of panels for each score on the horizontal axis, a column for each data set.

    After Bhowal et al. (2024), figure 4 (i) to (p). Runs are filled, published means hollow; a
    line joins the means of the models, dashed the published ones.

    Args:
        rows: By what is on the horizontal axis, by data set, by model; the same data sets and
            models everywhere.
        label: What is on the vertical axis.
        counts: Whether the horizontal axis is a whole number.
    """
    panels = [panel for row in rows.values() for panel in row.values()]
    names = list(dict.fromkeys(name for panel in panels for name in panel))
    if not names:
        raise ValueError("rows must hold at least one cloud, got none")
    if len(names) > len(MARKERS):
        raise ValueError(f"models must be {len(MARKERS)} at most, got {len(names)}")
    looks = dict(zip(names, zip(COLOURS, MARKERS, strict=False), strict=False))
    columns = max(len(row) for row in rows.values())
    size = (max(3.6, WIDTH * columns + 0.5), HEIGHT * len(rows) + 0.5)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(len(rows), columns, squeeze=False, sharey=True)
    for k, (across, row) in enumerate(rows.items()):
        for axes, (title, panel) in zip(grid[k], row.items(), strict=True):
            _panel(axes, panel, looks)
            axes.set_xlabel(across)
            if k == 0:
                axes.set_title(title, fontsize=9)
            if counts:
                axes.xaxis.get_major_locator().set_params(integer=True)
        grid[k, 0].set_ylabel(label)
    key = [
        Line2D([], [], color=colour, marker=marker, ls="", ms=5, label=name)
        for name, (colour, marker) in looks.items()
    ]
    if any(cloud.published for panel in panels for cloud in panel.values()):
        key.append(Line2D([], [], color=GREY, marker="o", mfc="white", ls="--", label="published"))
    figure.legend(handles=key, loc="outside lower center", ncols=len(key) if columns > 1 else 2)
    return figure


def _panel(axes: Axes, panel: Mapping[str, Cloud], looks: Mapping[str, tuple[str, str]]) -> None:
    ours = [(np.nanmean(cloud.x), np.nanmean(cloud.y)) for cloud in panel.values()]
    theirs = [cloud.published for cloud in panel.values() if cloud.published is not None]
    for points, style in ((ours, "-"), (theirs, "--")):
        if points:
            axes.plot(*np.transpose(sorted(points)), color=GREY, ls=style, lw=0.9, zorder=0)
    for name, cloud in panel.items():
        colour, marker = looks[name]
        axes.plot(cloud.x, cloud.y, marker, color=colour, ms=5, alpha=0.65, mew=0)
        if cloud.published is not None:
            axes.plot(*cloud.published, marker, color=colour, mfc="white", ms=6, mew=1.2)


def draw_relation(results: Results) -> Figure | None:
    """Figure 4 (i) to (p): the OD-Score against MIG and against MIG-sup."""
    rows = complete_rows(results, SCORE, *GAPS)
    if not rows:
        return None
    return score_relation({gap: _clouds(rows, gap, SCORE) for gap in GAPS}, SCORE)


def draw_active(results: Results) -> Figure | None:
    """The part of V against the number of active latents."""
    rows = complete_rows(results, SCORE, "active")
    if not rows:
        return None
    return score_relation(
        {"active latents": _clouds(rows, "active", f"{SCORE}, V")}, "part of V", counts=True
    )


def _clouds(
    rows: Mapping[str, Mapping[str, Outcome]], x: str, y: str
) -> dict[str, dict[str, Cloud]]:
    def cloud(outcome: Outcome) -> Cloud:
        printed = outcome.cell.published
        known = (printed[x].mean, printed[y].mean) if {x, y} <= printed.keys() else None
        return Cloud(outcome.values[x], outcome.values[y], known)

    return {row: {name: cloud(o) for name, o in models.items()} for row, models in rows.items()}


def draw_traversal(results: Results) -> Figure | None:
    """Figure 1: the sprites model of highest MIG, and its latent that knows most of y."""
    columns = results.rows().get("sprites")
    if not columns:
        return None
    runs = [
        (score, name, run)
        for name, outcome in columns.items()
        for score, run in zip(outcome.values["MIG"], outcome.runs, strict=True)
    ]
    score, name, run = max(runs, key=lambda each: each[0])
    return traverse(probe_run(run), f"{name}, seed {run.config.seed}, MIG {score:.2f}")


def traverse(probe: Probe, title: str) -> Figure:
    """Vary the latent that knows most of the vertical position, the others at one code.

    The title says which share of each factor's entropy it knows.
    """
    gap = mutual_information_gap(*codes_and_factors(probe))
    shares = gap.matrix / gap.entropies
    latent = int(shares[:, probe.factor_names.index(FACTOR)].argmax())
    z = probe.mean[:1].repeat(STEPS, 1)
    z[:, latent] = torch.linspace(-REACH, REACH, STEPS)
    known = ", ".join(
        f"{factor} {share:.0%}"
        for factor, share in zip(probe.factor_names, shares[latent], strict=True)
    )
    with torch.no_grad():
        images = probe.decoder(z)[None]
    return image_grid(images, [f"latent {latent + 1}"], f"{title}; the latent knows {known}")
