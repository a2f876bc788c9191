"""The best slope of a decoder between two data points: plateaus and jumps, or a straight line."""

from dataclasses import dataclass
from math import cosh, inf, log, sqrt
from typing import Literal, get_args

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq, linprog, minimize

Array = np.ndarray
Cost = Literal["log", "bounded"]


@dataclass(frozen=True)
class Slopes:
    """A decoder's slope on the way from one data point to the next, along one latent.

    Attributes:
        low: Slope on one part of the way, the plateau.
        high: Slope on the rest, the jump.
        share: Share of the way with the high slope.
        cost: Mean cost over the way.
    """

    low: float
    high: float
    share: float
    cost: float


def slope_cost(slope: Float[Array, "k"], beta: float, cost: Cost = "log") -> Float[Array, "k"]:
    r"""What a slope s costs, with the best posterior variance 1 / (1 + s^2 / \beta).

    .. math:: \phi_{log}(s) = \beta \log(1 + s^2/\beta), \qquad
              \phi_{bounded}(s) = \frac{s^2}{1 + s^2/\beta}

    `log` is what noise, prior and entropy add up to (Allen 2024, eq. 19). `bounded` is the noise
    alone (the same, eq. 14). The paper's unit: twice the ELBO at unit noise variance.
    """
    _check(beta, cost)
    ratio = slope**2 / beta
    return beta * np.log1p(ratio) if cost == "log" else beta * ratio / (1 + ratio)


def plateau_slope(bound: float, beta: float, cost: Cost = "log") -> float:
    r"""The slope t that a decoder with slopes up to L has on its plateaus.

    The line from (L, \phi(L)) touches \phi at t, and the two together are the convex envelope:

    .. math:: \phi'(t) (L - t) = \phi(L) - \phi(t)

    For `bounded` that is t = \sqrt{L^2 + \beta} - L. Up to the cost's inflection, \sqrt\beta for
    `log` and \sqrt{\beta/3} for `bounded`, the cost is convex and t = L. t falls to 0 as L grows.

    Example:
        >>> plateau_slope(0.75, 1.0, "bounded"), plateau_slope(1.0, 1.0)
        (0.5, 1.0)
    """
    _check(beta, cost)
    if not 0 < bound < inf:
        raise ValueError(f"bound must be positive and finite, got {bound}")
    if cost == "bounded":
        return min(bound, beta / (sqrt(bound**2 + beta) + bound))
    if bound <= sqrt(beta):
        return bound

    def above(t: float) -> float:
        """The tangent at t over the cost at the bound."""
        slope = 2 * t / (1 + t**2 / beta)
        return slope * (bound - t) - beta * log((beta + bound**2) / (beta + t**2))

    return float(brentq(above, 0.0, sqrt(beta), xtol=1e-15))


def optimal_slopes(rise: float, bound: float, beta: float, cost: Cost = "log") -> Slopes:
    r"""The slopes that cost least among those up to a bound (Allen 2024, section 4).

    .. math:: \min_s \int_0^1 \phi(s(v))\, dv \quad s.t. \quad \int_0^1 s\, dv = rise, \quad
              0 \leq s \leq L

    The least cost is the convex envelope of \phi on [0, L] at the rise. If the rise is at most
    t = `plateau_slope`, the straight line is best; otherwise slope t on one part of the way and L
    on the other, in any order.

    Args:
        rise: Distance of the data points by that of their codes: the mean slope.
        bound: L, the largest slope that the decoder can have.
        beta: Weight of the KL.
        cost: See `slope_cost`.

    Example:
        >>> optimal_slopes(rise=1.0, bound=1.0, beta=4.0).low  # a straight line
        1.0
        >>> steep = optimal_slopes(rise=1.0, bound=100.0, beta=4.0)
        >>> round(steep.low, 2), round(steep.share, 2)  # almost a plateau and a jump
        (0.16, 0.01)
    """
    low = plateau_slope(bound, beta, cost)
    if not 0 < rise <= bound:
        raise ValueError(f"rise must lie in (0, {bound}], the bound, got {rise}")
    if rise <= low:
        return _mixture(rise, bound, 0.0, beta, cost)
    return _mixture(low, bound, (rise - low) / (bound - low), beta, cost)


def searched_slopes(
    rise: float, bound: float, beta: float, cost: Cost = "log", grid: int = 2001
) -> Slopes:
    """Search the best slopes by a linear program over the share of the way of each slope."""
    slopes = bound * np.linspace(0, 1, grid) ** 2  # closer together where plateaus are
    found = linprog(
        slope_cost(slopes, beta, cost),
        A_eq=np.stack([np.ones(grid), slopes / bound]),
        b_eq=np.array([1.0, rise / bound]),
        method="highs",
    )
    used = np.flatnonzero(found.x > 1e-9)
    low, high = float(slopes[used[0]]), float(slopes[used[-1]])
    return Slopes(low, high, float(found.x[used[-1]]), float(found.fun))


@dataclass(frozen=True)
class TwoPoints:
    """The best VAE for two data points at -1 and 1, with one latent.

    Attributes:
        code: Posterior means are -code and code.
        variance: Of both posteriors.
        steepest: The decoder's slope halfway.
        at_data: Its slope at the codes.
        loss: Squared error / (2 noise) + KL, at the optimum.
        linear: The least loss with a linear decoder.
    """

    code: float
    variance: float
    steepest: float
    at_data: float
    loss: float
    linear: float


def two_points(noise: float) -> TwoPoints:
    r"""The optimum of the ELBO itself, which does not suppose that the posterior is narrow.

    For posteriors N(\pm m, \tau^2) the best decoder is the mean of x given z,

    .. math:: E[x|z] = \tanh(m z / \tau^2),

    so that one search over m and \tau, with quadrature, finds the best VAE. It has plateaus at the
    data, but the step between them is as wide as the posteriors overlap.

    Args:
        noise: Variance of the likelihood, beta times sigma^2. From 1 on, the posterior collapses.

    Example:
        >>> best = two_points(0.1)
        >>> round(best.steepest, 1), round(best.variance, 2), best.at_data < 0.001
        (6.1, 0.15, True)
    """
    if not 0 < noise < inf:
        raise ValueError(f"noise must be positive and finite, got {noise}")
    z = np.linspace(-8, 8, 4001)

    def loss(flat: Float[Array, "2"], linear: bool) -> float:
        m, tau = np.exp(flat).tolist()
        weights = np.exp(-np.square((z - m) / tau) / 2)
        output = m / (m**2 + tau**2) * z if linear else np.tanh(m * z / tau**2)
        error = weights @ np.square(1 - output) / weights.sum()
        return float(error / (2 * noise) + (m**2 + tau**2 - 1) / 2 - log(tau))

    def best(linear: bool) -> tuple[Float[Array, "2"], float]:
        starts = (np.log([0.9, 0.3]), np.log([0.5, 0.8]))
        options = {"xatol": 1e-7, "fatol": 1e-12}
        ends = [minimize(loss, a, (linear,), "Nelder-Mead", options=options) for a in starts]
        end = min(ends, key=lambda found: found.fun)
        return np.exp(end.x), float(end.fun)

    ends, least = best(linear=False)
    m, tau = ends.tolist()
    steepest = m / tau**2
    at_data = steepest / cosh(m**2 / tau**2) ** 2
    return TwoPoints(m, tau**2, steepest, at_data, least, best(linear=True)[1])


def _mixture(low: float, high: float, share: float, beta: float, cost: Cost) -> Slopes:
    each = slope_cost(np.array([low, high]), beta, cost)
    return Slopes(low, high, share, float((1 - share) * each[0] + share * each[1]))


def _check(beta: float, cost: Cost) -> None:
    if not 0 < beta < inf:
        raise ValueError(f"beta must be positive and finite, got {beta}")
    if cost not in get_args(Cost):
        raise ValueError(f"cost must be one of {get_args(Cost)}, got {cost!r}")
