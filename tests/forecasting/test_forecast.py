"""Forecasts against closed forms, finite differences and planted answers."""

import json
import math
from functools import cache

import numpy as np
import pytest
import torch

import unpick
from unpick.data import from_arrays, load
from unpick.forecasting import Forecast
from unpick.forecasting.directions import local_directions
from unpick.forecasting.pairs import OPEN, cheapest_angle, cheapest_rotation, confusion
from unpick.theory import factor_gains


@cache
def of(name, **options) -> Forecast:
    return unpick.forecast(load(name, **options), show=False)


def lengths(found):
    return [factor.length for factor in found.factors if factor.length is not None]


def one_steps(found):
    return [factor.one_step for factor in found.factors if factor.one_step is not None]


def grid(draw, sizes, **options):
    """Observations of a function of factors on [0, 1], as a grid."""
    axes = [np.linspace(0, 1, size) for size in sizes]
    w = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(sizes))
    return from_arrays(draw(w), w, [f"f{k}" for k in range(len(sizes))], **options)


def test_linear_gaussian_has_its_singular_values():
    found = of("linear-gaussian", points=20_000)
    assert lengths(found) == pytest.approx([3, 2, 1], rel=0.02)
    # The beta at which a linear VAE gives a direction up: 2 s^2 for the squared error.
    assert [f.saving for f in found.factors] == pytest.approx([18, 8, 2], rel=0.04)
    assert found.order == ("source 2", "source 1", "source 0")
    assert {pair.fate for pair in found.pairs} == {"told apart"}


def test_noise_adds_nothing_to_lengths():
    loud = of("linear-gaussian", points=20_000, noise=2.0)
    assert lengths(loud) == pytest.approx([3, 2, 1], rel=0.1)


@pytest.mark.parametrize("ratio", [1.0, 1.2, 1.5, 2.0])
def test_synth_lin_over_ratios(ratio):
    found = of("synth-lin", ratio=ratio, points=5000)
    deviation = 1 / math.sqrt(12)
    assert lengths(found) == pytest.approx([ratio * deviation, deviation], rel=0.02)
    (pair,) = found.pairs
    # Long and orthogonal columns: log((1 + r^2) / 2r), less what the prior's 1 takes off.
    assert pair.stake == pytest.approx(math.log((1 + ratio**2) / (2 * ratio)), abs=0.004)
    assert pair.fate == ("told apart" if ratio >= 1.5 else "open")


@pytest.mark.slow
def test_sprites_mix_x_and_y():
    found = of("sprites", size=32)
    one_step = dict(zip(("scale", "orientation", "x", "y"), one_steps(found), strict=True))
    for name, length in {"orientation": 19.2, "x": 18.8, "y": 18.8}.items():
        assert one_step[name] == pytest.approx(length, rel=0.05)
    assert found.one_step_dto == pytest.approx(1.0, abs=0.05)
    assert found.chance == pytest.approx(1.33, abs=0.01)
    assert {(p.first, p.second) for p in found.pairs if p.fate != "told apart"} == {("x", "y")}
    assert [f.kind for f in found.factors] == [
        "categorical", "ordered", "periodic", "ordered", "ordered",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_fate_that_depends_on_the_points_is_in_doubt():
    data = load("sprites", size=32)
    few, many = (unpick.forecast(data, points=n, show=False).pairs for n in (50, 200))
    other = [pairs for pairs in zip(few, many, strict=True) if pairs[0].fate != pairs[1].fate]
    assert all(min(pair.sureness for pair in pairs) < 0.9 for pairs in other)
    assert other  # x with y


@pytest.mark.slow
def test_rooms_have_distinct_orthogonal_directions():
    found = of("shapes3d", size=16)
    assert one_steps(found) == pytest.approx([13.0, 10.8, 5.3, 2.4, 2.2], rel=0.06)
    assert found.one_step_dto == pytest.approx(0.33, abs=0.03)
    assert [f.kind for f in found.factors[:3]] == ["periodic"] * 3
    assert [f.kind for f in found.factors[3:]] == ["ordered", "categorical", "ordered"]
    gains = factor_gains(load("shapes3d", size=16), draws=200)
    assert {f.name: f.saving for f in found.factors} == pytest.approx(gains)


@pytest.mark.slow
def test_smooth_noise_on_a_grid_is_averaged_out():
    original = of("shapes3d", size=16)
    noisy = unpick.forecast(load("shapes3d", size=16, noisy=0.1), show=False)
    assert one_steps(noisy)[-1] > 2 * one_steps(original)[-1]
    assert lengths(noisy) == pytest.approx(lengths(original), rel=0.15)


def test_directions_are_finite_differences():
    """On a quadratic map central differences are exact; both kinds agree with its Jacobian."""

    def draw(w):
        return np.stack([w[:, 0] ** 2 + w[:, 1], w[:, 0] * w[:, 1], 3 * w[:, 1]], 1)

    on_grid = grid(draw, (21, 21))
    scattered = np.random.default_rng(0).random((4000, 2))
    off_grid = from_arrays(draw(scattered), scattered)
    for data, exact in ((on_grid, 1e-5), (off_grid, 5e-3)):
        generator = torch.Generator().manual_seed(0)
        found = local_directions(data, (0, 1), 40, generator)
        w = data.factor_values(found.rows).double()
        every = data.factor_values(torch.arange(len(data))).double()
        if data is on_grid:  # at the ends differences are one-sided, and neighbours repeat
            inside = ((w > 0.01) & (w < 0.99)).all(1)
        else:
            inside = ((w > 0.1) & (w < 0.9)).all(1)
        w, gram = w[inside], found.gram[inside]
        zero, one = torch.zeros(len(w)), torch.ones(len(w))
        along = torch.stack([2 * w[:, 0], w[:, 1], zero], 1)
        across = torch.stack([one, w[:, 0], 3 * one], 1)
        jacobian = torch.stack([along, across], 2).double() * every.std(0, correction=0)
        torch.testing.assert_close(gram, jacobian.mT @ jacobian, atol=exact, rtol=0.02)


def test_directions_that_are_not_orthogonal_are_mixed_at_the_planted_angle():
    # Columns (2, 0) and (0.6, 1): the axes of lowest price make them orthogonal.
    gram = torch.tensor([[[4.0, 1.2], [1.2, 1.36]]], dtype=torch.float64)
    angle, stake = cheapest_angle(gram)
    squares, v = torch.linalg.eigh(gram[0])
    principal = math.degrees(math.atan(float(v[1, 1] / v[0, 1])))
    assert angle == pytest.approx(principal, abs=1)
    assert stake > OPEN
    turned = cheapest_rotation(gram)
    off = (turned.T @ gram[0] @ turned)[0, 1]
    assert abs(float(off)) < 0.05 * float(squares.prod().sqrt())


def test_confusion_at_its_limits():
    assert confusion(0.0, 1e9) == pytest.approx(0, abs=1e-6)
    assert confusion(45.0, 1e9) == pytest.approx(1)
    assert confusion(0.0, 0.0) == 0.5
    assert confusion(45.0, 0.0) == 0.5


def test_a_circle_is_seen_and_a_line_is_not():
    def draw(w):
        turn = 2 * np.pi * w[:, 0] * 11 / 12  # the last value lies one step before the first
        return np.stack([np.cos(turn), np.sin(turn), 0.5 * w[:, 1]], 1)

    data = grid(draw, (12, 6))
    found = unpick.forecast(data, show=False)
    assert [f.kind for f in found.factors] == ["periodic", "ordered"]
    named = unpick.forecast(data, periodic=["f1"], show=False)
    assert [f.kind for f in named.factors] == ["periodic", "periodic"]
    classes = unpick.forecast(data, categorical=["f0"], show=False)
    assert [f.kind for f in classes.factors] == ["categorical", "ordered"]
    assert classes.factors[0].length is None
    assert of("circles").factors[2].kind == "periodic"


def test_classes_keep_regressions_apart():
    rng = np.random.default_rng(1)
    w, label = rng.random((2000, 2)), rng.integers(0, 2, 2000)
    # Each class has its own sign of the slope: a regression over both would find nothing.
    x = np.where(label[:, None] == 1, 1, -1) * w * np.array([3.0, 1.0])
    data = from_arrays(x, np.c_[w, label], categorical=[False, False, True])
    found = unpick.forecast(data, show=False)
    expected = [3 / math.sqrt(12), 1 / math.sqrt(12)]
    assert lengths(found) == pytest.approx(expected, rel=0.03)
    # Class means +-(1.5, 0.5): their variance, by log 2.
    assert found.factors[2].saving == pytest.approx(2.5 / math.log(2), rel=0.1)


def test_without_factors_local_pca_speaks():
    rng = np.random.default_rng(0)
    flat = from_arrays(rng.normal(size=(1000, 2)) @ rng.normal(size=(2, 8)))
    found = unpick.forecast(flat, show=False)
    assert found.factors == ()
    assert found.prediction is None
    assert 1 <= found.spectra.local_components <= 2
    assert found.findings[-1].title == "What this cannot tell"


def test_ranges_contain_the_ideal_and_are_ordered():
    for found in (of("synth-lin", ratio=1.5, points=5000), of("bent", points=5000)):
        ahead = found.prediction
        assert ahead.dto[0] <= ahead.ideal_dto <= ahead.dto[1] <= 1
        assert ahead.mig[0] <= ahead.ideal_mig <= ahead.mig[1] <= 1
        assert found.betas[0] < ahead.beta < found.betas[1]
    even = of("synth-lin", ratio=1.0, points=5000).prediction
    assert even.mig[1] - even.mig[0] > 0.5  # restarts differ


def test_json_page_and_repeatability(tmp_path):
    data = load("synth-lin", points=2000)
    found = unpick.forecast(data, report=tmp_path, show=False)
    document = json.loads(json.dumps(found.to_dict()))
    again = unpick.forecast(data, show=False).to_dict()
    assert {**document, "page": None} == json.loads(json.dumps(again))
    assert document["pairs"][0]["fate"] == "told apart"
    page = (tmp_path / "index.html").read_text()
    for picture in ("lengths", "pairs", "savings", "spectra"):
        assert (tmp_path / f"{picture}.png").stat().st_size > 0
        assert f"{picture}.png" in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"points": 1}, "points must be at least 2, got 1"),
        ({"periodic": ["frist"]}, "unknown factor of synth-lin 'frist'; did you mean first?"),
        ({"periodic": ["first"], "categorical": ["first"]}, "exclude each other"),
    ],
)
def test_mistakes_are_named(options, message):
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        unpick.forecast(load("synth-lin", points=100), show=False, **options)


def test_an_unknown_likelihood_is_no_default():
    with pytest.raises((ValueError, TypeError), match="poisson"):  # TypeError under pytest
        unpick.forecast(load("synth-lin", points=100), show=False, likelihood="poisson")


def test_too_few_rows_for_a_regression():
    rng = np.random.default_rng(0)
    data = from_arrays(rng.normal(size=(12, 3)), rng.normal(size=(12, 6)))
    with pytest.raises(ValueError, match="need at least 14 rows"):
        unpick.forecast(data, show=False)
