"""Diagnose any model: measure it, judge the numbers, print and draw them."""

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
from unpick.metrics import scorecard
from unpick.models.likelihood import Likelihood
from unpick.names import unknown_choice
from unpick.probe import Probe
from unpick.probe.checks import check_model, check_observations
from unpick.probe.trace import first_weight, without_trace

FAINT = 0.05  # an autoencoder's latent that varies less, relative to the widest, is not in use
LEAST = 30  # observations with factors
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
    """Say which latents of a model are active, how well they align, and whether beta was right.

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
        beta: What the model was trained with, to compare with the beta that its variances imply:
            the weight of the KL beside a loss summed over pixels, |x - x'|^2 without a half.
        points: At how many of the observations to take the decoder's Jacobian.
        report: Folder for the HTML page with its pictures; None writes none.
        show: Print what was found.
    """
    if likelihood not in get_args(Likelihood):
        raise unknown_choice("likelihood", likelihood, Likelihood)
    if beta is not None and not beta > 0:
        raise ValueError(f"beta must be positive, got {beta}")
    check_observations(x)
    if points < 2:
        raise ValueError(f"points must be at least 2, got {points}")
    known = None
    if factors is not None:
        known, varied = _numeric_factors(factors, len(x))
        names = list(factor_names or [f"factor {k}" for k in range(len(varied))])
        for what, given in (("factor_names", names), ("categorical", categorical)):
            if given is not None and len(given) != len(varied):
                raise ValueError(f"{what}: {len(given)} for {len(varied)} factors")
        factor_names = [name for name, keep in zip(names, varied, strict=True) if keep]
        if categorical is not None:
            categorical = [c for c, keep in zip(categorical, varied, strict=True) if keep]
    weight = first_weight(encode)
    if weight is not None and not isinstance(x, Tensor):
        x = torch.as_tensor(x)
        x = x.to(weight.dtype) if x.is_floating_point() else x
    whole = Probe(encode, decode, x, known, factor_names or (), categorical, likelihood, beta)
    check_model(whole)
    rows = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))[:points]
    probe = whole.at(rows.sort().values)
    with without_trace(encode, decode):
        diagnosis = _examine(probe, None if known is None else known.shape[1])
        if known is not None and known.shape[1] and probe.latents > 1:
            codes = whole.mean.cpu().double().numpy()
            scores = scorecard(codes, known, categorical=categorical)
            diagnosis = replace(diagnosis, scores=scores)
        if report is not None:
            page = write_diagnosis(Path(report), probe, diagnosis, factor_names or ())
            diagnosis = replace(diagnosis, page=page)
    if show:
        print_diagnosis(probe, diagnosis, Console())
    return diagnosis


def _examine(probe: Probe, n_factors: int | None) -> Diagnosis:
    """Measure the model and describe the findings."""
    codes, jacobians = probe.all_codes, probe.jacobians
    mean, near = codes.mean.cpu().double(), probe.codes
    spread = mean.std(0, correction=0)
    regime = posterior = implied = optimal = residual = variance = None
    if codes.variance is None or near.variance is None or near.conditional is None:
        size = spread * probe.column_norms
        active, order = size > FAINT * size.max(), size.argsort(descending=True)
    else:
        variance = codes.variance.cpu().double()
        regime = polarized_regime(mean, variance, factors=n_factors)
        # A latent whose means hardly vary is in use all the same if it is precise.
        active = regime.active | (regime.mean_variance < ACTIVE_BELOW)
        order = regime.mean_variance.argsort()
        hessian = -probe.curvature
        ours = near.conditional.cpu().double()
        implied = implied_beta(ours, -hessian.diagonal(dim1=1, dim2=2))
        if active.any() and implied.beta > 0:
            optimal = optimal_variance(hessian, implied.beta)
            posterior = posterior_agreement(
                ours[:, active], hessian[:, active][:, :, active], implied.beta
            )
        deviation = near.variance.sqrt().to(probe.mean)
        slopes = jacobians.to(probe.mean)
        residual = jacobian_residual(
            probe.decoder, probe.mean, deviation, jacobians=slopes, samples=NOISE
        ).residual
    alignment = cosines = contrast = None
    if active.sum() > 1:
        alignment = distance_to_orthogonality(jacobians, active=active)
        cosines = column_cosines(jacobians, active=active)
        contrast = ima_contrast(jacobians, active=active)
    full = codes.factor is not None
    verdict, factor, about_beta = findings.judge_beta(
        None if variance is None else variance.mean(0),
        active,
        n_factors,
        findings.is_aligned(alignment, cosines),
        full,
    )
    mixed = None if regime is None else regime.mixed
    return Diagnosis(
        findings=(
            *findings.find_mistakes(probe, probe.likelihood == "bernoulli"),
            findings.describe_latents(active, mixed, probe.explained),
            findings.describe_alignment(alignment, cosines, active, full),
            findings.describe_posterior(posterior, implied, probe.beta),
            about_beta,
            findings.describe_linearity(residual),
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
        optimal_variance=optimal,
        residual=residual,
        explained=probe.explained,
    )


def _numeric_factors(
    factors: Tensor | np.ndarray | Sequence[Any], n: int
) -> tuple[Float[np.ndarray, "n k"], list[bool]]:
    """The factors that vary, as numbers, and for each given factor whether it varies."""
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
