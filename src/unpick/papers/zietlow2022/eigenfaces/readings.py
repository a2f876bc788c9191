"""The first axes of a model of images, and the first principal components beside them."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from jaxtyping import Bool, Float
from sklearn.decomposition import PCA
from torch import Tensor

from unpick.geometry import likelihood_hessian, polarized_regime
from unpick.metrics import disentanglement_score
from unpick.probe import probe_run
from unpick.runs import Run

STEPS = (-2.5, -1.25, 0.0, 1.25, 2.5)  # in deviations of the prior, or of a principal component
AXES = 5  # the first so many are shown
FACES = 300  # whose mean code is where traversals start
SEEN = 5000  # test images that all else is measured on
HESSIANS = 200  # of which, for the bend of the loss


@dataclass(frozen=True, eq=False)
class Faces:
    """The first axes of a model.

    Attributes:
        images: Along each axis, the others at the mean.
        parts: How well each axis alone tells each factor: 0 for a guess, 1 for certainty; no
            columns if the data have no factors.
        astray: How far images off the mean are from the nearest image of the data, root mean
            square over pixels.
    """

    images: Float[Tensor, "k steps c h w"]
    parts: Float[np.ndarray, "k factors"]
    astray: float


@dataclass(frozen=True, eq=False)
class Found:
    """What one run gives.

    Attributes:
        nonlinear: The latents with the smallest mean posterior deviation.
        ordinary: The first principal components of the same images.
        factors: Names of what made the images.
        deviation: Mean posterior deviation of every latent, ascending.
        effect: How sharply the reconstruction loss bends along it, mean over images.
        active: Whether it is in use.
    """

    nonlinear: Faces
    ordinary: Faces
    factors: tuple[str, ...]
    deviation: Float[np.ndarray, "d"]
    effect: Float[np.ndarray, "d"]
    active: Bool[np.ndarray, "d"]


@cache
def find(run: Run) -> Found:
    """The axes of a run's model, and those of PCA."""
    probe = probe_run(run, samples=SEEN)  # in random order
    dataset, x, mean, variance = probe.dataset, probe.observations, probe.mean, probe.variance
    assert dataset is not None
    assert variance is not None
    deviation, order = variance.sqrt().mean(0).sort()
    start, ways = mean[:FACES].mean(0), torch.eye(len(order))[order[:AXES]]
    with torch.no_grad():
        images = probe.decoder((start + traversal(ways)).flatten(0, 1))
    assert probe.logits is not None
    hessians = likelihood_hessian(
        probe.logits,
        x[:HESSIANS],
        mean[:HESSIANS],
        likelihood=probe.likelihood,
        form="gauss-newton",
    )
    effect = -hessians.diagonal(dim1=1, dim2=2).mean(0)

    flat = x.flatten(1).numpy()
    pca = PCA(AXES, svd_solver="randomized", random_state=0).fit(flat)
    scaled = torch.from_numpy(pca.components_ * np.sqrt(pca.explained_variance_)[:, None]).float()
    straight = torch.from_numpy(pca.mean_).float() + traversal(scaled)

    factors, kinds = probe.factors, probe.categorical

    def faces(images: Tensor, codes: np.ndarray) -> Faces:
        images = images.clamp(0, 1).reshape(AXES, len(STEPS), *dataset.shape)
        parts = np.zeros((AXES, 0))
        if factors is not None:
            parts = disentanglement_score(codes, factors, kinds).matrix
        return Faces(images, parts, astray(images, x))

    return Found(
        faces(images, mean[:, order[:AXES]].numpy()),
        faces(straight, pca.transform(flat)),
        tuple(probe.factor_names),
        deviation.double().numpy(),
        effect[order].numpy(),
        polarized_regime(mean, variance).active[order].numpy(),
    )


def traversal(axes: Float[Tensor, "k p"]) -> Float[Tensor, "k steps p"]:
    """So many steps along each axis."""
    return axes[:, None] * torch.tensor(STEPS)[:, None]


def astray(images: Float[Tensor, "k steps c h w"], x: Float[Tensor, "n c h w"]) -> float:
    """How far the images off the mean are from the nearest of x, a pixel, root mean square."""
    off = images[:, [step != 0 for step in STEPS]].flatten(0, 1).flatten(1)
    nearest = torch.cdist(off, x.flatten(1)).min(1).values
    return float((nearest.square().mean() / off.shape[1]).sqrt())
