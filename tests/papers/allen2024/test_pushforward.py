"""Theorems 1 and 2 of Allen (2024): decoders counted and estimated, claims on planted findings."""

import json
from dataclasses import fields, replace
from math import log, pi

import numpy as np
import pytest
import torch
from scipy.stats import norm

from unpick.geometry import column_cosines, decoder_jacobians
from unpick.papers.allen2024.pushforward import claims, decoders, figures
from unpick.papers.allen2024.pushforward.decoders import DECODERS, POINTS, Measured, information
from unpick.papers.allen2024.pushforward.plots import carried_lines, length_clouds
from unpick.papers.allen2024.pushforward.study import STUDY
from unpick.papers.allen2024.surfaces import plane
from unpick.study import Results

RESULTS = Results(STUDY, "quick")


@pytest.fixture(scope="module")
def small():
    """Results of the study, from fewer draws than it takes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decoders, "DRAWS", 200_000)
        patch.setattr(decoders, "SAMPLES", 1500)
        patch.setattr(decoders, "NULLS", 20)
        yield replace(
            RESULTS, computed={name: compute("quick") for name, compute in STUDY.computed.items()}
        )


@pytest.mark.parametrize("name", DECODERS)
def test_decoders_are_what_they_are_said_to_be(name):
    """Angles of columns; and their lengths, when the other latent moves."""
    known = DECODERS[name]
    jacobians = decoder_jacobians(known.decode, POINTS)
    assert (float(column_cosines(jacobians).per_sample.max()) < 1e-9) == known.orthogonal
    moves = []
    for k in range(2):
        other = POINTS.clone()
        other[:, 1 - k] += 0.7
        speed = decoder_jacobians(known.decode, other).norm(dim=1)[:, k]
        moves.append(float((speed - jacobians.norm(dim=1)[:, k]).abs().max()))
    assert (max(moves) < 1e-9) == known.separate


def test_information_of_gaussians_is_known(rng):
    """-log(1 - r^2) / 2, whatever monotone change either goes through."""
    for r in (0.0, 0.6, 0.9):
        a, b = rng.multivariate_normal([0, 0], [[1, r], [r, 1]], size=2000).T
        assert information(a, b) == pytest.approx(-log(1 - r**2) / 2, abs=0.04)
        assert information(a, b) == information(np.exp(a), b**3)
    assert information(a, np.abs(b)) > 0.1  # also where nothing is monotone


def test_chance_is_what_independent_numbers_reach(small, rng):
    most = small.computed["independent"]["chance"]
    assert 0 < most < 0.05
    independent = [information(*rng.uniform(size=(2, 1500))) for _ in range(10)]
    assert sum(each > most for each in independent) <= 1
    drawn, noise = rng.normal(size=(2, 1500))
    assert information(drawn, drawn**2 + noise) > most


def test_counts_along_the_curves_of_a_plane_are_those_of_the_normal_distribution():
    count = decoders.count_by_length(lambda z: plane(z, 2.0, 0.5))
    half = decoders.RADIUS / np.array([2.0, 0.5])
    share = norm.cdf(POINTS.numpy() + half) - norm.cdf(POINTS.numpy() - half)
    assert count == pytest.approx(decoders.STEPS * share, abs=2)


def test_counts_by_area_of_a_plane(small):
    count = decoders.count_by_area(lambda z: plane(z, 2.0, 0.5))
    density = norm.pdf(POINTS.numpy()).prod(1)
    expected = decoders.DRAWS * density * pi * decoders.RADIUS**2
    assert np.abs(count - expected).max() < 4 * np.sqrt(expected.max())


def test_what_an_oblique_linear_decoder_lacks(small):
    """Lengths of columns by the determinant, at every point and on average."""
    found = claims.measured(small)["linear U S V'"]
    short = np.log(np.linalg.norm(decoders.OBLIQUE, axis=0)).sum() - log(1.6 * 0.6)
    assert found.gap == pytest.approx(short)
    assert found.contrast == pytest.approx(short)
    assert found.local_gap == pytest.approx(np.full(len(POINTS), short))
    assert np.abs(found.products - short).max() < 5 * found.error.max()
    assert np.abs(found.counted).max() < 5 * found.error.max()
    lengths = np.abs(decoders.lengths_of("linear U S V'")) / np.linalg.norm(
        decoders.OBLIQUE, axis=0
    )
    latents = decoders.draw_latents(1500, seed=1 + list(DECODERS).index("linear U S V'"))
    assert lengths == pytest.approx(latents.abs().numpy())


def as_said(name):
    """Findings in agreement with the corrected theorem, and with themselves."""
    known, points = DECODERS[name], np.zeros(4)
    gap = 0.0 if known.orthogonal else 0.3
    return Measured(
        gap=gap,
        contrast=gap,
        counted=points + 0.01,
        products=points + gap - 0.01,
        error=points + 0.02,
        local_gap=points + gap,
        information=0.001 if known.separate else 0.2,
    )


def planted(change=lambda name: {}, **linear):
    """Results of `as_said`, but for what is changed of a decoder or of the linear one."""
    said = {"singular": 0.001, "turned": 0.2, "off normal": 1e-15, "off product": 1e-15}
    found = {name: replace(as_said(name), **change(name)).to_json() for name in DECODERS}
    return replace(
        RESULTS,
        computed={
            "decoders": found,
            "linear": said | {name.replace("_", " "): v for name, v in linear.items()},
            "independent": {"latents": 0.002, "chance": 0.01},
        },
    )


def test_planted_findings_hold_but_for_independence():
    found = {claim.check: claim.check(planted()).holds for claim in STUDY.claims}
    assert found == dict.fromkeys(found, True) | {claims.lengths_independent: False}
    none = planted(lambda name: {"information": 0.001} if name in claims.ORTHOGONAL else {})
    assert claims.lengths_independent(none).holds is True


@pytest.mark.parametrize(
    ("check", "name", "change", "told"),
    [
        (claims.density_as_counted, "sphere", {"counted": np.full(4, 0.2)}, "off by 0.20 nats"),
        (claims.density_as_counted, "ripple", {"counted": np.full(4, -0.2)}, "off by 0.20 nats"),
        (
            claims.densities_multiply,
            "helicoid",
            {"products": np.full(4, -0.2)},
            "differ by 18% at most",
        ),
        (claims.densities_multiply, "helicoid", {"gap": 1e-3}, "by the formulas by 1e-03"),
        (
            claims.independent_by_speed,
            "strip",
            {"information": 0.02},
            "latent: linear U S 0.001, strip",
        ),
        (claims.independent_by_speed, "sphere", {"information": 0.009}, "of both: helicoid 0.200"),
        (claims.product_lacks_contrast, "ripple", {"gap": 0.4}, "ripple 0.400"),
        (
            claims.product_lacks_contrast,
            "ripple",
            {"gap": 0.001, "contrast": 0.001},
            "ripple 0.001",
        ),
        (
            claims.product_lacks_contrast,
            "ripple",
            {"products": np.full(4, 0.1)},
            "10.0 counting errors",
        ),
    ],
)
def test_what_is_not_so_is_found_out(check, name, change, told):
    verdict = check(planted(lambda each: change if each == name else {}))
    assert verdict.holds is False
    assert told in verdict.evidence


@pytest.mark.parametrize(
    ("check", "change", "told"),
    [
        (claims.density_as_counted, {"off_normal": 0.1}, "off the Gaussian density by 1e-01"),
        (claims.independent_along_singular, {"singular": 0.02}, "0.020 nats along left singular"),
        (claims.independent_along_singular, {"turned": 0.005}, "0.005 along axes turned"),
        (claims.independent_along_singular, {"off_product": 0.1}, "to within 1e-01"),
    ],
)
def test_what_is_not_so_of_a_linear_decoder_is_found_out(check, change, told):
    verdict = check(planted(**change))
    assert verdict.holds is False
    assert told in verdict.evidence


def test_axes_that_are_turned_from_the_singular_vectors_are_dependent(small, monkeypatch):
    chance = {"latents": 0.0, "chance": 0.02}

    def judged():
        linear = decoders.measure_linear("quick")
        computed = {"linear": linear, "independent": chance}
        return claims.independent_along_singular(replace(RESULTS, computed=computed)).holds

    assert judged() is True
    monkeypatch.setattr(decoders, "LEFT", np.eye(2))
    assert judged() is False


def test_measured_decoders_answer_both_readings_of_theorem_2(small):
    """The study's own answer, from fewer draws."""
    for check in (
        claims.density_as_counted,
        claims.densities_multiply,
        claims.independent_by_speed,
        claims.product_lacks_contrast,
    ):
        assert check(small).holds is True
    assert claims.lengths_independent(small).holds is False
    found, most = claims.measured(small), small.computed["independent"]["chance"]
    assert small.computed["independent"]["latents"] < most
    gaps, lengths = figures.draw_both(small), figures.draw_lengths(small)
    bars, dots = gaps.axes
    assert [bar.get_width() for bar in bars.patches] == [
        max(0, each.gap) for each in found.values()
    ]
    shown = np.asarray(dots.collections[-1].get_offsets())[:, 0]
    assert shown == pytest.approx(
        [max(each.information, most / 10) for each in found.values()], abs=1e-12
    )
    assert [axes.get_title().split(":")[0] for axes in lengths.axes] == list(figures.SHOWN)
    for axes, name in zip(lengths.axes, figures.SHOWN, strict=True):
        assert axes.lines[0].get_xydata() == pytest.approx(decoders.lengths_of(name))
        told = float(axes.get_title().split()[-2])
        assert information(*axes.lines[0].get_xydata().T) == pytest.approx(told, abs=0.005)


def test_findings_go_through_json_unchanged():
    found = as_said("ripple")
    again = Measured.from_json(json.loads(json.dumps(found.to_json())))
    for field in fields(Measured):
        assert np.array_equal(getattr(again, field.name), getattr(found, field.name))


def test_bands_of_lengths_are_level_where_they_are_independent(rng):
    even, other = rng.uniform(size=(2, 5000, 2))
    other[:, 1] *= other[:, 0]
    level, rising = length_clouds({"even": even, "wedge": other}).axes
    spans = [np.ptp(axes.lines[-1].get_ydata()) for axes in (level, rising)]
    assert spans[0] < 0.1 < 0.5 < spans[1]
    with pytest.raises(ValueError, match="clouds must hold at least one"):
        length_clouds({})


def test_lines_of_figure_1_cross_at_right_angles_along_singular_vectors():
    """In both spaces, by the directions in which they are drawn."""
    for shown in figures.FIGURE_1:
        drawn = figures.chart(shown)
        for side, crossing in enumerate(drawn.crossing):
            steps = []
            for line in drawn.lines:
                points = (line.latent, line.image)[side]
                k = int(np.square(points - crossing).sum(1).argmin())
                assert points[k] == pytest.approx(crossing, abs=0.05)
                steps.append(points[k + 1] - points[k - 1])
            a, b = (step / np.linalg.norm(step) for step in steps)
            assert abs(a @ b) < 0.02
            for step, arrow in zip((a, b), drawn.directions[side].T, strict=True):
                assert step @ arrow / np.linalg.norm(arrow) == pytest.approx(1, abs=1e-3)
    with pytest.raises(ValueError, match="charts must hold at least one"):
        carried_lines([])


def test_the_bent_decoder_of_figure_1_satisfies_the_theorem():
    """Orthogonal columns, and each singular value a function of its own latent alone."""
    _, bent = figures.FIGURE_1
    jacobians = decoder_jacobians(bent.decode, POINTS)
    assert float(column_cosines(jacobians).per_sample.max()) < 1e-9
    other = POINTS + torch.tensor([0.0, 0.7]), POINTS + torch.tensor([0.7, 0.0])
    for k, moved in enumerate(other):
        speeds = decoder_jacobians(bent.decode, moved).norm(dim=1)[:, k]
        assert speeds.numpy() == pytest.approx(jacobians.norm(dim=1)[:, k].numpy())
    assert jacobians.norm(dim=1)[:, 0].std() > 0.05


def test_figure_1_names_what_the_paper_names():
    figure = figures.draw_lines(RESULTS)
    texts = {text.get_text() for axes in figure.axes for text in axes.texts}
    for name in (r"\mathbf{v}_1", r"\mathbf{u}_2", "f(z^*)", "z_1", r"\mathcal{Z}^{(2)}_{z^*}"):
        assert f"${name}$" in texts


def test_a_chart_is_shaded_by_the_density():
    flat = torch.from_numpy(decoders.RIGHT)  # a rotation: the prior is carried to itself
    turned = replace(figures.FIGURE_1[0], decode=lambda z: z @ flat.T, at=(0.0, 0.0))
    drawn = figures.chart(turned)
    prior = norm.pdf(drawn.image).prod(2)
    assert drawn.density == pytest.approx(prior)
    for line in drawn.lines:
        assert line.image == pytest.approx(line.latent @ decoders.RIGHT.T)
