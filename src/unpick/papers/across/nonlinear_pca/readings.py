"""Numbers of the study: what each method recovers, and what the rule chooses."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import PCA, FastICA, KernelPCA
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.manifold import Isomap
from sklearn.model_selection import cross_val_score

from unpick.data.synthetic import LinearGaussian
from unpick.estimator import NonlinearPCA
from unpick.metrics import mean_correlation
from unpick.papers.across.nonlinear_pca.tables import (
    PLANTED,
    REAL,
    halves,
    planted,
    real,
)
from unpick.study.study import Scale

ROWS: Mapping[Scale, int] = {"quick": 300, "standard": 1000}
SEEDS: Mapping[Scale, int] = {"quick": 1, "standard": 3}
NONLINEAR, LINEAR = "NonlinearPCA", "PCA"
REAL_COMPONENTS = 5
NOISES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2)  # beside 3, 2 and 1.5


def estimator(scale: Scale, components: int | None, seed: int) -> NonlinearPCA:
    """The estimator with its defaults, but fewer restarts and steps, to save time."""
    small: dict[str, Any] = {"max_steps": 60, "restarts": 2, "network": (8,)}
    options = small if scale == "quick" else {"max_steps": 2000, "restarts": 3}
    return NonlinearPCA(components, random_state=seed, device="cpu", **options)


def methods(count: int, seed: int) -> dict[str, Any]:
    """The others, with their defaults and the right number of components."""
    return {
        LINEAR: PCA(count),
        "KernelPCA": KernelPCA(count, kernel="rbf"),
        "FastICA": FastICA(count, random_state=seed, max_iter=1000, tol=1e-3),
        "Isomap": Isomap(n_components=count),
    }


def recovery(codes: Float[np.ndarray, "n d"], factors: Float[np.ndarray, "n k"]) -> float:
    """Mean rank correlation of factors with the component that is matched to each (MCC)."""
    return mean_correlation(codes.astype(float), factors, method="spearman").score


def mean_angle(found: Float[np.ndarray, "n k p"], true: Float[np.ndarray, "n p j"]) -> float:
    """Mean angle in degrees between a method's local directions and those of the factors.

    Each factor is matched to one component, for all rows the same, so that the mean is least.

    Example:
        >>> eye = np.eye(2)[None]
        >>> round(mean_angle(eye[:, ::-1], eye), 3), round(mean_angle(eye + eye[:, ::-1], eye), 3)
        (0.0, 45.0)
    """
    found = found / np.maximum(np.linalg.norm(found, axis=2, keepdims=True), 1e-300)
    true = true / np.linalg.norm(true, axis=1, keepdims=True)
    angles = np.degrees(np.arccos(np.clip(np.abs(found @ true), 0, 1))).mean(0)
    components, factors = linear_sum_assignment(angles)
    return float(angles[components, factors].mean())


def directions_of(method: Any, x: Float[np.ndarray, "n p"]) -> Float[np.ndarray, "n k p"] | None:  # noqa: ANN401
    """How a fitted method says that rows move with its components; None if it does not say."""
    if isinstance(method, PCA):
        return np.tile(method.components_, (len(x), 1, 1))
    if isinstance(method, FastICA):
        return np.tile(method.mixing_.T, (len(x), 1, 1))
    return None


def compute_planted(scale: Scale) -> dict[str, Any]:
    """For every planted table and seed: MCC of each method; what NonlinearPCA found."""
    if scale == "paper":
        return {}
    return {name: on_planted(name, scale) for name in PLANTED[: 2 if scale == "quick" else None]}


def on_planted(name: str, scale: Scale) -> list[dict[str, Any]]:
    """One row a seed; with the default number of steps, since curved tables need them."""
    rows = []
    steps = {} if scale == "quick" else {"max_steps": "auto"}
    for seed in range(SEEDS[scale]):
        table = planted(name, ROWS[scale], seed)
        count = table.factors.shape[1]
        free = estimator(scale, None, seed).set_params(**steps).fit(table.x)
        told = free
        if free.n_components_ != count:
            told = estimator(scale, count, seed).set_params(**steps).fit(table.x)
        scores = {
            NONLINEAR: recovery(told.transform(table.x), table.factors),
            "NonlinearPCA, number found": recovery(free.transform(table.x), table.factors),
        }
        angles = {NONLINEAR: mean_angle(told.local_components(table.x), table.directions)}
        for method, other in methods(count, seed).items():
            scores[method] = recovery(other.fit_transform(table.x), table.factors)
            directions = directions_of(other, table.x)
            if directions is not None:
                angles[method] = mean_angle(directions, table.directions)
        linear = PCA(count).fit(table.x)
        rows.append(
            {
                "scores": scores,
                "angles": angles,
                "components": free.n_components_,
                "factors": count,
                "noise": free.noise_variance_,
                "planted noise": table.noise,
                "explained": float(told.explained_variance_ratio_.sum()),
                "explained by PCA": float(linear.explained_variance_ratio_.sum()),
                "warnings": free.warnings_,
            }
        )
    return rows


def compute_linear(scale: Scale) -> dict[str, Any]:
    """What a linear network finds in a linear Gaussian model, for every noise and seed."""
    if scale == "paper":
        return {}
    noises = NOISES[: 2 if scale == "quick" else None]
    return {
        f"{noise:g}": [on_linear(noise, seed) for seed in range(SEEDS[scale])] for noise in noises
    }


def on_linear(noise: float, seed: int) -> dict[str, float]:
    """Components found, noise variance over the planted one, and cosines to PCA's components."""
    data = LinearGaussian((3.0, 2.0, 1.5), noise=noise, points=1000, data_seed=seed).load()
    x = data.observe(torch.arange(1000)).double().numpy()
    model, linear = NonlinearPCA(network=(), random_state=seed).fit(x), PCA(3).fit(x)
    both = min(3, model.n_components_)
    cosines = np.abs((model.components_[:both] * linear.components_[:both]).sum(1))
    return {
        "components": model.n_components_,
        "noise": model.noise_variance_ / noise**2,
        "cosine": float(cosines.min()),
    }


def compute_real(scale: Scale) -> dict[str, Any]:
    """For every real table: held-out reconstruction, a linear model on components, stability."""
    if scale == "paper":
        return {}
    return {name: on_real(name, scale) for name in [*REAL][: 1 if scale == "quick" else None]}


def compute_files(scale: Scale) -> dict[str, Any]:
    """The same for MNIST, whose files must be there."""
    return {"MNIST": on_real("MNIST", scale)} if scale == "standard" else {}


def on_real(name: str, scale: Scale) -> dict[str, Any]:
    """Fit each half of the rows; look at the other half, and at both together."""
    table = real(name)
    parts = halves(len(table.x))
    found: dict[str, Any] = {}
    for method in (NONLINEAR, LINEAR):
        made = [
            estimator(scale, REAL_COMPONENTS, k) if method == NONLINEAR else PCA(REAL_COMPONENTS)
            for k in range(2)
        ]
        explained, accuracy = [], []
        for model, rows, others in zip(made, parts, reversed(parts), strict=True):
            model.fit(table.x[rows])
            back = model.inverse_transform(model.transform(table.x[others]))
            missed = np.square(table.x[others] - back).sum()
            explained.append(1 - missed / np.square(table.x[others]).sum())
            learner = LogisticRegression(max_iter=5000) if table.classes else RidgeCV()
            codes = model.transform(table.x[others])
            accuracy += cross_val_score(learner, codes, table.target[others], cv=5).tolist()
        both = mean_correlation(
            *(m.transform(table.x).astype(float) for m in made), method="spearman"
        )
        found[method] = {
            "explained": [float(v) for v in explained],
            "accuracy": accuracy,
            "stability": both.per_factor.tolist(),
        }
    automatic = estimator(scale, None, 0).set_params(network="auto").fit(table.x[parts[0]])
    found["auto"] = {"components": automatic.n_components_, "warnings": automatic.warnings_}
    return found
