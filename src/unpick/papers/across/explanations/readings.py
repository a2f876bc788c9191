"""The quantities by which four papers explain disentanglement, measured on a beta-VAE."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from unpick.geometry import (
    deterministic_elbo,
    distance_to_orthogonality,
    fit_local_decoder,
    ima_contrast,
    likelihood_hessian,
    od_score,
    optimal_variance,
    posterior_agreement,
)
from unpick.geometry.optimal_posterior import ACTIVE_BELOW
from unpick.geometry.singular import gram
from unpick.metrics import mutual_information_gap
from unpick.models.posterior import Diagonal
from unpick.probe import Measure, Probe
from unpick.probe.measures import codes_and_factors, disentanglement, reconstruction
from unpick.study.study import Scale

POINTS = 300  # test observations at which the decoder is linearised
TURNS = 10  # random rotations of the latent space at each of them
FACTOR_BINS = 20  # of a continuous factor, for MIG


def scores(probe: Probe) -> dict[str, float]:
    """`MIG` and `DS` on test observations."""
    codes, factors = codes_and_factors(probe)
    assert probe.dataset is not None
    bins = None if probe.dataset.is_grid else FACTOR_BINS
    return {"MIG": mutual_information_gap(codes, factors, factor_bins=bins).score} | (
        disentanglement(probe)
    )


def latent_use(probe: Probe) -> dict[str, float]:
    """`KL` in nats, and `active` latents, those with E(sigma^2) < 0.8."""
    assert probe.variance is not None  # beta-VAEs have one
    return {
        "KL": float(Diagonal(probe.mean, probe.variance.log()).kl().mean()),
        "active": float((probe.variance.mean(0) < ACTIVE_BELOW).sum()),
    }


def explanations(probe: Probe) -> dict[str, float]:
    """How well the latent axes are aligned, by the quantity of each paper.

    Read at the first 300 test observations, over latents `in_use`, `compared` of them. What needs
    two latents is left out if there are fewer.

    - Rolinek et al. (2019), Zietlow (2022, eq. 3.25): `DtO` of the mean decoder's Jacobian.
    - Reizinger et al. (2022): `IMA`, its contrast, in nats.
    - Bhowal et al. (2024, section 4.4): `OD-Score`, matched, of the tanh local decoder's matrix;
      `OD-Score, Sigma` is one of its parts, `local residual` what the local decoder misses.
    - Allen (2024, eq. 6 and 7): `off-diagonal` part of the Hessian of log p(x|z), in Gauss-Newton
      form and `exact`; `ratio`, `scatter` and `correlation` of posterior variances and the best
      ones; `price`, the `contrast` of the best precision; `expansion gap`, the share of the
      noise's cost beyond second order.

    `X, turned` is X after a random rotation of the latent space; for DtO, `chance`.
    `DtO, likelihood` and `IMA, likelihood` are taken in the Hessian's metric, where a Bernoulli
    pixel counts by its variance; for `gaussian` they are DtO and IMA again.
    """
    probe = probe.first(POINTS)
    x, mean, variance = probe.observations, probe.mean, probe.variance
    decode, likelihood, beta = probe.logits, probe.likelihood, probe.beta
    assert variance is not None
    assert decode is not None
    assert beta is not None  # all are beta-VAEs
    deviation = variance.sqrt()
    newton = likelihood_hessian(decode, x, mean, likelihood=likelihood, form="gauss-newton")
    exact = likelihood_hessian(decode, x, mean, likelihood=likelihood)
    used = in_use(variance, newton, beta)
    values = {"compared": float(used.sum())}
    if not used.any():
        return values
    newton, exact = (h[:, used][:, :, used] for h in (newton, exact))
    agreement = posterior_agreement(variance[:, used], newton, beta)
    expansion = deterministic_elbo(
        decode, x, mean, deviation, beta=beta, likelihood=likelihood, samples=16
    )
    values |= {
        "ratio": agreement.ratio,
        "scatter": agreement.scatter,
        "correlation": agreement.correlation,
        "expansion gap": expansion.relative_gap,
    }
    if used.sum() < 2:
        return finite(values)
    local = fit_local_decoder(probe.decoder, mean, deviation)
    jacobian = root(gram(probe.jacobians, used))
    matrix, curvature = root(gram(local.matrices, used)), root(-newton)
    precision = root(torch.eye(int(used.sum())) - newton / beta)
    dto = distance_to_orthogonality(jacobian)
    values |= {
        "DtO": dto.mean,
        "chance": dto.chance,
        "degenerate": dto.degenerate,
        "local residual": local.residual,
        "OD-Score, Sigma": float(od_score(matrix).parts[:, 1].mean()),
        "off-diagonal, exact": off_diagonal(exact),
    }
    asked: tuple[tuple[str, Callable[[Tensor], float], Tensor], ...] = (
        ("IMA", contrast, jacobian),
        ("OD-Score", lambda m: od_score(m).mean, matrix),
        ("off-diagonal", lambda m: off_diagonal(gram(m)), curvature),
        ("price", contrast, precision),
        ("DtO, likelihood", lambda m: distance_to_orthogonality(m).mean, curvature),
        ("IMA, likelihood", contrast, curvature),
    )
    for name, measure, of in asked:
        values |= {name: measure(of), f"{name}, turned": measure(rotate_randomly(of))}
    return finite(values)


def in_use(
    variance: Float[Tensor, "n d"], hessian: Float[Tensor, "n d d"], beta: float
) -> Bool[Tensor, "d"]:
    """Latents with a mean variance below 0.8: the encoder's, or the best for the decoder.

    The others are noise to both, and turn freely. Before training only the decoder separates
    the two kinds; while latents become active only the encoder does.
    """
    best = optimal_variance(hessian, beta).mean(0)
    return torch.minimum(variance.double().mean(0), best) < ACTIVE_BELOW


def contrast(matrices: Float[Tensor, "n p d"]) -> float:
    """IMA contrast in nats; for a root of the precision I - H / beta the price of a diagonal.

    The best diagonal posterior has KL = 1/2 (sum_j log P_jj - log det P) to the best Gaussian
    one, whose precision is P. Beta times this KL is what a full covariance would save, to second
    order and with the same decoder. As beta goes to 0 the price becomes `IMA, likelihood`.
    """
    return ima_contrast(matrices).mean


def off_diagonal(hessian: Float[Tensor, "n d d"]) -> float:
    """Frobenius norm of the off-diagonal part over that of the diagonal, mean over samples."""
    diagonal = hessian.diagonal(dim1=1, dim2=2)
    off = hessian - torch.diag_embed(diagonal)
    return float((off.norm(dim=(1, 2)) / diagonal.norm(dim=1)).mean())


def root(gram: Float[Tensor, "n d d"]) -> Float[Tensor, "n d d"]:
    """A square matrix with this Gram matrix, so with the same lengths and angles of columns."""
    squares, v = torch.linalg.eigh(gram)
    return v * squares.clamp(min=0).sqrt()[:, None, :] @ v.mT


def rotate_randomly(matrices: Float[Tensor, "n p d"]) -> Float[Tensor, "m p d"]:
    """The matrices after random rotations of the latent space, ten for each."""
    n, d = len(matrices) * TURNS, matrices.shape[2]
    generator = torch.Generator().manual_seed(0)
    rotations, _ = torch.linalg.qr(torch.randn(n, d, d, generator=generator).to(matrices))
    return matrices.repeat_interleave(TURNS, 0) @ rotations


def finite(values: dict[str, float]) -> dict[str, float]:
    """Leave out values that are not finite, such as the correlation of constants."""
    return {name: value for name, value in values.items() if math.isfinite(value)}


def columns(ratio: float, cosine: float) -> Float[Tensor, "1 2 2"]:
    """A decoder with two columns: the first has length 1, the second `ratio`."""
    sine = math.sqrt(1 - cosine**2)
    return torch.tensor([[[1.0, ratio * cosine], [0.0, ratio * sine]]], dtype=torch.float64)


def compute_two_columns(scale: Scale) -> dict[str, Any]:
    """The quantities of a decoder with two columns, over `ratios` of their lengths.

    By the angle between the columns, then by quantity; the same at every scale.
    """
    ratios = np.geomspace(0.03, 1, 120).tolist()
    curves: dict[str, dict[str, list[float]]] = {}
    for degrees in (85, 60):
        decoders = [columns(ratio, math.cos(math.radians(degrees))) for ratio in ratios]
        curves[f"columns at {degrees} degrees"] = {
            "DtO": [distance_to_orthogonality(m).mean for m in decoders],
            "IMA contrast": [contrast(m) for m in decoders],
            "OD-Score": [od_score(m).mean for m in decoders],
            "Hessian off-diagonal": [off_diagonal(gram(m)) for m in decoders],
            "price, beta 0.1": [
                contrast(root(torch.eye(2) + 2 / 0.1 * gram(m))) for m in decoders
            ],
        }
    return {"ratios": ratios, "curves": curves}


READINGS: tuple[Measure, ...] = (scores, reconstruction, latent_use, explanations)
