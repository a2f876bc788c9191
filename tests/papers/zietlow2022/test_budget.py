import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.distributions import Normal, kl_divergence

from unpick.geometry import optimal_covariance, optimal_variance
from unpick.papers.zietlow2022.budget.claims import minimum
from unpick.papers.zietlow2022.budget.figures import (
    broken_symmetry,
    column_product,
    turned,
    worked_example,
)
from unpick.papers.zietlow2022.budget.readings import vae_loss
from unpick.papers.zietlow2022.budget.study import STUDY
from unpick.papers.zietlow2022.budget.svd_figure import singular_steps, stages
from unpick.papers.zietlow2022.ledger.budget import EXAMPLE, cheapest_noise
from unpick.plots import house_style, save
from unpick.study import Results
from unpick.theory.quadrature import kl_by_quadrature


@pytest.fixture(scope="module")
def results():
    """With all that is computed."""
    computed = {name: function("quick") for name, function in STUDY.computed.items()}
    return Results(STUDY, "quick", computed=json.loads(json.dumps(computed)))


def test_all_claims_hold_but_the_printed_exponent(results):
    verdicts = {claim.text: claim.check(results) for claim in STUDY.claims}
    failed = [text for text, verdict in verdicts.items() if not verdict.holds]
    assert len(failed) == 1
    assert failed[0].startswith("As printed")


@pytest.mark.parametrize(
    ("claim", "name", "wrong"),
    [
        ("Noise on the example's", "noise costs", {"ratios": [1.0, 0.97, 1.01]}),
        ("Turning the example by", "least costs", {"shown": [3.3, 6.5]}),
        ("The best variances are", "cheapest variances", {"spread": 0.02}),
        ("Columns' lengths multiply", "volumes", {"excess": [0.1, -0.01]}),
        ("Columns' lengths multiply", "volumes", {"difference": [1e-8]}),
        ("The best angle", "best turn", {"cosine": 0.01}),
        ("The best angle", "best turn", {"product": 11.6}),
        ("The KL is least", "least kl", {"off": 0.01}),
        ("The KL is least", "least kl", {"kl": 1e-6}),
        ("If the codes as a whole", "kl of precision", {"difference": 1e-6}),
        ("With a full-covariance", "full", {"angles": [0.0, 10.0], "losses": [3.0, 3.1]}),
        ("With a diagonal", "diagonal", {"angles": [0.0, 10.0], "losses": [3.0, 3.0]}),
        ("With a diagonal", "diagonal", {"angles": [0.0, 10.0], "losses": [3.1, 3.0]}),
    ],
)
def test_other_numbers_would_fail_a_claim(results, claim, name, wrong):
    (check,) = (each.check for each in STUDY.claims if each.text.startswith(claim))
    assert check(results).holds
    computed = {**results.computed, name: {**results.computed[name], **wrong}}
    assert check(replace(results, computed=computed)).holds is False


def test_a_wrong_exponent_is_told_from_the_right_one(results):
    assert minimum(0.5, results).holds
    assert not minimum(0.49, results).holds


def test_the_turned_example_is_the_printed_one():
    """Zietlow 2022, before eq. 3.22."""
    printed = np.sqrt(0.5) * np.array([[3.0, 5.0], [-4.0, -2.0], [6.0, 4.0]])
    assert turned(EXAMPLE, 45.0) == pytest.approx(printed)
    assert column_product(printed) == pytest.approx(np.sqrt(61 * 45 / 4))


def test_the_search_spends_the_whole_budget_and_finds_the_lagrangian_optimum():
    m = np.random.default_rng(1).normal(size=(6, 4))
    variances, cost = cheapest_noise(m, 2.5)
    assert -np.log(variances).sum() == pytest.approx(2.5)
    assert cost == pytest.approx(4 * column_product(m) ** (2 / 4) * np.exp(-2.5 / 4), rel=1e-6)


@pytest.mark.parametrize("degrees", [0.0, 20.0, 45.0])
def test_searched_posteriors_cost_what_the_closed_form_costs(degrees):
    m, beta = torch.from_numpy(turned(EXAMPLE, degrees)), 1.0
    hessian = -2 * (m.T @ m)[None]  # of the log-likelihood, for the squared error

    def loss(covariance):
        kl = 0.5 * (covariance.trace() - covariance.logdet() - 2)
        return float((m @ covariance @ m.T).trace() + beta * kl)

    full, diagonal = (
        optimal_covariance(hessian, beta)[0],
        optimal_variance(hessian, beta)[0].diag(),
    )
    assert vae_loss(m.numpy(), "full", beta) == pytest.approx(loss(full), rel=1e-6)
    assert vae_loss(m.numpy(), "diagonal", beta) == pytest.approx(loss(diagonal), rel=1e-6)
    assert loss(full) < loss(diagonal)


@pytest.mark.parametrize(("mean", "log_variance"), [(0.0, 0.0), (1.5, -3.0), (-2.0, 1.0)])
def test_quadrature_gives_the_kl_of_gaussians(mean, log_variance):
    closed = kl_divergence(Normal(mean, np.exp(log_variance / 2)), Normal(0.0, 1.0))
    found = kl_by_quadrature(np.array([mean]), np.exp([log_variance]))
    assert found == pytest.approx(float(closed), abs=1e-6)


def test_drawn_ellipses_have_one_area_and_touch_at_the_singular_directions():
    """All spend the same budget; only in the turned space do the two kinds differ."""
    left, right = broken_symmetry(EXAMPLE).axes[:2]
    for axes, same in ((left, True), (right, False)):
        ellipses = [patch for patch in axes.patches if hasattr(patch, "angle")][2:]
        sides = np.array([sorted((e.width, e.height)) for e in ellipses])
        assert sides.prod(1) == pytest.approx(np.full(len(sides), 4 * np.exp(-2)))
        assert np.allclose(sides[0::2], sides[1::2]) == same


def test_the_drawn_curves_reach_their_marked_minima():
    axes = worked_example(EXAMPLE, 4.0, 0.45).axes[0]
    lines = axes.lines
    for curve, dot in ((lines[0], lines[1]), (lines[2], lines[3])):
        assert np.min(curve.get_ydata()) == pytest.approx(float(dot.get_ydata()[0]), rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("drawing", STUDY.drawings, ids=lambda d: d.name)
def test_drawings_are_small_files(drawing, tmp_path):
    with house_style():
        figure = drawing.draw(Results(STUDY, "quick"))
    assert save(figure, tmp_path, drawing.name).stat().st_size < 300_000


def test_stages_of_figure_2_4_lead_from_the_data_to_the_codes():
    """Turn, stretch, turn: of the three steps the outer ones keep lengths, the inner one axes."""
    m = np.array([[1.5, 1.0], [0.2, 1.2]])
    data, turned_data, turned_codes, codes = stages(m).values()
    first = turned_data @ np.linalg.inv(data)
    assert first @ first.T == pytest.approx(np.eye(2))
    stretch = turned_codes @ np.linalg.inv(turned_data)
    assert stretch == pytest.approx(np.diag(1 / np.linalg.svd(m, compute_uv=False)))
    last = codes @ np.linalg.inv(turned_codes)
    assert last @ last.T == pytest.approx(np.eye(2))
    assert last @ stretch @ first == pytest.approx(np.linalg.inv(m))
    assert np.linalg.det(last) > 0
    assert len(singular_steps(m).axes[0].texts) > 10
