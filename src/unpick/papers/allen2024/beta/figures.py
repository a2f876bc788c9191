"""Figures of what beta does, drawn from results (Allen 2024, section 3.3)."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from unpick.data import Dataset
from unpick.papers.allen2024.beta import plots
from unpick.papers.allen2024.beta.cells import PLANTED
from unpick.papers.allen2024.beta.computed import SCALED
from unpick.papers.allen2024.beta.readings import LEVELS
from unpick.probe import Probe, probe_run
from unpick.study.study import Outcome, Results
from unpick.study.sweep import sweep, sweep_table
from unpick.theory.dispersion import is_mean_of_observations

SHOWN = 1500  # points of a picture
DRAWN = 100  # posteriors of a picture
ELLIPSES = (0.01, 0.2, 2.0, 12.0)  # betas whose posteriors are drawn


def points(outcomes: Mapping[float, Outcome]) -> tuple[Dataset, Float[Tensor, "n 2"]]:
    """The circles, and all that lies on them."""
    dataset = next(iter(outcomes.values())).cell.config.data.load()
    return dataset, dataset.observe(torch.arange(len(dataset)))


def looked_at(outcome: Outcome, x: Float[Tensor, "n 2"]) -> Probe:
    """The model of the first seed at these points."""
    return replace(probe_run(outcome.runs[0]), x=x)


def draw_reconstructions(results: Results) -> Figure | None:
    """Figure 2, of seed 0."""
    found = sweep(results, "circles")
    if not found:
        return None
    x = points(found)[1][:SHOWN]
    by_beta = {}
    for beta, outcome in found.items():
        by_beta[beta] = looked_at(outcome, x).reconstructions.numpy()
    return plots.reconstructions(x.numpy(), by_beta)


def draw_posteriors(results: Results) -> Figure | None:
    """Posteriors of seed 0 at some betas; colours tell the circles of a group apart."""
    found = sweep(results, "circles")
    chosen = {beta: found[beta] for beta in ELLIPSES if beta in found}
    if not chosen:
        return None
    dataset, x = points(found)
    assert dataset.values is not None
    circle = dataset.values[:DRAWN, 1].long().numpy()
    panels = []
    for beta, outcome in chosen.items():
        probe = looked_at(outcome, x[:DRAWN])
        assert probe.variance is not None
        deviation = probe.variance.sqrt().numpy()
        panels.append(plots.Posteriors(f"beta {beta:g}", probe.mean.numpy(), deviation, circle))
    return plots.posterior_ellipses(panels)


def draw_merging(results: Results) -> Figure | None:
    """Variance kept and overlap of posteriors, against beta."""
    found = sweep(results, "circles")
    if not found:
        return None
    kept = {level: sweep_table(found, level) for level in LEVELS}
    overlap = {level: sweep_table(found, f"overlap, {level}") for level in LEVELS}
    limits = results.computed["limits"]["levels"]
    return plots.merging(np.array(list(found)), kept, overlap, limits)


def draw_collapse(results: Results) -> Figure | None:
    """Linear VAEs, trained and in closed form."""
    found = sweep(results, "linear-gaussian")
    if not found:
        return None
    curve = results.computed["linear"]["curve"]
    exact = np.array(curve["variance"])
    names = [f"variance {k}" for k in range(1, exact.shape[1] + 1)]
    return plots.collapse(
        np.array(list(found)),
        np.stack([sweep_table(found, name) for name in names], 2),
        sweep_table(found, "active"),
        (np.array(curve["beta"]), exact),
        [2 * (s**2 + PLANTED.noise**2) for s in PLANTED.singular_values],
    )


def draw_twins(results: Results) -> Figure | None:
    """How far pairs of VAEs end apart, against beta."""
    if not results.outcomes:
        return None
    beta, twins = np.array(SCALED), results.computed["twins"]
    exact = np.array([is_mean_of_observations(each) for each in SCALED])
    bernoulli = np.array(twins["bernoulli"])
    return plots.twin_differences(
        {
            "Gaussian, variance not scaled": (beta, np.array(twins["not scaled"])),
            "Bernoulli, no twin: the nearest": (beta[~exact], bernoulli[~exact]),
            "Gaussian, Adam": (beta, np.array(twins["adam"])),
            "Bernoulli, beta = 1/k": (beta[exact], bernoulli[exact]),
            "Gaussian, SGD": (beta, np.array(twins["sgd"])),
        }
    )
