"""Measures for tables 1 and 2 of Bhowal et al. (2024): errors of local decoders."""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float
from scipy.stats import wilcoxon
from torch import Tensor

from unpick.geometry import fit_local_decoder, jacobian_residual
from unpick.geometry.local_decoder import LocalErrors
from unpick.geometry.released_decoder import fit_released_decoder, released_errors
from unpick.probe import Probe

OBSERVATIONS = 100  # first of the test part: the same for every model of a data set
# Compared observation by observation: the first is claimed to have the larger error.
PAIRS = (
    ("linear", "nonlinear"),
    ("Jacobian", "linear"),
    ("Jacobian", "nonlinear"),
    ("Jacobian, loss", "nonlinear, loss"),
)


def local_decoders(probe: Probe) -> dict[str, float]:
    """`local_errors` at the first test observations."""
    near = probe.first(OBSERVATIONS)
    assert near.variance is not None  # no objective of the study has points for posteriors
    return local_errors(near.decoder, near.mean, near.variance.sqrt())


def local_errors(
    decode: Callable[[Tensor], Tensor], mean: Float[Tensor, "n d"], deviation: Float[Tensor, "n d"]
) -> dict[str, float]:
    """Errors of the Jacobian, a line and a tanh on the same noise, and the released numbers.

    `Jacobian`, `linear`, `nonlinear`: mean relative residual on fresh noise (eq. 11, 12). `even`:
    the part of it that no odd map without an offset can remove. With `, loss`: error of the
    stochastic loss (A.8.2). For each of PAIRS: the mean difference over observations
    (`gain, A to B`) and its p-value (`p, A to B`, see `paired_p_value`).

    `released ...`: the number that the released code prints with its defaults; with `, unfitted`
    before the single step of its fit; with `, fitted` for our fits.

    `noise`: the sum of the latents' variances, mean over observations.

    Args:
        decode: The mean decoder, after its output nonlinearity: errors are squared ones.
        mean: Posterior mean of each observation.
        deviation: Posterior standard deviation of each observation.
    """
    line = fit_local_decoder(decode, mean, deviation, nonlinearity="linear")
    curved = fit_local_decoder(decode, mean, deviation, nonlinearity="tanh")
    found = {
        "Jacobian": jacobian_residual(decode, mean, deviation),
        "linear": line.errors,
        "nonlinear": curved.errors,
    }
    values = {name: errors.residual for name, errors in found.items()}
    values["even"] = float(line.errors.even.mean())
    values |= {f"{name}, loss": errors.loss_error for name, errors in found.items()}
    each = {name: errors.per_sample for name, errors in found.items()}
    each |= {f"{name}, loss": loss_errors(errors) for name, errors in found.items()}
    for first, second in PAIRS:
        difference = (each[first] - each[second]).numpy()
        values[f"gain, {first} to {second}"] = float(difference.mean())
        values[f"p, {first} to {second}"] = paired_p_value(difference)
    for name, fit in (("linear", line), ("nonlinear", curved)):
        values[f"released {name}, fitted"] = released_errors(decode, mean, deviation, fit).fit
        for steps, when in ((0, ", unfitted"), (1, "")):
            released = fit_released_decoder(
                decode, mean, deviation, nonlinearity=fit.nonlinearity, steps=steps
            )
            printed = released_errors(decode, mean, deviation, released)
            values[f"released {name}{when}"] = printed.fit
            values["released Jacobian"] = printed.jacobian  # the same for every fit
    values["noise"] = float(deviation.square().sum(1).mean())
    return values


def loss_errors(errors: LocalErrors) -> Float[Tensor, "n"]:
    """Squared relative error of each observation's stochastic loss; 0 where nothing changes."""
    ratio = torch.where(errors.actual > 0, errors.approximated / errors.actual, 1.0)
    return (ratio - 1).square()


def paired_p_value(difference: Float[np.ndarray, "n"]) -> float:
    """One-sided p-value of Wilcoxon's signed ranks that differences are positive; 1 if all are 0.

    Where posteriors are wide, single observations have large differences, which would dominate a
    t-test. The p-value generalises to other observations of the same model, not to other models.
    A p-value near 1 says that differences are negative.
    """
    if not difference.any():
        return 1.0
    return float(wilcoxon(difference, alternative="greater").pvalue)
