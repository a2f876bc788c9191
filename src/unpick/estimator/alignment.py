"""Turn latent spaces at once to where training would turn them slowly.

The prior does not change if the latent space is turned, and a dense network absorbs the turn: in
the last layer of the encoder and the first of the decoder. What changes is what a diagonal
posterior costs (Zietlow 2022, eq. 3.23; Rolinek et al. 2019): to second order the mean over
rows of

    1/2 sum_j log(1 + 2 |J R e_j|^2 / beta)

J the decoder's Jacobian, R the rotation. This is the price that training lowers by turning the
axes, at a speed that falls with beta. For a linear decoder the best R is its right singular
vectors; for others one rotation serves all rows, and training does the rest.
"""

from itertools import combinations

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.func import jvp

from unpick.models import Autoencoder, Model
from unpick.models.networks import Dense

SWEEPS = 3  # over all planes
ANGLES = np.linspace(-np.pi / 4, np.pi / 4, 17)  # beyond these a turn is a swap of two latents
WORTH = 1e-3  # nats by which the price must fall

Array = np.ndarray


def ensemble_jacobians(model: Model, z: Float[Tensor, "s n d"]) -> Float[Tensor, "s n p d"]:
    """Of each member's decoder at its own points: one forward pass of all members a latent."""
    columns = []
    for direction in torch.eye(z.shape[2], device=z.device, dtype=z.dtype):
        moved = jvp(model.decode_mean, (z,), (direction.expand_as(z).contiguous(),))
        columns.append(moved[1].flatten(2).detach())
    return torch.stack(columns, 3)


def price(grams: Float[Array, "*s n d d"], beta: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """What noise costs along these axes, in nats a row, up to what no rotation changes."""
    lengths = np.diagonal(grams, axis1=-2, axis2=-1)
    return 0.5 * np.log1p(2 * lengths / np.asarray(beta)[..., None, None]).sum(-1).mean(-1)


def best_rotations(
    grams: Float[Array, "s n d d"], beta: Float[Array, "s"]
) -> tuple[Float[Array, "s d d"], Float[Array, "s n d d"]]:
    """For each member the rotation that makes the price least, plane by plane.

    It starts from the axes as they are, or from the eigenvectors of the mean Gram matrix if those
    are better.

    Args:
        grams: J^T J of each member at several rows.
        beta: Weight of the KL of each member.

    Returns:
        The rotations, and the Gram matrices of the turned axes.

    Example:
        >>> turn = np.array([[0.8, -0.6], [0.6, 0.8]])
        >>> grams = (turn @ np.diag([4.0, 1.0]) @ turn.T)[None, None]
        >>> found, _ = best_rotations(grams, np.array([0.1]))
        >>> np.abs(found[0].T @ turn).round(3).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    _, start = np.linalg.eigh(grams.mean(1))
    start = start[:, :, ::-1].copy()
    worse = price(_turned(grams, start), beta) >= price(grams, beta)
    start[worse] = np.eye(grams.shape[-1])
    rotation, turned = start, _turned(grams, start)
    for _ in range(SWEEPS):
        before = price(turned, beta)
        for a, b in combinations(range(grams.shape[-1]), 2):
            angle = _best_angles(turned, a, b, beta)
            c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
            for matrix in (rotation, turned, turned.swapaxes(-1, -2)):
                _turn_columns(matrix, a, b, c, s)
        if (before - price(turned, beta)).max() < WORTH:
            break
    return rotation, turned


def _turned(
    grams: Float[Array, "s n d d"], rotation: Float[Array, "s d d"]
) -> Float[Array, "s n d d"]:
    return rotation.swapaxes(1, 2)[:, None] @ grams @ rotation[:, None]


def _turn_columns(matrix: Array, a: int, b: int, c: Array, s: Array) -> None:
    """Replace the last axis' entries a and b by those of turned axes, in place."""
    shape = (len(c), *[1] * (matrix.ndim - 2))
    c, s = c.reshape(shape), s.reshape(shape)
    first, second = matrix[..., a].copy(), matrix[..., b].copy()
    matrix[..., a] = c * first + s * second
    matrix[..., b] = c * second - s * first


def _best_angles(
    grams: Float[Array, "s n d d"], a: int, b: int, beta: Float[Array, "s"]
) -> Float[Array, "s"]:
    """For each member the angle at which the price of two latents is least; 0 if as good."""
    first, second, mixed = (grams[..., i, j, None] for i, j in ((a, a), (b, b), (a, b)))

    def costs(angles: Float[Array, "s k"]) -> Float[Array, "s k"]:
        c, s = np.cos(angles)[:, None], np.sin(angles)[:, None]
        along = c * c * first + s * s * second + 2 * c * s * mixed
        across = first + second - along
        scale = 2 / beta[:, None, None]
        noise = np.log1p(scale * np.maximum(along, 0)) + np.log1p(scale * np.maximum(across, 0))
        return noise.mean(1) / 2

    members = np.arange(len(grams))
    coarse = ANGLES[costs(np.tile(ANGLES, (len(grams), 1))).argmin(1)]
    fine = coarse[:, None] + ANGLES / len(ANGLES)
    found = costs(fine)
    best = found.argmin(1)
    gain = costs(np.zeros((len(grams), 1)))[:, 0] - found[members, best]
    return np.where(gain > WORTH / 10, fine[members, best], 0.0)


@torch.no_grad()
def turn_latents(
    model: Model,
    z: Float[Tensor, "s n d"],
    mean_log_variance: Float[Tensor, "s d"],
    beta: Float[Array, "s"],
) -> Bool[Array, "s"]:
    """Turn the latent space of each member of a dense ensemble, in place, where it pays.

    The weights of the log-variances follow to first order, and their biases are set so that the
    mean is that of the best posterior for the turned axes (Allen 2024, eq. 7).

    Args:
        model: The ensemble; other networks than ours are left as they are.
        z: Codes at which decoders are differentiated.
        mean_log_variance: Of the posteriors, over rows.
        beta: One a member.

    Returns:
        Which members were turned.
    """
    d = z.shape[2]
    none = np.zeros(len(z), dtype=bool)
    if not isinstance(model, Autoencoder) or not isinstance(model.encoder, Dense) or d < 2:
        return none
    assert isinstance(model.decoder, Dense)
    jacobians = ensemble_jacobians(model, z).double().cpu()
    grams = (jacobians.mT @ jacobians).numpy()
    if not np.isfinite(grams).all():
        return none
    rotations, turned = best_rotations(grams, beta)
    worth = price(grams, beta) - price(turned, beta) >= WORTH
    rotations[~worth] = np.eye(d)
    rotation = torch.from_numpy(rotations).to(z)
    spread = rotation.square()
    (weight, bias), (first, _) = (
        model.encoder.weights_and_biases[-1],
        model.decoder.weights_and_biases[0],
    )
    for parameter in (weight, bias):  # means, then log-variances
        halves = parameter[..., :d] @ rotation, parameter[..., d:] @ spread
        parameter.copy_(torch.cat(halves, -1))
    first.copy_(rotation.mT @ first)
    lengths = np.diagonal(turned, axis1=-2, axis2=-1)
    best = -np.log1p(2 * lengths / beta[:, None, None]).mean(1)
    now = (mean_log_variance[:, None] @ spread)[:, 0]
    shift = torch.from_numpy(best).to(z) - now
    bias[:, 0, d:] += torch.where(torch.from_numpy(worth).to(z.device)[:, None], shift, 0.0)
    return worth
