"""Theorems 1 and 2 of Allen (2024): decoders counted and estimated, claims on planted findings."""

from dataclasses import replace
from math import log, pi

import numpy as np
import pytest
import torch
from scipy.stats import norm

from unpick.geometry import column_cosines, decoder_jacobians
from unpick.papers.allen2024.pushforward import claims as claims
from unpick.papers.allen2024.pushforward import mixings as mixings
from unpick.papers.allen2024.pushforward import study as study
from unpick.papers.allen2024.pushforward.figures import carried_lines, length_clouds
from unpick.papers.allen2024.pushforward.mixings import MIXINGS, POINTS, Measured, information
from unpick.study import Results
from unpick.theory.surfaces import plane

RESULTS = Results(study.STUDY, "quick")


@pytest.fixture
def small(monkeypatch):
    """Fewer draws than the study takes."""
    monkeypatch.setattr(mixings, "DRAWS", 200_000)
    monkeypatch.setattr(mixings, "SAMPLES", 1500)
    monkeypatch.setattr(mixings, "NULLS", 20)


@pytest.mark.parametrize("name", MIXINGS)
def test_decoders_are_what_they_are_said_to_be(name):
    """Angles of columns; and their lengths, when the other latent moves."""
    mixing = MIXINGS[name]
    jacobians = decoder_jacobians(mixing.decode, POINTS)
    assert (float(column_cosines(jacobians).per_sample.max()) < 1e-9) == mixing.orthogonal
    moves = []
    for k in range(2):
        other = POINTS.clone()
        other[:, 1 - k] += 0.7
        speed = decoder_jacobians(mixing.decode, other).norm(dim=1)[:, k]
        moves.append(float((speed - jacobians.norm(dim=1)[:, k]).abs().max()))
    assert (max(moves) < 1e-9) == mixing.separate


def test_information_of_gaussians_is_known(rng):
    """-log(1 - r^2) / 2, whatever monotone change either goes through."""
    for r in (0.0, 0.6, 0.9):
        a, b = rng.multivariate_normal([0, 0], [[1, r], [r, 1]], size=2000).T
        assert information(a, b) == pytest.approx(-log(1 - r**2) / 2, abs=0.04)
        assert information(a, b) == information(np.exp(a), b**3)
    assert information(a, np.abs(b)) > 0.1  # also where nothing is monotone


def test_chance_is_what_independent_numbers_reach(small, rng):
    most = mixings.chance.__wrapped__()
    assert 0 < most < 0.05
    independent = [information(*rng.uniform(size=(2, 1500))) for _ in range(10)]
    assert sum(each > most for each in independent) <= 1
    drawn, noise = rng.normal(size=(2, 1500))
    assert information(drawn, drawn**2 + noise) > most


def test_counts_along_the_curves_of_a_plane_are_those_of_the_normal_distribution():
    count = mixings.by_length(lambda z: plane(z, 2.0, 0.5))
    half = mixings.RADIUS / np.array([2.0, 0.5])
    share = norm.cdf(POINTS.numpy() + half) - norm.cdf(POINTS.numpy() - half)
    assert count == pytest.approx(mixings.STEPS * share, abs=2)


def test_counts_by_area_of_a_plane(small):
    count = mixings.by_area(lambda z: plane(z, 2.0, 0.5))
    density = norm.pdf(POINTS.numpy()).prod(1)
    expected = mixings.DRAWS * density * pi * mixings.RADIUS**2
    assert np.abs(count - expected).max() < 4 * np.sqrt(expected.max())


def test_what_an_oblique_linear_decoder_lacks(small):
    """Lengths of columns by the determinant, at every point and on average."""
    found = mixings.measured.__wrapped__("linear U S V'")
    short = np.log(np.linalg.norm(mixings.OBLIQUE, axis=0)).sum() - log(1.6 * 0.6)
    assert found.gap == pytest.approx(short)
    assert found.contrast == pytest.approx(short)
    assert found.local_gap == pytest.approx(np.full(len(POINTS), short))
    assert np.abs(found.products - short).max() < 5 * found.error.max()
    assert np.abs(found.counted).max() < 5 * found.error.max()
    lengths = np.abs(found.lengths) / np.linalg.norm(mixings.OBLIQUE, axis=0)
    latents = mixings.draws(1500, seed=1 + list(MIXINGS).index("linear U S V'"))
    assert lengths == pytest.approx(latents.abs().numpy())


def as_said(name):
    """Findings in agreement with the corrected theorem, and with themselves."""
    mixing, points = MIXINGS[name], np.zeros(4)
    gap = 0.0 if mixing.orthogonal else 0.3
    return Measured(
        gap=gap,
        contrast=gap,
        counted=points + 0.01,
        products=points + gap - 0.01,
        error=points + 0.02,
        local_gap=points + gap,
        lengths=np.zeros((5, 2)),
        information=0.001 if mixing.separate else 0.2,
    )


@pytest.fixture
def planted(monkeypatch):
    """Findings that a test may change, by name."""
    found = {name: as_said(name) for name in MIXINGS}
    monkeypatch.setattr(claims, "measured", found.__getitem__)
    monkeypatch.setattr(claims, "chance", lambda: 0.01)
    return found


def test_planted_findings_hold_but_for_independence(planted):
    found = {
        claim.check: claim.check(RESULTS).holds
        for claim in study.STUDY.claims
        if claim.check is not claims.along_left_singular  # which asks nobody
    }
    assert found == dict.fromkeys(found, True) | {claims.independent: False}
    for name in claims.ORTHOGONAL:
        planted[name] = replace(planted[name], information=0.001)
    assert claims.independent(RESULTS).holds is True


@pytest.mark.parametrize(
    ("check", "name", "change", "told"),
    [
        (claims.counted, "sphere", {"counted": np.full(4, 0.2)}, "off by 0.20 nats"),
        (claims.counted, "ripple", {"counted": np.full(4, -0.2)}, "off by 0.20 nats"),
        (claims.multiply, "helicoid", {"products": np.full(4, -0.2)}, "differ by 18% at most"),
        (claims.multiply, "helicoid", {"gap": 1e-3}, "by the formulas by 1e-03"),
        (claims.own_speed, "strip", {"information": 0.02}, "latent: linear U S 0.001, strip"),
        (claims.own_speed, "sphere", {"information": 0.009}, "of both: helicoid 0.200"),
        (claims.falls_short, "ripple", {"gap": 0.4}, "ripple 0.400"),
        (claims.falls_short, "ripple", {"gap": 0.001, "contrast": 0.001}, "ripple 0.001"),
        (claims.falls_short, "ripple", {"products": np.full(4, 0.1)}, "10.0 counting errors"),
    ],
)
def test_what_is_not_so_is_found_out(planted, check, name, change, told):
    planted[name] = replace(planted[name], **change)
    verdict = check(RESULTS)
    assert verdict.holds is False
    assert told in verdict.evidence


def test_axes_that_are_turned_from_the_singular_vectors_are_dependent(monkeypatch):
    monkeypatch.setattr(claims, "chance", lambda: 0.02)
    assert claims.along_left_singular(RESULTS).holds is True
    monkeypatch.setattr(claims, "LEFT", np.eye(2))
    assert claims.along_left_singular(RESULTS).holds is False


def test_measured_decoders_answer_both_readings_of_theorem_2(small, monkeypatch):
    """The study's own answer, from fewer draws."""
    found = {name: mixings.measured.__wrapped__(name) for name in MIXINGS}
    most = mixings.chance.__wrapped__()
    monkeypatch.setattr(claims, "measured", found.__getitem__)
    monkeypatch.setattr(claims, "chance", lambda: most)
    for check in (claims.counted, claims.multiply, claims.own_speed, claims.falls_short):
        assert check(RESULTS).holds is True
    assert claims.independent(RESULTS).holds is False
    monkeypatch.setattr(study, "measured", found.__getitem__)
    monkeypatch.setattr(study, "chance", lambda: most)
    gaps, lengths = study.draw_both(RESULTS), study.draw_lengths(RESULTS)
    bars, dots = gaps.axes
    assert [bar.get_width() for bar in bars.patches] == [
        max(0, each.gap) for each in found.values()
    ]
    shown = np.asarray(dots.collections[-1].get_offsets())[:, 0]
    assert shown == pytest.approx(
        [max(each.information, most / 10) for each in found.values()], abs=1e-12
    )
    assert [axes.get_title().split(":")[0] for axes in lengths.axes] == list(study.SHOWN)
    for axes, name in zip(lengths.axes, study.SHOWN, strict=True):
        assert axes.lines[0].get_xydata() == pytest.approx(found[name].lengths)


def test_bands_of_lengths_are_level_where_they_are_independent(rng):
    even, other = rng.uniform(size=(2, 5000, 2))
    other[:, 1] *= other[:, 0]
    level, rising = length_clouds({"even": even, "wedge": other}).axes
    spans = [np.ptp(axes.lines[-1].get_ydata()) for axes in (level, rising)]
    assert spans[0] < 0.1 < 0.5 < spans[1]
    with pytest.raises(ValueError, match="clouds must hold at least one"):
        length_clouds({})


def test_lines_of_figure_1_cross_at_right_angles():
    """In both spaces, by the directions in which they are drawn."""
    figure = study.draw_lines(RESULTS)
    for axes in figure.axes:
        thick = [line.get_xydata() for line in axes.lines if line.get_linewidth() == 2]
        (crossing,) = [line.get_xydata()[0] for line in axes.lines if line.get_marker() == "o"]
        steps = []
        for line in thick:
            k = int(np.square(line - crossing).sum(1).argmin())
            assert line[k] == pytest.approx(crossing, abs=0.05)
            steps.append(line[k + 1] - line[k - 1])
        a, b = steps
        assert abs(a @ b) < 0.02 * np.linalg.norm(a) * np.linalg.norm(b)
    with pytest.raises(ValueError, match="charts must hold at least one"):
        carried_lines([])


def test_a_chart_is_shaded_by_the_density():
    flat = torch.from_numpy(study.RIGHT)  # a rotation: the prior is carried to itself
    drawn = study.chart("turned", lambda z: z @ flat.T, np.eye(2), np.zeros(2))
    prior = norm.pdf(drawn.image).prod(2)
    assert drawn.density == pytest.approx(prior)
    for latent, image in drawn.lines:
        assert image == pytest.approx(latent @ study.RIGHT.T)
