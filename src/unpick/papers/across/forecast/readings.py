"""What is measured of a model to compare it with the forecast of its data."""

import itertools
import math
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from unpick.diagnosis.factors import information_shares
from unpick.geometry import distance_to_orthogonality
from unpick.geometry.optimal_posterior import ACTIVE_BELOW
from unpick.metrics import mutual_information_gap
from unpick.probe import Measure, Probe
from unpick.probe.measures import codes_and_factors, reconstruction

JACOBIANS = 200
ROWS = 3000  # test observations whose codes are compared with factors
FACTOR_BINS = 20  # of a continuous factor, for MIG
LEAST = 0.05  # share of a factor's entropy in some latent, for the factor to share it
NEIGHBOURS = 5  # of the predictors, which know two thirds of the observations
# Factors that return to their start, and their period.
PERIODS: Mapping[tuple[str, str], float] = {
    ("sprites", "orientation"): 2 * math.pi,
    **{("shapes3d", f"{what} hue"): 1.0 for what in ("floor", "wall", "object")},
}


def alignment(probe: Probe) -> dict[str, float]:
    """`DtO share`: distance to orthogonality over active latents, by chance; and how many."""
    assert probe.variance is not None  # all are beta-VAEs
    active = probe.variance.mean(0) < ACTIVE_BELOW
    values = {"active": float(active.sum())}
    if active.sum() >= 2:
        dto = distance_to_orthogonality(probe.first(JACOBIANS).jacobians, active=active)
        values["DtO share"] = dto.relative
    return values


def gap(probe: Probe) -> dict[str, float]:
    """`MIG`, in 20 bins."""
    codes, factors = codes_and_factors(probe.first(ROWS))
    assert probe.dataset is not None
    bins = None if probe.dataset.is_grid else FACTOR_BINS
    return {"MIG": mutual_information_gap(codes, factors, factor_bins=bins).score}


def sharing(probe: Probe) -> dict[str, float]:
    """`confusion: a | b` of every two ordered factors: the cosine of what latents know of them.

    0 if no latent knows of both, 1 if every latent knows as much of one as of the other, by
    shares of entropy. Left out if no latent holds 5 % of one of the two.
    """
    assert probe.categorical is not None
    shares = information_shares(*codes_and_factors(probe.first(ROWS)))
    values = {}
    ordered = [k for k, classes in enumerate(probe.categorical) if not classes]
    for one, two in itertools.combinations(ordered, 2):
        a, b = shares[:, one], shares[:, two]
        if min(a.max(), b.max()) >= LEAST:
            key = f"confusion: {probe.factor_names[one]} | {probe.factor_names[two]}"
            values[key] = float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
    return values


def holding(probe: Probe) -> dict[str, float]:
    """`held: a` of every factor: what its nearest neighbours by active latents tell of it.

    R^2 of held-out observations, of sine and cosine for a periodic factor; for a class the
    accuracy, from that of the commonest class (0) to 1.
    """
    assert probe.variance is not None
    assert probe.dataset is not None
    assert probe.categorical is not None
    codes, factors = codes_and_factors(probe.first(ROWS))
    codes = codes[:, (probe.variance.mean(0) < ACTIVE_BELOW).numpy()]
    values = {}
    for k, name in enumerate(probe.factor_names):
        target = factors[:, k]
        if period := PERIODS.get((probe.dataset.name.split("-")[0], name)):
            turn = 2 * np.pi * target / period
            target = np.stack([np.cos(turn), np.sin(turn)], 1)
        values[f"held: {name}"] = predictability(codes, target, probe.categorical[k])
    return values


def predictability(
    codes: Float[np.ndarray, "n d"],
    target: Float[np.ndarray, "n *m"],
    categorical: bool,
) -> float:
    """How well held-out values follow from those of the nearest codes, from 0 to 1."""
    if not codes.shape[1]:
        return 0.0
    codes = codes / np.maximum(codes.std(0), 1e-12)
    some = 2 * len(codes) // 3
    seen, fresh = codes[:some], codes[some:]
    known, wanted = target[:some], target[some:]
    if categorical:
        model = KNeighborsClassifier(NEIGHBOURS).fit(seen, known)
        usual = np.unique(wanted, return_counts=True)[1].max() / len(wanted)
        score = (float((model.predict(fresh) == wanted).mean()) - usual) / (1 - usual)
    else:
        guess = KNeighborsRegressor(NEIGHBOURS).fit(seen, known).predict(fresh)
        score = 1 - np.square(guess - wanted).sum() / np.square(wanted - wanted.mean(0)).sum()
    return max(0.0, float(score))


READINGS: tuple[Measure, ...] = (alignment, gap, sharing, holding, reconstruction)
