"""From numbers to findings: measure a model and judge what was measured."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from unpick.diagnosis import findings
from unpick.diagnosis.alignment import judge_alignment
from unpick.diagnosis.beta import Beta, judge_beta
from unpick.diagnosis.bottom_line import Facts, bottom_line
from unpick.diagnosis.factors import describe_factors, information_shares
from unpick.diagnosis.findings import Finding, rests_on
from unpick.diagnosis.local import Examined, Local, explained_share
from unpick.diagnosis.result import Diagnosis
from unpick.geometry import (
    implied_beta,
    optimal_variance,
    posterior_agreement,
)
from unpick.geometry.optimal_posterior import ACTIVE_BELOW
from unpick.metrics import scorecard
from unpick.probe import Probe
from unpick.probe.checks import Slope
from unpick.probe.latents import judge_latents

SCORED = 64  # latents up to which metrics of factors are taken
RESIDUALS = 200  # observations whose residuals are looked at, at most


def examine(examined: Examined, slope: Slope) -> Diagnosis:
    """Judge a model; without a slope of the decoder only the encoder is judged."""
    probe, local, model = examined.probe, examined.local, examined.model
    n_factors = None if probe.factors is None else probe.factors.shape[1]
    explained = explained_share(probe)
    few = probe.at(torch.arange(min(len(probe), RESIDUALS)))
    mistakes = findings.find_mistakes(probe, few.reconstructions, probe.variance)
    if local is None:
        return _without_slope(examined, slope, mistakes, explained)
    posterior = implied = optimal = None
    found = judge_latents(
        local.mean,
        local.variance,
        local.norms,
        local.curvature,
        local.conditional,
        probe.error * math.sqrt(math.prod(probe.shape) / model.locations),
        n_factors,
    )
    used, heard, active, regime = found.used, found.heard, found.active, found.regime
    if local.conditional is not None:
        implied = implied_beta(local.conditional[:, heard], local.curvature[:, heard])
    if implied is not None and local.conditional is not None and active.any() and implied.beta > 0:
        hessian = -torch.diag_embed(local.curvature)
        optimal = optimal_variance(hessian, implied.beta)
        posterior = posterior_agreement(
            local.conditional[:, active], hessian[:, active][:, :, active], implied.beta
        )
    axes = judge_alignment(local.gram, active, local.contrast_of_mean)
    full = probe.codes.factor is not None
    latents = findings.describe_latents(
        active, used & ~heard, None if regime is None else regime.mixed, explained, examined.noun
    )
    linearity = findings.describe_linearity(local.missed)
    linearity = rests_on(linearity, *mistakes, latents)
    alignment = findings.describe_alignment(axes, active, full, local.asked)
    alignment = rests_on(alignment, *mistakes, latents, linearity)
    variances = findings.describe_posterior(posterior, implied, probe.beta)
    variances = rests_on(variances, *mistakes, latents, linearity)
    word = None if axes is None else axes.word
    if word == "aligned" and alignment.mark != "good":
        word = "undecided"
    agrees = findings.agrees_with(implied, probe.beta)
    verdict, factor, about_beta = judge_beta(
        None if local.variance is None else local.variance.mean(0),
        active,
        examined.noun,
        n_factors,
        word,
        full,
        findings.fits_decoder(posterior) and agrees,
    )
    about_beta = rests_on(about_beta, *mistakes, latents)
    if verdict == "right" and about_beta.mark != "good":
        verdict = "undecided"
    scores = about_factors = None
    if probe.factors is not None and n_factors and 1 < probe.latents <= SCORED:
        codes = probe.mean.double().numpy()
        scores = scorecard(codes, probe.factors, categorical=probe.categorical)
        if scores["MIG"].result is not None:  # there are enough observations for the information
            shares = information_shares(codes, probe.factors)
            about_factors = describe_factors(shares, probe.factor_names)
    said = [*mistakes, latents, alignment, variances, about_beta, linearity, about_factors]
    kept = tuple(finding for finding in said if finding is not None)
    weakest = None if local.variance is None else float(local.variance.mean(0).max())
    facts = Facts(
        findings=kept,
        explained=explained,
        on=int(active.sum()),
        latents=len(active),
        noun=examined.noun,
        alignment=axes,
        beta=verdict,
        factor=factor,
        trained_with=_trained_with(probe, None if implied is None else implied.beta),
        given=probe.beta is not None,
        implied=None if agrees or implied is None else implied.beta,
        weakest=weakest,
        next_beta=_next_beta(few, local, active, n_factors),
    )
    return Diagnosis(
        bottom_line=bottom_line(facts),
        findings=kept,
        beta=verdict,
        beta_factor=factor,
        active=active,
        order=tuple(found.order),
        regime=regime,
        axes=axes,
        alignment=None if axes is None else axes.distance,
        cosines=None if axes is None else axes.cosines,
        contrast=None if axes is None else axes.contrast,
        posterior=posterior,
        implied_beta=implied,
        optimal_variance=optimal,
        residual=local.missed,
        assumed=model.assumed,
        explained=explained,
        scores=scores,
    )


def _without_slope(
    examined: Examined, slope: Slope, mistakes: list[Finding], explained: float
) -> Diagnosis:
    """The findings about a model whose decoder has no Jacobian."""
    probe = examined.probe
    d = probe.latents // examined.model.locations
    none: Bool[Tensor, "d"] = torch.zeros(d, dtype=torch.bool)
    silent = "Not judged, because the decoder has no slope."
    about_beta = Finding("Beta", "note", silent)
    verdict: Beta = "undecided"
    if slope == "constant" and probe.variance is not None and probe.variance.min() > ACTIVE_BELOW:
        verdict, _, about_beta = judge_beta(
            probe.variance.mean(0),
            none.repeat_interleave(examined.model.locations),
            "latent",
            None,
            None,
            False,
            False,
        )
    kept = (
        *mistakes,
        findings.describe_slope(slope),
        Finding("Alignment", "note", silent),
        about_beta,
    )
    few = probe.at(torch.arange(min(len(probe), RESIDUALS)))
    facts = Facts(
        findings=kept,
        explained=explained,
        on=0,
        latents=d,
        noun=examined.noun,
        alignment=None,
        beta=verdict,
        factor=None,
        trained_with=probe.beta,
        given=probe.beta is not None,
        implied=None,
        weakest=None,
        next_beta=_variance_left(few, 1),
    )
    return Diagnosis(
        bottom_line=bottom_line(facts),
        findings=kept,
        beta=verdict,
        beta_factor=None,
        active=none,
        order=tuple(range(d)),
        regime=None,
        axes=None,
        alignment=None,
        cosines=None,
        contrast=None,
        posterior=None,
        implied_beta=None,
        optimal_variance=None,
        residual=None,
        assumed=examined.model.assumed,
        explained=explained,
    )


def _trained_with(probe: Probe, implied: float | None) -> float | None:
    """The beta that was given, or else the implied one."""
    if probe.beta is not None:
        return probe.beta
    return implied if implied is not None and implied > 0 else None


def _next_beta(
    few: Probe, local: Local, active: Bool[Tensor, "d"], n_factors: int | None
) -> float | None:
    """The beta to train with so that one more latent, or all factors, come into use.

    In a linear model with the squared error a direction of variance l is in use if beta < 2 l, and
    at beta = l its posterior variance is a half. For an autoencoder l is the variance that its
    weakest latent makes; else the variances are those of what reconstructions leave over.
    """
    if local.variance is not None:
        return _variance_left(few, max(1, (n_factors or 0) - int(active.sum())))
    if few.likelihood != "gaussian" or not active.any():
        return None
    return float((local.spread * local.norms)[active].square().min())


def _variance_left(few: Probe, missing: int) -> float | None:
    """The variance along the given principal direction of what reconstructions leave over."""
    if few.likelihood != "gaussian" or missing > len(few):
        return None
    left: Float[Tensor, "n p"] = (few.observations - few.reconstructions).flatten(1).double()
    left = left - left.mean(0)
    return float(torch.linalg.eigvalsh(left @ left.T / len(left))[-missing])
