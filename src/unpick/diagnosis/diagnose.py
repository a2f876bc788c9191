"""The instruments turned on anybody's model."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from jaxtyping import Float
from rich.console import Console
from torch import Tensor

from unpick.diagnosis import findings
from unpick.diagnosis.page import print_diagnosis, write_diagnosis
from unpick.diagnosis.result import Diagnosis
from unpick.diagnosis.subject import Subject, examine
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
from unpick.geometry.optimal_posterior import ACTIVE_BELOW
from unpick.geometry.singular import gram
from unpick.metrics import scorecard
from unpick.models.likelihood import Likelihood
from unpick.probe.trace import refuse_training_mode, without_trace

FAINT = 0.05  # an autoencoder's latent that varies less, relative to the widest, is not in use
SHARP = 1e-8  # the smallest variance of a pixel that a Bernoulli curvature divides by
LEAST = 30  # observations with factors
PORTION = 32  # Jacobians at a time
NOISE = 32  # draws of posterior noise an observation


def diagnose(
    encode: Callable[[Any], Any],
    decode: Callable[[Any], Any],
    x: Tensor | np.ndarray,
    factors: Tensor | np.ndarray | Sequence[Any] | None = None,
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
        factors: The generative factors (n, k), if they are known: numbers, or names of classes.
            Constant ones are left out.
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
    if likelihood not in get_args(Likelihood):
        raise ValueError(f"likelihood must be one of {get_args(Likelihood)}, got {likelihood!r}")
    if beta is not None and not beta > 0:
        raise ValueError(f"beta must be positive, got {beta}")
    refuse_training_mode(encode=encode, decode=decode)
    known = None
    if factors is not None:
        known, varied = _factors(factors, len(x))
        names = list(factor_names or [f"factor {k}" for k in range(len(varied))])
        for what, given in (("factor_names", names), ("categorical", categorical)):
            if given is not None and len(given) != len(varied):
                raise ValueError(f"{what}: {len(given)} for {len(varied)} factors")
        factor_names = [name for name, keep in zip(names, varied, strict=True) if keep]
        if categorical is not None:
            categorical = [c for c, keep in zip(categorical, varied, strict=True) if keep]
    with without_trace(encode, decode):
        subject = examine(encode, decode, x, points)
        diagnosis = _judge(subject, likelihood, beta, None if known is None else known.shape[1])
        if known is not None and known.shape[1] and subject.mean.shape[1] > 1:
            codes = subject.codes.mean.cpu().double().numpy()
            diagnosis = replace(diagnosis, scores=scorecard(codes, known, categorical=categorical))
        if report is not None:
            page = write_diagnosis(Path(report), subject, diagnosis, factor_names or ())
            diagnosis = replace(diagnosis, page=page)
    if show:
        print_diagnosis(subject, diagnosis, Console())
    return diagnosis


def _judge(
    subject: Subject, likelihood: Likelihood, beta: float | None, n_factors: int | None
) -> Diagnosis:
    """The numbers, and what they mean."""
    codes, rows, jacobians = subject.codes, subject.rows, subject.jacobians
    mean, conditional = codes.mean.cpu().double(), codes.conditional
    spread = mean.std(0, correction=0)
    regime = posterior = implied = asked = residual = variance = None
    if codes.variance is None or conditional is None:
        size = spread * subject.norms
        active, order = size > FAINT * size.max(), size.argsort(descending=True)
    else:
        variance = codes.variance.cpu().double()
        regime = polarized_regime(mean, variance, factors=n_factors)
        # A latent whose means hardly vary is in use all the same if it is precise.
        active = regime.active | (regime.mean_variance < ACTIVE_BELOW)
        order = regime.mean_variance.argsort()
        hessian = -_curvature(subject, likelihood)
        ours = conditional.cpu().double()[rows]
        implied = implied_beta(ours, -hessian.diagonal(dim1=1, dim2=2))
        if active.any() and implied.beta > 0:
            asked = optimal_variance(hessian, implied.beta)
            posterior = posterior_agreement(
                ours[:, active], hessian[:, active][:, :, active], implied.beta
            )
        deviation = codes.variance[rows.to(codes.variance.device)].sqrt().to(subject.mean)
        slopes = jacobians.to(subject.mean)
        residual = jacobian_residual(
            subject.decode, subject.mean, deviation, jacobians=slopes, samples=NOISE
        ).residual
    alignment = cosines = contrast = None
    if active.sum() > 1:
        alignment = distance_to_orthogonality(jacobians, active=active)
        cosines = column_cosines(jacobians, active=active)
        contrast = ima_contrast(jacobians, active=active)
    full = codes.factor is not None
    verdict, factor, about_beta = findings.beta_found(
        None if variance is None else variance.mean(0),
        active,
        n_factors,
        findings.is_aligned(alignment, cosines),
        full,
    )
    mixed = None if regime is None else regime.mixed
    return Diagnosis(
        findings=(
            *findings.suspicions(subject, likelihood == "bernoulli"),
            findings.latents_found(active, mixed, subject.explained),
            findings.alignment_found(alignment, cosines, active, full),
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
    p = subject.reconstruction.flatten(1)
    weight = (p * (1 - p)).clamp(min=SHARP).rsqrt()
    parts = zip(subject.jacobians.split(PORTION), weight.split(PORTION), strict=True)
    return torch.cat([gram(jacobians * w[:, :, None]) for jacobians, w in parts])


def _factors(
    factors: Tensor | np.ndarray | Sequence[Any], n: int
) -> tuple[Float[np.ndarray, "n k"], list[bool]]:
    """Factors as numbers, without those that are constant, and which those are."""
    known = np.asarray(factors.detach().cpu() if isinstance(factors, Tensor) else factors)
    known = known[:, None] if known.ndim == 1 else known
    if known.ndim != 2 or len(known) != n or n < LEAST:
        raise ValueError(
            f"factors must have one row for each of the {n} observations, {LEAST} at least, "
            f"got shape {known.shape}"
        )
    if not np.issubdtype(known.dtype, np.number):  # names of classes, or truth values
        known = np.stack([np.unique(column, return_inverse=True)[1] for column in known.T], axis=1)
    known = known.astype(float)
    if not np.isfinite(known).all():
        raise ValueError("factors must be finite")
    varied = [bool(np.ptp(column) > 0) for column in known.T]
    return known[:, varied], varied
