"""What is read off a finished run for the tables: geometry and DS on the test part."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from unpick.data import Dataset, split
from unpick.geometry import (
    decoder_jacobians,
    distance_to_orthogonality,
    polarized_regime,
    settled_after,
)
from unpick.geometry.polarized import delta_kl_of_latents
from unpick.metrics import (
    MutualInformationGap,
    dci,
    disentanglement_score,
    factor_vae_score,
    mutual_information_gap,
    sap,
)
from unpick.models import Model
from unpick.probe.keeping import kept
from unpick.runs import Run, load_together

JACOBIANS = 1000  # test observations at which the decoder is linearised
SAMPLES = 10_000  # test observations for everything else, at most
VERSION = 2  # of the readings: one more makes the kept ones old


def readings(run: Run, load: Callable[[], Dataset]) -> dict[str, float]:
    """What a run gives, as far as it has it; kept in its folder.

    With a decoder: DtO (Zietlow 2022, eq. 3.25), its `chance` value and its `degenerate` share;
    `DtO, active` over active latents. DS if there are factors (a label alone is none). Of
    posteriors with a variance: `active` latents, `Delta_KL`, `largest variance` (mean over
    observations, of the latent where it is largest) and `settled`, the percentage of training
    after which Delta_KL stayed below 3 %.

    Args:
        run: A finished one.
        load: Gives its data set; not called if the readings are there.
    """
    return kept(run, "readings.json", {"version": VERSION}, lambda: take(run, load()))


def take(run: Run, dataset: Dataset) -> dict[str, float]:
    """The same, measured."""
    model, test = run.model(), split(dataset).test[:SAMPLES]
    mean, variance = posterior(model, dataset.observe(test))
    values: dict[str, float] = {}
    jacobians = decoder_jacobians(decoder(model), mean[:JACOBIANS]) if model.decodes else None
    if jacobians is not None and mean.shape[1] > 1:
        dto = distance_to_orthogonality(jacobians)
        values |= {"DtO": dto.mean, "chance": dto.chance, "degenerate": dto.degenerate}
    if variance is not None:
        regime = polarized_regime(mean, variance)
        values["active"] = float(regime.active.sum())
        values["Delta_KL"] = regime.delta_kl
        values["largest variance"] = float(regime.mean_variance.max())
        if jacobians is not None and regime.active.sum() > 1:
            dto = distance_to_orthogonality(jacobians, active=regime.active)
            values["DtO, active"] = dto.mean
        if latents := run.latents():
            latents.pop("step")
            values["settled"] = 100 * (1 - settled_after(delta_kl_of_latents(**latents)))
    if len(dataset.factors) > 1 and mean.shape[1] > 1:  # a label alone is no generative factor
        factors = dataset.factor_values(test).numpy()
        classes = [factor.categorical for factor in dataset.factors]
        values["DS"] = disentanglement_score(mean.numpy(), factors, classes).score
    return values


def posterior(
    model: Model, x: Float[Tensor, "n ..."], batch: int = 1000
) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n d"] | None]:
    """Mean and variance that a single model gives; no variance if its posteriors are points."""
    with torch.no_grad():
        parts = [model.encode(part[None]) for part in x.split(batch)]
    mean = torch.cat([part.mean[0] for part in parts])
    variances = [part.variance[0] for part in parts if part.variance is not None]
    return mean, torch.cat(variances) if variances else None


def latent_means(runs: Sequence[Run], dataset: Dataset) -> Float[Tensor, "s n d"]:
    """What each of several runs of one architecture makes of all observations."""
    model, x = load_together(runs), dataset.observe(torch.arange(len(dataset)))
    with torch.no_grad():
        return model.encode(x.expand(model.members, *x.shape)).mean


def decoder(model: Model) -> Callable[[Tensor], Tensor]:
    """The mean decoder of a single model, as a function of latents (n, d)."""
    return lambda z: model.decode_mean(z[None])[0]


def error(model: Model, x: Float[Tensor, "n ..."], z: Float[Tensor, "n d"]) -> float:
    """Root mean square over observations and pixels of what the decoder misses at z."""
    decode, total = decoder(model), 0.0
    with torch.no_grad():
        for images, codes in zip(x.split(1000), z.split(1000), strict=True):
            total += float((decode(codes) - images).square().sum())
    return math.sqrt(total / x.numel())


def scores(
    codes: Float[np.ndarray, "n d"], dataset: Dataset, test: Int[Tensor, "n"]
) -> tuple[dict[str, float], MutualInformationGap]:
    """The four scores of tables 4.2 to 4.5, and the parts of the first."""
    factors = dataset.factor_values(test).double().numpy()
    gap = mutual_information_gap(codes, factors)
    values = {
        "MIG": gap.score,
        "DCI": dci(codes, factors, learner="fast").disentanglement,
        "FactorVAE": factor_vae_score(codes, factors).score,
        "SAP": sap(codes, factors).score,
    }
    return values, gap
