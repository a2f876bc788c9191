"""The deterministic ELBO of Allen (2024), and its error."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float

from unpick.study.ledger.checks import Order
from unpick.study.ledger.entry import Correction, Entry, Mutation
from unpick.theory.quadrature import gaussian_grid

Array = np.ndarray
Function = Callable[[Array], Array]
Likelihood = Callable[[Array, Array], Array]  # log p(x|theta) of each output
BETA = 2.0
SIGMA = 0.7  # of the Gaussian likelihood in A.4
CODES = np.linspace(-2, 2, 1601)
NOISE = np.linspace(-6, 6, 61)  # the trapezoidal rule does not mind kinks


@dataclass(frozen=True)
class Activation:
    """The activation of a hidden layer, with first and second derivative."""

    value: Function
    slope: Function
    bend: Function


SMOOTH = Activation(
    np.tanh, lambda a: 1 - np.tanh(a) ** 2, lambda a: -2 * np.tanh(a) * (1 - np.tanh(a) ** 2)
)
KINKED = Activation(lambda a: np.maximum(a, 0), lambda a: (a > 0) * 1.0, np.zeros_like)


def _decode(function: Function, z: Float[Array, "n"], power: int = 0) -> Float[Array, "n 3"]:
    """One latent, four hidden units, three outputs; with derivatives of a certain power."""
    draw = np.random.default_rng(0)
    weights, shifts = draw.normal(size=4), draw.normal(size=4) / 2
    mixing = draw.normal(size=(3, 4))
    return (function(z[:, None] * weights + shifts) * weights**power) @ mixing.T


def _expected(
    likelihood: Likelihood, activation: Activation, x: Float[Array, "*n 3"], scale: float
) -> Float[Array, "n"]:
    """The log-likelihood at the codes, averaged over noise, by quadrature."""
    density = np.exp(-(NOISE**2) / 2)
    values = [
        likelihood(x, _decode(activation.value, CODES + scale * shift)).sum(1) for shift in NOISE
    ]
    return density / density.sum() @ np.array(values)


def _kl(scale: float) -> Float[Array, "n"]:
    """KL of N(code, scale^2) to N(0, 1), as the mean of the log-ratio, by quadrature."""
    nodes, weights = gaussian_grid(1, 10)
    steps = nodes[:, 0]
    log_ratio = np.square(CODES[:, None] + scale * steps) / 2 - steps**2 / 2 - np.log(scale)
    return np.asarray(log_ratio @ weights)


@dataclass(frozen=True)
class Expansion:
    """A Gaussian likelihood of unit variance, without its constant, at the codes of a grid.

    Attributes:
        at_mean: log p(x|z).
        expected: The same averaged over noise, by quadrature.
        bend: Its second derivative by z.
    """

    at_mean: Float[Array, "n"]
    expected: Float[Array, "n"]
    bend: Float[Array, "n"]


@cache
def expansion(activation: Activation, scale: float, residual: bool = True) -> Expansion:
    """The observation is fixed, or what is decoded."""
    output = _decode(activation.value, CODES)
    x = np.ones(3) if residual else output
    slope, bend = _decode(activation.slope, CODES, 1), _decode(activation.bend, CODES, 2)
    return Expansion(
        at_mean=-np.square(x - output).sum(1) / 2,
        expected=_expected(lambda x, m: -np.square(x - m) / 2, activation, x, scale),
        bend=((x - output) * bend).sum(1) - np.square(slope).sum(1),
    )


# Of log p(x|e(x)), H Sigma, |e(x)|^2, Sigma, log Sigma, one latent.
Objective = Callable[[Array, Array, Array, float, float], Array]


def _off(said: Float[Array, "n"], exact: Float[Array, "n"]) -> float:
    """Averaged over codes, as a share."""
    return float(np.abs(said - exact).mean() / np.abs(exact).mean())


def _elbo_error(objective: Objective, scale: float) -> float:
    """Relative error of the det-ELBO of a smooth decoder."""
    parts, variance = expansion(SMOOTH, scale), scale**2
    said = objective(parts.at_mean, parts.bend * variance, CODES**2, variance, np.log(variance))
    return _off(said, parts.expected - BETA * _kl(scale))


def _taylor_error(activation: Activation, scale: float) -> float:
    """Relative error of the expanded log-likelihood."""
    parts = expansion(activation, scale)
    return _off(parts.at_mean + parts.bend * scale**2 / 2, parts.expected)


def _sigmoid(theta: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-theta)))


@cache
def _exact(bernoulli: bool, scale: float) -> Float[Array, "n"]:
    """The ELBO of a smooth decoder at the codes, with its output's mean as the observation."""
    theta = _decode(SMOOTH.value, CODES)
    if bernoulli:
        fit = _expected(lambda x, t: x * t - np.logaddexp(0, t), SMOOTH, _sigmoid(theta), scale)
    else:
        fit = _expected(lambda x, t: -np.square(x - t) / (2 * SIGMA**2), SMOOTH, theta, scale)
    return fit - BETA * _kl(scale)


def _lines_error(dark: Function, scale: float) -> float:
    """The larger of both lines' errors; `dark` is what 1 - x is multiplied with, of s."""
    theta, slope = _decode(SMOOTH.value, CODES), _decode(SMOOTH.slope, CODES, 1)
    kl = (CODES**2 + scale**2 - np.log(scale**2) - 1) / 2
    gaussian = -np.square(slope).sum(1) * scale**2 / (2 * SIGMA**2)  # x is what is decoded
    x = s = _sigmoid(theta)
    fit = x * np.log(s) + (1 - x) * dark(s)
    bernoulli = (fit - slope**2 * s * (1 - s) * scale**2 / 2).sum(1)
    return max(
        _off(gaussian - BETA * kl, _exact(False, scale)),
        _off(bernoulli - BETA * kl, _exact(True, scale)),
    )


DETERMINISTIC = Entry(
    id="A-E5",
    source="Allen (2024), eq. 5 (also 15); Kumar and Poole (2020)",
    title="The deterministic ELBO",
    statement="Expanded to second order about the encoder's mean, the ELBO is the likelihood "
    "there, half of $\\mathrm{tr}(H \\Sigma)$, and $\\beta$ times the KL.",
    formula=r"\ell(x) \approx \log p(x|e(x)) + \frac{1}{2} H \odot \Sigma "
    r"- \frac{\beta}{2} (\|e(x)\|^2 + \mathrm{tr}\,\Sigma) - \log|\Sigma| - d",
    assumptions="Smooth decoder; $\\Sigma$ small against its bends.",
    printed=lambda fit, bend, code, variance, log_variance: (
        fit + bend / 2 - BETA / 2 * (code + variance) - log_variance - 1
    ),
    check=Order(
        _elbo_error,
        4.0,
        "mean error of the ELBO of a tanh decoder at 1601 codes, as a share of it",
    ),
    mutation=Mutation(
        "sign of $\\log|\\Sigma|$",
        lambda fit, bend, code, variance, log_variance: (
            fit + bend / 2 - BETA / 2 * (code + variance + log_variance - 1)
        ),
    ),
    correction=Correction(
        "The entropy belongs into the bracket, with the same factor, as eq. 16 has it.",
        r"\ell(x) \approx \log p(x|e(x)) + \frac{1}{2} H \odot \Sigma "
        r"- \frac{\beta}{2} (\|e(x)\|^2 + \mathrm{tr}\,\Sigma - \log|\Sigma| - d)",
        lambda fit, bend, code, variance, log_variance: (
            fit + bend / 2 - BETA / 2 * (code + variance - log_variance - 1)
        ),
    ),
    approximation=True,
    remark="A misplaced bracket: eq. 7 and appendix B use the right form. The error is of fourth "
    "order in the noise for smooth decoders; see A-SA.2 for others.",
)
TAYLOR = Entry(
    id="A-SA.2",
    source="Allen (2024), appendix A.2, point 1, and A.3",
    title="The expansion is of fourth order",
    statement="Odd powers of the noise cancel, so that the second-order expansion of the expected "
    "log-likelihood is off by terms of fourth order only.",
    formula=r"E \log p(x|e(x) + \epsilon) = \log p(x|e(x)) + \frac{1}{2} H \odot \Sigma "
    r"+ O(\epsilon^4)",
    assumptions="Decoder with four derivatives; for a piece-wise linear one the paper expects the "
    "expansion to be weaker near kinks.",
    printed=SMOOTH,
    check=Order(
        _taylor_error, 4.0, "mean error of the expected log-likelihood at 1601 codes, as a share"
    ),
    mutation=Mutation("a ReLU decoder", KINKED),
    approximation=True,
    remark="For ReLU the error is of second order in the noise, that is of the order of the term "
    "kept, and of third where the reconstruction is perfect: kinks are rare, but the noise that "
    "reaches one is not told by $H$.",
)
SPECIFIC: Entry[Function] = Entry(
    id="A-SA.4",
    source="Allen (2024), appendix A.4",
    title="The deterministic ELBO, Gaussian and Bernoulli",
    statement="For both likelihoods the det-ELBO is the fit at the encoder's mean, less the noise "
    "that the decoder's Jacobian passes on, weighted by the curvature of $-\\log p(x|\\theta)$, "
    "less $\\beta$ times the KL.",
    formula=r"\ell(x) \approx x^\top \log s(\theta) - \frac{1}{2} (D^\top B D) \odot \Sigma "
    r"- \beta\, \mathrm{KL}, \quad \theta = d(e(x))",
    assumptions="No residual, $x = \\hat x$, or a decoder without bends: that term of eq. 6 is "
    "dropped. $s$ is the sigmoid and $B$ the diagonal matrix of $s (1 - s)$; constants aside.",
    printed=np.zeros_like,
    check=Order(
        _lines_error,
        4.0,
        "mean error of the ELBO of tanh decoders at 1601 codes, as a share of it, the larger of "
        "Gaussian and Bernoulli",
    ),
    mutation=Mutation("Bernoulli with $(1 - x)^\\top \\log s$", np.log),
    correction=Correction(
        "The Gaussian line is right: "
        "$-\\frac{1}{2 \\sigma^2} (\\|x - \\theta\\|^2 + D^\\top D \\odot \\Sigma)$ less the KL. "
        "The Bernoulli line lacks what black pixels add.",
        r"\ell(x) \approx x^\top \log s(\theta) + (1 - x)^\top \log(1 - s(\theta)) "
        r"- \frac{1}{2} (D^\top B D) \odot \Sigma - \beta\, \mathrm{KL}",
        lambda s: np.log(1 - s),
    ),
    approximation=True,
    remark="A slip: the regulariser is that of the whole likelihood. As printed a black image, "
    "$x = 0$, fits whatever is decoded.",
)
ENTRIES = (DETERMINISTIC, TAYLOR, SPECIFIC)
