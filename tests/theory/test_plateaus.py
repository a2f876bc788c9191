from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unpick.theory.plateaus import (
    Cost,
    optimal_slopes,
    plateau_slope,
    searched_slopes,
    slope_cost,
    two_points,
)

COSTS = get_args(Cost)
positive = st.floats(0.1, 10.0)


def at(slope, beta, cost):
    return float(slope_cost(np.array([slope]), beta, cost)[0])


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("bound", [0.6, 1.5, 4.0, 50.0])
@pytest.mark.parametrize("share", [0.05, 0.3, 0.9])
def test_the_closed_form_costs_what_a_linear_program_finds(cost, bound, share):
    closed, found = (f(share * bound, bound, 1.0, cost) for f in (optimal_slopes, searched_slopes))
    assert closed.cost <= found.cost + 1e-12
    assert found.cost == pytest.approx(closed.cost, rel=1e-4)


@pytest.mark.parametrize("cost", COSTS)
@given(bound=positive, beta=positive, share=st.floats(0.01, 0.99))
def test_no_mixture_of_two_slopes_is_cheaper(cost, bound, beta, share):
    rise = share * bound
    best = optimal_slopes(rise, bound, beta, cost)
    assert (1 - best.share) * best.low + best.share * best.high == pytest.approx(rise)
    lows, highs = np.linspace(0, rise, 40), np.linspace(rise, bound, 41)[1:]
    part = (rise - lows[:, None]) / (highs - lows[:, None])
    of_lows, of_highs = (slope_cost(slopes, beta, cost) for slopes in (lows, highs))
    mixed = (1 - part) * of_lows[:, None] + part * of_highs
    assert best.cost <= mixed.min() + 1e-9 * beta


@pytest.mark.parametrize("cost", COSTS)
@given(beta=positive, factor=st.floats(1.01, 50.0))
def test_the_line_from_the_bound_touches_the_cost_at_the_plateau(cost, beta, factor):
    bound = factor * beta**0.5
    t = plateau_slope(bound, beta, cost)
    step = 1e-5 * t
    slope = (at(t + step, beta, cost) - at(t - step, beta, cost)) / (2 * step)
    chord = (at(bound, beta, cost) - at(t, beta, cost)) / (bound - t)
    assert slope == pytest.approx(chord, rel=1e-5)


def test_when_a_straight_line_is_best():
    """Up to the inflection always; beyond it, for small rises. Bounded: L <= (beta - m^2)/2m."""
    assert plateau_slope(1.9, 4.0) == 1.9
    assert plateau_slope(2.1, 4.0) < 2.1
    assert plateau_slope(1.1, 4.0, "bounded") == 1.1
    assert plateau_slope(1.2, 4.0, "bounded") < 1.2
    rise, beta = 0.5, 4.0
    limit = (beta - rise**2) / (2 * rise)
    assert optimal_slopes(rise, limit - 0.01, beta, "bounded").share == 0
    assert optimal_slopes(rise, limit + 0.01, beta, "bounded").share > 0


@pytest.mark.parametrize("cost", COSTS)
def test_plateaus_flatten_and_cost_nothing_as_the_bound_grows(cost):
    bounds = [2.0, 20.0, 200.0, 2000.0]
    slopes = [plateau_slope(bound, 1.0, cost) for bound in bounds]
    costs = [optimal_slopes(1.0, bound, 1.0, cost).cost for bound in bounds]
    assert slopes == sorted(slopes, reverse=True)
    assert slopes[-1] < 0.01
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < 0.01


def test_steps_of_a_path_found_from_a_random_start_split_into_two_slopes():
    """Exchange steepness between two steps while that pays: an independent descent."""
    draw, n, bound = np.random.default_rng(0), 40, 6.0
    slopes = draw.dirichlet(np.ones(n)) * n
    for _ in range(20_000):
        i, j = draw.choice(n, 2, replace=False)
        total = slopes[i] + slopes[j]
        tries = np.append(np.linspace(max(0, total - bound), min(bound, total), 21), slopes[i])
        costs = np.log1p(tries**2) + np.log1p((total - tries) ** 2)
        slopes[i] = tries[costs.argmin()]
        slopes[j] = total - slopes[i]
    best = optimal_slopes(1.0, bound, 1.0)
    assert slope_cost(slopes, 1.0).mean() == pytest.approx(best.cost, rel=0.02)
    assert np.median(slopes) == pytest.approx(best.low, rel=0.2)
    assert slopes.max() == pytest.approx(bound)


@pytest.mark.parametrize("noise", [0.3, 0.1, 0.03])
def test_two_points_have_plateaus_but_no_jump(noise):
    best = two_points(noise)
    assert best.linear == pytest.approx(0.5 - 0.5 * np.log(noise), abs=1e-6)  # of PPCA
    assert best.loss < best.linear
    assert best.at_data < 0.05 < 3 < best.steepest < 10
    assert best.code**2 + best.variance < 1.1
    assert best.variance < 0.3  # far from the prior's 1


def test_two_points_collapse_under_much_noise():
    best = two_points(1.1)
    assert best.loss == pytest.approx(1 / 2.2, abs=1e-6)
    assert (best.code, best.variance) == pytest.approx((0, 1), abs=1e-3)


def test_the_mean_given_the_code_is_the_best_decoder():
    best, draw = two_points(0.1), np.random.default_rng(0)
    z = best.code + best.variance**0.5 * draw.normal(size=20_000)
    output = np.tanh(best.steepest * z)

    def error(change):
        """Both points at once: odd decoders are wrong alike at either."""
        return np.square(1 - (output + change)).mean()

    for change in (0.05 * z, -0.05 * z, 0.02 * np.sin(z), -0.02 * np.sin(z)):
        assert error(change) > error(0.0) - 1e-5


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"rise must lie in \(0, 2.0\], the bound, got 3"):
        optimal_slopes(3.0, 2.0, 1.0)
    with pytest.raises(ValueError, match=r"rise must lie in \(0, 2.0\], the bound, got nan"):
        optimal_slopes(float("nan"), 2.0, 1.0)
    with pytest.raises(ValueError, match="beta must be positive and finite, got 0"):
        plateau_slope(1.0, 0.0)
    for bound in (-1.0, float("inf"), float("nan")):
        message = f"bound must be positive and finite, got {bound}"
        with pytest.raises(ValueError, match=message):
            plateau_slope(bound, 1.0)
        with pytest.raises(ValueError, match=message):
            optimal_slopes(1.0, bound, 1.0)
    with pytest.raises(ValueError, match="noise must be positive and finite, got 0"):
        two_points(0.0)
