"""The instruments turned on anybody's model."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from rich.console import Console
from torch import Tensor

from unpick.diagnosis import findings
from unpick.diagnosis.page import print_diagnosis, write_diagnosis
from unpick.diagnosis.result import Diagnosis
from unpick.diagnosis.subject import Subject, examine
from unpick.diagnosis.trace import refuse_training_mode, without_trace
from unpick.geometry import (
    column_cosines,
    distance_to_orthogonality,
    ima_contrast,
    implied_beta,
    jacobian_residual,
    optimal_variance,
    polarized_regime,
    posterior_agreement,
)
from unpick.geometry.singular import gram
from unpick.metrics import scorecard
from unpick.models.likelihood import Likelihood

FAINT = 0.05  # an autoencoder's latent that varies less, relative to the widest, is not in use
SHARP = 1e-4  # the smallest variance of a pixel that a Bernoulli curvature divides by
NOISE = 32  # draws of posterior noise an observation


def diagnose(
    encode: Callable[[Any], Any],
    decode: Callable[[Any], Any],
    x: Tensor | np.ndarray,
    factors: Tensor | np.ndarray | None = None,
    *,
    factor_names: Sequence[str] | None = None,
    categorical: Sequence[bool] | None = None,
    likelihood: Likelihood = "gaussian",
    beta: float | None = None,
    points: int = 500,
    report: str | Path | None = "diagnosis",
    show: bool = True,
) -> Diagnosis:
    """Say which latents of a model are alive, how they lie, and whether its beta was right.

    The model is called, never changed: not its mode, gradients, device, nor any random state.

    Args:
        encode: Maps observations to a mean, (mean, log-variance), (mean, Cholesky factor) or a
            torch distribution.
        decode: Maps latents (n, d) to mean observations: after the sigmoid, if there is one.
        x: Observations (n, ...), some hundreds at least, best not those trained on. Arrays are
            passed on as arrays, but as tensors to a torch module.
        factors: The generative factors (n, k), if they are known.
        factor_names: Their names.
        categorical: Which of them are classes without an order.
        likelihood: What the decoder's output is the mean of: `gaussian` means that the squared
            error was minimised, `bernoulli` the cross-entropy.
        beta: What the model was trained with, to compare with what its variances speak of: the
            weight of the KL beside a loss summed over pixels, |x - x'|^2 without a half.
        points: At how many of the observations to take the decoder's Jacobian.
        report: Folder for the HTML page with its pictures; None writes none.
        show: Print what was found.
    """
    refuse_training_mode(encode=encode, decode=decode)
    known = None if factors is None else _factors(factors, len(x))
    names = tuple(factor_names or ())
    if known is not None and names and len(names) != known.shape[1]:
        raise ValueError(f"factor_names: {len(names)} names for {known.shape[1]} factors")
    with without_trace():
        subject = examine(encode, decode, x, points)
        diagnosis = _judge(subject, likelihood, beta, None if known is None else known.shape[1])
        if known is not None:
            codes = subject.codes.mean.cpu().double().numpy()
            diagnosis = replace(diagnosis, scores=scorecard(codes, known, categorical=categorical))
        if report is not None:
            page = write_diagnosis(Path(report), subject, diagnosis, names)
            diagnosis = replace(diagnosis, page=page)
    if show:
        print_diagnosis(subject, diagnosis, Console())
    return diagnosis


def _judge(
    subject: Subject, likelihood: Likelihood, beta: float | None, n_factors: int | None
) -> Diagnosis:
    """The numbers, and what they mean."""
    codes, rows, jacobians = subject.codes, subject.rows, subject.jacobians
    mean, spread = codes.mean.cpu().double(), codes.mean.cpu().double().std(0, correction=0)
    regime = posterior = implied = asked = residual = variance = None
    if codes.variance is None:
        active = spread > FAINT * spread.max()
        order = (spread * subject.norms).argsort(descending=True)
    else:
        variance = codes.variance.cpu().double()
        regime = polarized_regime(mean, variance, factors=n_factors, jacobians=jacobians)
        active, order = regime.active, regime.mean_variance.argsort()
        hessian = -_curvature(subject, likelihood)
        implied = implied_beta(variance[rows], -hessian.diagonal(dim1=1, dim2=2))
        weight = beta or implied.beta
        if active.any() and weight > 0:
            asked = optimal_variance(hessian, weight)
            posterior = posterior_agreement(
                variance[rows][:, active], hessian[:, active][:, :, active], weight
            )
        deviation = codes.variance[rows.to(codes.variance.device)].sqrt()
        residual = jacobian_residual(
            subject.decode, subject.mean, deviation, samples=NOISE
        ).residual
    alignment = cosines = contrast = None
    if active.sum() > 1:
        alignment = distance_to_orthogonality(jacobians, active=active)
        cosines = column_cosines(jacobians, active=active)
        contrast = ima_contrast(jacobians, active=active)
    verdict, factor, about_beta = findings.beta_found(
        None if variance is None else variance.mean(0),
        active,
        n_factors,
        subject.explained,
        aligned=alignment is not None and alignment.relative < findings.ALIGNED,
    )
    mixed = None if regime is None else regime.mixed
    return Diagnosis(
        findings=(
            *findings.suspicions(subject),
            findings.latents_found(active, mixed, subject.explained),
            findings.alignment_found(alignment, cosines, active, codes.factor is not None),
            findings.posterior_found(posterior, implied, beta),
            about_beta,
            findings.linearity_found(residual),
        ),
        beta=verdict,
        beta_factor=factor,
        active=active,
        order=tuple(order.tolist()),
        regime=regime,
        alignment=alignment,
        cosines=cosines,
        contrast=contrast,
        posterior=posterior,
        implied_beta=implied,
        asked_variance=asked,
        residual=residual,
        explained=subject.explained,
    )


def _curvature(subject: Subject, likelihood: Likelihood) -> Float[Tensor, "m d d"]:
    """How sharply the distortion bends along the latents, in the Gauss-Newton form.

    2 J^T J for the squared error. For the cross-entropy, whose logits bend it by p (1 - p), the
    Jacobian of the mean p gives J^T diag(1 / (p (1 - p))) J.
    """
    if likelihood == "gaussian":
        return 2 * gram(subject.jacobians)
    p = subject.reconstruction.flatten(1).double()
    weight = (p * (1 - p)).clamp(min=SHARP).rsqrt()
    return gram(subject.jacobians.double() * weight[:, :, None])


def _factors(factors: Tensor | np.ndarray, n: int) -> Float[np.ndarray, "n k"]:
    known = np.asarray(factors.cpu() if isinstance(factors, Tensor) else factors, dtype=float)
    if known.ndim == 1:
        known = known[:, None]
    if known.ndim != 2 or len(known) != n:
        raise ValueError(
            f"factors must have one row for each of the {n} observations, got shape {known.shape}"
        )
    return known
