r"""Plain descent on the exact loss of a linear VAE with full covariance, for many members at once.

.. math:: L = tr[(I - WA) C (I - WA)^\top] + tr(W \Sigma W^\top)
          + \tfrac\beta2 (tr[A C A^\top] + tr\Sigma - \log\det\Sigma - k)

C is the covariance of centred data, A the encoder's mean, W the decoder, Sigma = L L^T the same
for every observation. There is no noise and no Adam. Turning A, W and L together leaves the loss
as it is. If L is any square matrix, it leaves the descent as it is, too. If L is triangular, with
its diagonal as exponentials as in our models, it does not.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float

from unpick.geometry import distance_to_orthogonality
from unpick.papers.zietlow2022.chapter3 import setting
from unpick.papers.zietlow2022.controls.cells import RATE
from unpick.study.study import Scale
from unpick.study.sweep import beta_of

Array = np.ndarray
MEMBERS = 1000
STEPS = (0, 100, 300, 1000, 3000, 10_000, 20_000)


def follow_factors(scale: Scale) -> dict[str, list[list[float]]]:
    """DtO of each member on `synth-lin` at each of `STEPS`, for both kinds of factor.

    Weights are Gaussian. Both kinds start from the same A and W; the square factor is the
    triangular one turned at random, so that no rotation changes its law.
    """
    config = setting("synth-lin", "beta-vae-sigma", scale)
    x = config.data.load().observe(torch.arange(10_000)).double().numpy()
    x = x - x.mean(0)
    generator = np.random.default_rng(0)
    a, w, logs = (
        generator.normal(size=(MEMBERS, *shape)) / np.sqrt(3 * inputs)
        for shape, inputs in (((2, 3), 3), ((3, 2), 2), ((3,), 3))
    )
    turns = np.linalg.qr(generator.normal(size=(MEMBERS, 2, 2)))[0]
    triangular = make_triangular(logs)
    course = {}
    for name, factor in (("triangular", triangular), ("square", turns @ triangular)):
        found = descend(a, w, factor, x.T @ x / len(x), beta_of(config), name == "triangular")
        distances = [
            distance_to_orthogonality(torch.from_numpy(each)).per_sample for each in found
        ]
        course[name] = [each.tolist() for each in distances]
    return course


def make_triangular(parameters: Float[Array, "s 3"]) -> Float[Array, "s 2 2"]:
    """L of two log-variances and the entry below the diagonal."""
    first, second, below = parameters.T
    zero = np.zeros_like(below)
    return np.stack([np.exp(first / 2), zero, below, np.exp(second / 2)], 1).reshape(-1, 2, 2)


def descend(
    a: Float[Array, "s 2 p"],
    w: Float[Array, "s p 2"],
    factor: Float[Array, "s 2 2"],
    covariance: Float[Array, "p p"],
    beta: float,
    triangular: bool,
    steps: Sequence[int] = STEPS,
    rate: float = RATE,
) -> list[Float[Array, "s p 2"]]:
    """The decoders after so many steps.

    Args:
        a: Encoders.
        w: Decoders.
        factor: L.
        covariance: Of the data.
        beta: Weight of the KL.
        triangular: Whether L stays triangular, and its diagonal descends as a log-variance.
        steps: At which to look, in their order.
        rate: Of the descent.
    """
    found, step = list[Array](), 0
    while True:
        if step == steps[len(found)]:
            found.append(w)
            if len(found) == len(steps):
                return found
        rest = covariance - w @ (a @ covariance)  # (I - W A) C
        noise = w @ factor
        slope_w = 2 * (noise @ factor.swapaxes(1, 2) - rest @ a.swapaxes(1, 2))
        slope_a = beta * a @ covariance - 2 * w.swapaxes(1, 2) @ rest
        slope = 2 * w.swapaxes(1, 2) @ noise + beta * factor  # without the log-determinant
        w, a, step = w - rate * slope_w, a - rate * slope_a, step + 1
        factor = (
            _step_triangular(factor, slope, beta, rate)
            if triangular
            else (factor - rate * (slope - beta * np.linalg.inv(factor).swapaxes(1, 2)))
        )


def _step_triangular(
    factor: Float[Array, "s 2 2"], slope: Float[Array, "s 2 2"], beta: float, rate: float
) -> Float[Array, "s 2 2"]:
    """Log-variances on the diagonal, a number below it."""
    moved = factor.copy()
    for i in (0, 1):
        moved[:, i, i] *= np.exp(-rate * (factor[:, i, i] * slope[:, i, i] - beta) / 4)
    moved[:, 1, 0] -= rate * slope[:, 1, 0]
    return moved
