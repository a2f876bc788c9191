"""DtO of many untrained networks and of logits, and the angle of two latents."""

from itertools import product
from typing import get_args

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.data import split
from unpick.geometry import decoder_jacobians, distance_to_orthogonality
from unpick.models import Model, build
from unpick.models.networks import Weights
from unpick.papers.zietlow2022.chapter3 import CLOUDS
from unpick.papers.zietlow2022.controls.cells import variant
from unpick.probe import Probe
from unpick.probe.measures import JACOBIANS
from unpick.study.study import Scale

NETWORKS = 2000  # untrained ones
AT = 50  # observations at which each is linearised


def untrained(scale: Scale) -> dict[str, list[float]]:
    """Mean and deviation of DtO over first weights, by data set and their law."""
    found = {}
    for data, weights in product(CLOUDS, get_args(Weights)):
        config = variant(data, "beta-vae-sigma", scale, weights=weights)
        dataset = config.data.load()
        x = dataset.observe(split(dataset).test[:AT])
        each = dto_of_members(build(config.model, dataset.shape, range(NETWORKS)).eval(), x)
        found[f"{data}, {weights}"] = [float(each.mean()), float(each.std())]
    return found


def dto_of_members(model: Model, x: Float[Tensor, "n ..."]) -> Float[Tensor, "s"]:
    """The DtO of every member of an ensemble, at its own codes of some observations."""
    with torch.no_grad():
        z = model.encode(x.expand(model.members, *x.shape)).mean
    axes = torch.eye(z.shape[2])
    slopes = [torch.func.jvp(model.decode_mean, (z,), (axis.expand_as(z),))[1] for axis in axes]
    jacobians = torch.stack([slope.detach().flatten(2) for slope in slopes], -1)
    each = distance_to_orthogonality(jacobians.flatten(0, 1)).per_sample
    return each.reshape(len(z), -1).mean(1)


def angle(probe: Probe) -> dict[str, float]:
    """`angle, degrees`: between latent axes and singular directions; at most 45, two latents."""
    if probe.latents != 2:
        return {}
    distance = distance_to_orthogonality(probe.first(JACOBIANS).jacobians).per_sample
    return {"angle, degrees": float(degrees_of(distance).mean())}


def degrees_of(distance: Float[Tensor, "n"]) -> Float[Tensor, "n"]:
    """The angle of two latents at a distance of sqrt(8) sin(angle / 2)."""
    return (2 * (distance / 8**0.5).arcsin()).rad2deg()


def alignment_of_logits(probe: Probe) -> dict[str, float]:
    """`DtO of logits`: of the decoder before its sigmoid, where it has one."""
    if probe.logits is None or probe.likelihood != "bernoulli":
        return {}
    jacobians = decoder_jacobians(probe.logits, probe.first(JACOBIANS).mean)
    return {"DtO of logits": distance_to_orthogonality(jacobians).mean}
