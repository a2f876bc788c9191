"""Measures of the surface that a decoder with two latents spans, and PCA of the same cloud."""

import numpy as np
import torch
from jaxtyping import Float
from scipy.linalg import subspace_angles
from torch import Tensor

from unpick.data import Dataset, split
from unpick.geometry import column_cosines
from unpick.models import LinearModel, pca
from unpick.papers.zietlow2022.surfaces.cells import BENT
from unpick.probe import STANDARD, Measure, Probe
from unpick.study.study import Scale


def coordinate_curves(probe: Probe) -> dict[str, float]:
    """`squared error` and `crossing angle`; of a linear decoder also `plane` and `axis angle`."""
    values = {"squared error": squared_error(probe), "crossing angle": crossing_angle(probe)}
    if probe.jacobians.allclose(probe.jacobians[:1]):
        values |= {"plane angle": plane_angle(probe), "axis angle": axis_angle(probe)}
    return values


def squared_error(probe: Probe) -> float:
    """Squared distance of the points to their reconstructions, on average."""
    with torch.no_grad():
        found = probe.decoder(probe.mean).double()
    return float((found - probe.observations).square().sum(1).mean())


def crossing_angle(probe: Probe) -> float:
    """Angle between the two coordinate curves, in degrees, averaged over the points."""
    cosines = column_cosines(probe.jacobians.double()).per_sample
    return float(cosines.arccos().rad2deg().mean())


def plane_angle(probe: Probe) -> float:
    """The largest angle between the plane of a linear decoder and that of PCA, in degrees."""
    angles = subspace_angles(_axes(probe).numpy(), fit_pca(_dataset(probe)).weights.numpy())
    return float(np.degrees(angles.max()))


def axis_angle(probe: Probe) -> float:
    """The larger angle of a linear decoder's axes with the principal directions, in degrees.

    The axes are compared in the order that fits better.
    """
    axes, directions = _axes(probe), fit_pca(_dataset(probe)).weights
    cosines = ((axes / axes.norm(dim=0)).T @ directions).abs().clamp(max=1)
    worst = torch.stack([cosines.diagonal().min(), cosines.flip(1).diagonal().min()])
    return float(worst.max().arccos().rad2deg())


def _axes(probe: Probe) -> Float[Tensor, "3 2"]:
    return probe.jacobians[0].double()


def _dataset(probe: Probe) -> Dataset:
    if probe.dataset is None:
        raise ValueError("probe must have a data set, whose training points PCA is fitted to")
    return probe.dataset


def fit_pca(dataset: Dataset) -> LinearModel:
    """PCA of the training points."""
    return pca(dataset.observe(split(dataset).train), 2)


def probe_pca(dataset: Dataset) -> Probe:
    """PCA of the training points, seen at the test points."""
    model = fit_pca(dataset)
    x = dataset.observe(split(dataset).test)
    return Probe(model.encode, model.decode, x, dataset=dataset)


def measure_pca(scale: Scale) -> dict[str, float]:
    """The same measures of PCA, which needs no run."""
    return coordinate_curves(probe_pca(BENT.load()))


READINGS: tuple[Measure, ...] = (*STANDARD, coordinate_curves)
