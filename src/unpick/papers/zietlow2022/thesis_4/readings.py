"""What is read off a run for chapter 4: scores against factors, and what the latents do."""

from collections.abc import Callable

import torch

from unpick.data import Dataset, split
from unpick.geometry import decoder_jacobians, distance_to_orthogonality
from unpick.geometry.optimal_posterior import ACTIVE_BELOW
from unpick.probe.keeping import kept
from unpick.probe.measures import JACOBIANS, SAMPLES, decoder, error, posterior, scores
from unpick.runs import Run

FILE = "chapter4.json"
VERSION = 2  # one more makes the kept ones old


def readings(run: Run, load: Callable[[], Dataset]) -> dict[str, float]:
    """What a run gives, as far as it has it; kept in its folder.

    `MIG`, `DCI` (disentanglement, fast learner), `FactorVAE` and `SAP` on test observations, and
    `MIG, NAME` of every factor. Of posteriors with a variance: `active` latents, those with
    E(sigma^2) < 0.8 (Zietlow 2022, section 4.3.4), and `sigma 1`, `sigma 2`, ..., the mean
    deviation of each latent, ascending. With a decoder: `DtO` and its `chance` value; of active
    latents, if there are two, `DtO, active` and `DtO / chance`; and `error`, the root mean square
    over pixels of what the mean reconstruction misses.

    Args:
        run: A finished one.
        load: Gives its data set; not called if the readings are there.
    """
    return kept(run, FILE, {"version": VERSION}, lambda: take(run, load()))


def take(run: Run, dataset: Dataset) -> dict[str, float]:
    """The same, measured."""
    model, test = run.model(), split(dataset).test[:SAMPLES]
    x = dataset.observe(test)
    mean, variance = posterior(model, x)
    values, gap = scores(mean.double().numpy(), dataset, test)
    for factor, part in zip(dataset.factors, gap.per_factor, strict=True):
        values[f"MIG, {factor.name}"] = float(part)
    active = torch.ones(mean.shape[1], dtype=torch.bool)
    if variance is not None:
        active = variance.mean(0) < ACTIVE_BELOW
        values["active"] = float(active.sum())
        deviations = variance.sqrt().mean(0).sort().values
        values |= {f"sigma {j}": float(each) for j, each in enumerate(deviations, 1)}
    if model.decodes:
        jacobians = decoder_jacobians(decoder(model), mean[:JACOBIANS])
        dto = distance_to_orthogonality(jacobians)
        values |= {"DtO": dto.mean, "chance": dto.chance}
        if active.sum() > 1:
            used = distance_to_orthogonality(jacobians, active=active)
            values |= {"DtO, active": used.mean, "DtO / chance": used.relative}
        values["error"] = error(model, x, mean)
    return values
