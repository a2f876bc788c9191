"""Figures of what beta does, drawn from results (Allen 2024, section 3.3)."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from unpick.data import Dataset
from unpick.data.synthetic import Circles, LinearGaussian
from unpick.papers.allen2024.beta.claims import closed_form, limits
from unpick.papers.allen2024.beta.readings import LEVELS
from unpick.papers.allen2024.beta.sweep import (
    Posteriors,
    collapse,
    merging,
    posterior_ellipses,
    reconstructions,
)
from unpick.probe import Probe, probe_run
from unpick.study.study import Outcome, Results
from unpick.study.sweep import sweep, sweep_table

SHOWN = 1500  # points of a picture
DRAWN = 100  # posteriors of a picture
ELLIPSES = (0.01, 0.2, 2.0, 12.0)  # betas whose posteriors are drawn


def points(search: Mapping[float, Outcome]) -> tuple[Dataset, Float[Tensor, "n 2"]]:
    """The circles, and all that lies on them."""
    dataset = next(iter(search.values())).cell.config.data.load()
    return dataset, dataset.observe(torch.arange(len(dataset)))


def looked_at(outcome: Outcome, x: Float[Tensor, "n 2"]) -> Probe:
    """The model of the first seed at these points."""
    return replace(probe_run(outcome.runs[0]), x=x)


def draw_reconstructions(results: Results) -> Figure | None:
    """Figure 2, of seed 0."""
    search = sweep(results, "circles")
    if not search:
        return None
    x = points(search)[1][:SHOWN]
    by_beta = {}
    for beta, outcome in search.items():
        by_beta[beta] = looked_at(outcome, x).reconstructions.numpy()
    return reconstructions(x.numpy(), by_beta)


def draw_posteriors(results: Results) -> Figure | None:
    """Of seed 0, at some betas; colours tell the small circles of a group apart."""
    search = sweep(results, "circles")
    chosen = {beta: search[beta] for beta in ELLIPSES if beta in search}
    if not chosen:
        return None
    dataset, x = points(search)
    assert dataset.values is not None
    circle = dataset.values[:DRAWN, 1].long().numpy()
    panels = []
    for beta, outcome in chosen.items():
        probe = looked_at(outcome, x[:DRAWN])
        assert probe.variance is not None
        deviation = probe.variance.sqrt().numpy()
        panels.append(Posteriors(f"beta {beta:g}", probe.mean.numpy(), deviation, circle))
    return posterior_ellipses(panels)


def draw_merging(results: Results) -> Figure | None:
    """What is kept and what overlaps, against beta."""
    search = sweep(results, "circles")
    if not search:
        return None
    data = next(iter(search.values())).cell.config.data
    assert isinstance(data, Circles)
    kept = {level: sweep_table(search, level) for level in LEVELS}
    overlap = {level: sweep_table(search, f"overlap, {level}") for level in LEVELS}
    return merging(np.array(list(search)), kept, overlap, limits(data))


def draw_collapse(results: Results) -> Figure | None:
    """Linear VAEs, trained and in closed form."""
    search = sweep(results, "linear-gaussian")
    if not search:
        return None
    config = next(iter(search.values())).cell.config
    assert isinstance(config.data, LinearGaussian)
    count = config.model.latents
    variance = np.stack([sweep_table(search, f"variance {k + 1}") for k in range(count)], 2)
    grid = np.geomspace(min(search) / 1.3, max(search) * 1.3, 200)
    exact = np.array([closed_form(config.data, count, float(beta)) for beta in grid])
    thresholds = [2 * (s**2 + config.data.noise**2) for s in config.data.singular_values]
    active = sweep_table(search, "active")
    return collapse(np.array(list(search)), variance, active, (grid, exact), thresholds)
