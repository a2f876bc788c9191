"""Diagnose any model: measure it, judge the numbers, print and draw them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from jaxtyping import Float
from rich.console import Console
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from unpick.diagnosis.examine import examine
from unpick.diagnosis.local import Examined, fitting_batch, linearise
from unpick.diagnosis.page import print_diagnosis, write_diagnosis
from unpick.diagnosis.result import Diagnosis
from unpick.models.likelihood import Likelihood
from unpick.names import unknown_choice
from unpick.probe import Probe
from unpick.probe.checks import as_observations, check_model, find_slope
from unpick.probe.models import Model, read_model
from unpick.probe.trace import evaluating, without_trace

LEAST = 30  # observations with factors


def diagnose(
    model: Any,  # noqa: ANN401
    decode: Any = None,  # noqa: ANN401
    x: Any = None,  # noqa: ANN401
    factors: Any = None,  # noqa: ANN401
    *,
    factor_names: Sequence[str] | None = None,
    categorical: Sequence[bool] | None = None,
    likelihood: Likelihood = "gaussian",
    beta: float | None = None,
    points: int | None = None,
    memory: float = 1.0,
    report: str | Path | None = None,
    show: bool = True,
    about: Mapping[str, str] | None = None,
) -> Diagnosis:
    """Say which latents of a model are active, how well they align, and whether beta was right.

    Call it as `diagnose(model, x)` or as `diagnose(encode, decode, x)`; factors may follow. The
    model is called, never changed: not its mode, gradients, device, nor any random state. What is
    assumed about it is said, and what cannot be told raises a question.

    Args:
        model: A module with `encode` and `decode`, or `encoder` and `decoder`, or a `forward` that
            returns the parameters of the posterior beside a decoder. Or an encoder alone, which
            maps observations to a mean, (mean, log-variance), (mean, Cholesky factor) or a
            distribution. Latents may have the shape (n, channels, height, width).
        decode: Maps latents to mean observations: after the sigmoid, if there is one. Leave it out
            for a model that has both.
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
        points: At how many of the observations to take the decoder's Jacobian; 500 by default,
            fewer for more than 32 latents.
        memory: Gigabytes to work in, beside the model and x. Points and observations are thinned
            to fit.
        report: Folder for an HTML page with pictures; none is written by default.
        show: Print what was found.
        about: What the page says of the model, the data and the command, by name.
    """
    if decode is not None and not callable(decode):  # diagnose(model, x, factors)
        if x is not None and factors is not None:
            raise ValueError("after diagnose(model, x, factors) nothing may follow by position")
        decode, x, factors = None, decode, x if factors is None else factors
    if likelihood not in get_args(Likelihood):
        raise unknown_choice("likelihood", likelihood, Likelihood)
    if beta is not None and not beta > 0:
        raise ValueError(f"beta must be positive, got {beta}")
    if points is not None and points < 2:
        raise ValueError(f"points must be at least 2, got {points}")
    if not memory > 0:
        raise ValueError(f"memory must be positive, got {memory}")
    x = as_observations(x)
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
    room = int(memory * 2**30)
    # Fused attention has no forward-mode derivative; plain attention has.
    plain = sdpa_kernel(SDPBackend.MATH)
    with evaluating(model, decode) as differs, without_trace(model, decode), plain:
        read = read_model(model, decode, x)
        assumed = [*read.assumed]
        if differs:
            assumed.append("It was in training mode, and was examined in evaluation mode.")
        x, known, thinned = _observations(read, x, known, room)
        probe = Probe(
            read.encode, read.decode, x, known, factor_names or (), categorical, likelihood, beta
        )
        probe = replace(probe, batch=fitting_batch(probe, room))
        check_model(probe)
        local = None
        slope = find_slope(probe)
        if slope == "smooth":
            local = linearise(probe, read.locations, points, room)
        examined = Examined(probe, replace(read, assumed=(*assumed, *thinned)), local)
        diagnosis = examine(examined, slope)
        if report is not None:
            page = write_diagnosis(Path(report), examined, diagnosis, about or {})
            diagnosis = replace(diagnosis, page=page)
    if show:
        print_diagnosis(examined, diagnosis, Console())
    return diagnosis


def _observations(
    model: Model, x: Tensor | np.ndarray, known: np.ndarray | None, room: int
) -> tuple[Tensor, np.ndarray | None, list[str]]:
    """The observations in the model's scale, a random choice if all would not fit."""
    x = torch.as_tensor(x)
    latents, pixels = int(np.prod(model.latent_shape)), int(np.prod(x.shape[1:]))
    each = 40 * latents + (0 if model.scale.keeps else 4 * pixels)  # bytes: codes, copies of x
    fit = max(2, room // 4 // each)
    if fit >= len(x):
        return model.scale.apply(x), known, []
    rows = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))[:fit].sort().values
    said = f"{fit} of {len(x)} observations were encoded, to stay within the memory."
    return model.scale.apply(x[rows]), None if known is None else known[rows.numpy()], [said]


def _numeric_factors(factors: Any, n: int) -> tuple[Float[np.ndarray, "n k"], list[bool]]:  # noqa: ANN401
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
