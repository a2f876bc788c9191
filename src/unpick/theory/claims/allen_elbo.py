"""The deterministic ELBO of Allen (2024): what it is, and how near."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float

from unpick.theory.checks import Order
from unpick.theory.entry import Correction, Entry, Mutation

Array = np.ndarray
Function = Callable[[Array], Array]
BETA = 2.0


@dataclass(frozen=True)
class Activation:
    """Of a hidden layer, with first and second derivative."""

    value: Function
    slope: Function
    bend: Function


SMOOTH = Activation(
    np.tanh, lambda a: 1 - np.tanh(a) ** 2, lambda a: -2 * np.tanh(a) * (1 - np.tanh(a) ** 2)
)
KINKED = Activation(lambda a: np.maximum(a, 0), lambda a: (a > 0) * 1.0, np.zeros_like)


@dataclass(frozen=True)
class Expansion:
    """The likelihood of a small network with one latent, at the codes of a grid.

    Attributes:
        at_mean: log p(x|z), without its constant.
        expected: The same averaged over noise, by quadrature.
        bend: Its second derivative by z.
    """

    at_mean: Float[Array, "n"]
    expected: Float[Array, "n"]
    bend: Float[Array, "n"]


@cache
def expansion(activation: Activation, scale: float, residual: bool = True) -> Expansion:
    """Four hidden units, three outputs, unit variance; x fixed, or what is decoded."""
    draw = np.random.default_rng(0)
    weights, shifts, mixing = (
        draw.normal(size=4),
        draw.normal(size=4) / 2,
        draw.normal(size=(3, 4)),
    )
    codes = np.linspace(-2, 2, 1601)
    noise = np.linspace(-6, 6, 61)
    density = np.exp(-(noise**2) / 2) / np.exp(-(noise**2) / 2).sum()

    def decode(function: Function, z: Array, power: int = 0) -> Array:
        return (function(z[..., None] * weights + shifts) * weights**power) @ mixing.T

    output = decode(activation.value, codes)
    x = np.ones(3) if residual else output

    def log_likelihood(shift: float) -> Float[Array, "n"]:
        return -np.square(x - decode(activation.value, codes + scale * shift)).sum(1) / 2

    slope, bend = decode(activation.slope, codes, 1), decode(activation.bend, codes, 2)
    expected = sum(w * log_likelihood(e) for e, w in zip(noise, density, strict=True))
    second = ((x - output) * bend).sum(1) - np.square(slope).sum(1)
    return Expansion(log_likelihood(0.0), np.asarray(expected), second)


# Of log p(x|e(x)), H Sigma, |e(x)|^2, Sigma, log Sigma, one latent.
Objective = Callable[[Array, Array, Array, float, float], Array]


def _elbo_error(objective: Objective, scale: float) -> float:
    """Of the det-ELBO of a smooth decoder, averaged over codes, as a share of the ELBO."""
    parts, variance = expansion(SMOOTH, scale), scale**2
    codes = np.linspace(-2, 2, len(parts.bend))
    nodes, weights = np.polynomial.hermite_e.hermegauss(10)
    log_ratio = np.square(codes[:, None] + scale * nodes) / 2 - nodes**2 / 2 - np.log(scale)
    exact = parts.expected - BETA * log_ratio @ weights / weights.sum()
    said = objective(parts.at_mean, parts.bend * variance, codes**2, variance, np.log(variance))
    return float(np.abs(said - exact).mean() / np.abs(exact).mean())


def _taylor_error(activation: Activation, scale: float) -> float:
    """Of the expected log-likelihood, averaged over codes, as a share of it."""
    parts = expansion(activation, scale)
    off = parts.at_mean + parts.bend * scale**2 / 2 - parts.expected
    return float(np.abs(off).mean() / np.abs(parts.expected).mean())


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
    "order in the noise for smooth decoders; see A-X2 for others.",
)
TAYLOR = Entry(
    id="A-X2",
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
ENTRIES = (DETERMINISTIC, TAYLOR)
