"""The first axes of a model of images, and the first principal components of the same images."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from sklearn.decomposition import PCA
from torch import Tensor

from unpick.geometry import likelihood_hessian, polarized_regime
from unpick.metrics import disentanglement_score
from unpick.probe import STANDARD, Measure, Probe, measure_run
from unpick.runs import Run

STEPS = (-2.5, -1.25, 0.0, 1.25, 2.5)  # in deviations of the prior, or of a principal component
AXES = 5  # how many axes are shown
FACES = 300  # images whose mean code is where traversals start
SEEN = 5000  # test images that all else is measured on
HESSIANS = 200  # images at which the curvature of the loss is measured


@dataclass(frozen=True, eq=False)
class Axes:
    """The first latents of a model, or the first principal components.

    Attributes:
        parts: How well each axis alone predicts each factor: 0 at chance, 1 for certainty; no
            columns if the data have no factors.
        distance: From images along the axes to the nearest image of the data, root mean square
            over pixels; the mean image is left out.
    """

    parts: Float[np.ndarray, "k factors"]
    distance: float


@dataclass(frozen=True, eq=False)
class FirstAxes:
    """The axes of one run.

    Attributes:
        latents: The latents with the smallest mean posterior deviation.
        components: The first principal components of the same images.
        factors: Names of the factors of the images.
        deviation: Mean posterior deviation of every latent, ascending.
        effect: Curvature of the reconstruction loss along each of them, mean over images.
        active: Whether it is active.
    """

    latents: Axes
    components: Axes
    factors: tuple[str, ...]
    deviation: Float[np.ndarray, "d"]
    effect: Float[np.ndarray, "d"]
    active: Bool[np.ndarray, "d"]


def first_axes(probe: Probe) -> dict[str, Any]:
    """`first axes`: what `FirstAxes` holds, as JSON."""
    probe = probe.first(SEEN)  # in random order
    assert probe.variance is not None
    assert probe.logits is not None
    deviation, order = probe.variance.sqrt().mean(0).sort()
    hessians = likelihood_hessian(
        probe.logits,
        probe.observations[:HESSIANS],
        probe.mean[:HESSIANS],
        likelihood=probe.likelihood,
        form="gauss-newton",
    )
    effect = -hessians.diagonal(dim1=1, dim2=2).mean(0)
    straight, scores = move_components(probe)
    return {
        "first axes": {
            "latents": _describe(probe, move_latents(probe), probe.mean[:, order[:AXES]].numpy()),
            "components": _describe(probe, straight, scores),
            "factors": list(probe.factor_names),
            "deviation": deviation.double().tolist(),
            "effect": effect[order].tolist(),
            "active": polarized_regime(probe.mean, probe.variance).active[order].tolist(),
        }
    }


def _describe(
    probe: Probe, images: Float[Tensor, "k steps c h w"], codes: Float[np.ndarray, "n k"]
) -> dict[str, Any]:
    parts = np.zeros((AXES, 0))
    if probe.factors is not None:
        parts = disentanglement_score(codes, probe.factors, probe.categorical).matrix
    return {"parts": parts.tolist(), "distance": distance_to_data(images, probe.observations)}


def find_axes(run: Run) -> FirstAxes:
    """The first axes of a run, read from its folder where they were measured."""
    values = measure_run(run, (first_axes,))["first axes"]
    return FirstAxes(
        _from_json(values["latents"]),
        _from_json(values["components"]),
        tuple(values["factors"]),
        np.array(values["deviation"]),
        np.array(values["effect"]),
        np.array(values["active"]),
    )


def _from_json(values: Mapping[str, Any]) -> Axes:
    return Axes(np.array(values["parts"]), values["distance"])


def move_latents(probe: Probe) -> Float[Tensor, "k steps c h w"]:
    """Images along the most precise latents, from the mean code of some images."""
    assert probe.variance is not None
    order = probe.variance.sqrt().mean(0).argsort()
    start, ways = probe.mean[:FACES].mean(0), torch.eye(len(order))[order[:AXES]]
    with torch.no_grad():
        images = probe.decoder((start + traversal(ways)).flatten(0, 1))
    return _as_images(images, probe)


def move_components(
    probe: Probe,
) -> tuple[Float[Tensor, "k steps c h w"], Float[np.ndarray, "n k"]]:
    """Images along the first principal components from the mean image, and the scores."""
    flat = probe.observations.flatten(1).numpy()
    pca = PCA(AXES, svd_solver="randomized", random_state=0).fit(flat)
    scaled = torch.from_numpy(pca.components_ * np.sqrt(pca.explained_variance_)[:, None]).float()
    straight = torch.from_numpy(pca.mean_).float() + traversal(scaled)
    return _as_images(straight, probe), pca.transform(flat)


def _as_images(images: Float[Tensor, "..."], probe: Probe) -> Float[Tensor, "k steps c h w"]:
    return images.clamp(0, 1).reshape(AXES, len(STEPS), *probe.shape)


def traversal(axes: Float[Tensor, "k p"]) -> Float[Tensor, "k steps p"]:
    """`STEPS` along each axis."""
    return axes[:, None] * torch.tensor(STEPS)[:, None]


def distance_to_data(images: Float[Tensor, "k steps c h w"], x: Float[Tensor, "n c h w"]) -> float:
    """Distance of the images off the mean to the nearest of x, root mean square over pixels."""
    off = images[:, [step != 0 for step in STEPS]].flatten(0, 1).flatten(1)
    nearest = torch.cdist(off, x.flatten(1)).min(1).values
    return float((nearest.square().mean() / off.shape[1]).sqrt())


READINGS: tuple[Measure, ...] = (*STANDARD, first_axes)
