from dataclasses import replace

import numpy as np
import pytest
import torch

from unpick.papers.zietlow2022.beta_search.figures import BetaPanel, beta_search, over_pruned
from unpick.papers.zietlow2022.restarts import degenerate_squares, restarts


@pytest.fixture
def panel():
    """Five betas a decade apart; two latents, then one, then none."""
    active = np.array([[2, 2], [2, 2], [2, 1], [1, 1], [0, 0.0]])
    ds = np.array([[0.5, 0.7], [0.8, 1.0], [0.4, 0.2], [0.1, 0.1], [0, 0.0]])
    dto = np.where(active < 2, np.nan, 0.25)
    dto[2] = [0.1, np.nan]
    beta = 10.0 ** np.arange(-4, 1)
    return BetaPanel("toy", beta, ds, dto, active, 2, 0.6, 1e-3, 0.1, 1e-3, (0.03, 0.3))


def test_shade_begins_half_way_to_the_first_beta_with_too_few_latents(panel):
    assert over_pruned(panel) == [pytest.approx((10**-2.5, 10**0.5))]
    assert over_pruned(replace(panel, factors=1)) == [pytest.approx((10**-0.5, 10**0.5))]
    assert over_pruned(replace(panel, factors=0)) == []


def test_stretches_without_enough_latents_stay_apart(panel):
    active = np.array([[1.0, 1], [2, 2], [1, 2], [1, 1], [2, 2]])
    found = over_pruned(replace(panel, active=active))
    assert found == [pytest.approx((10**-4.5, 10**-3.5)), pytest.approx((10**-2.5, 10**-0.5))]


def test_a_missing_restart_does_not_make_a_beta_look_healthy(panel):
    """Three latents or four where five are needed, and one beta with a single restart."""
    active = np.array([[3, 4], [3, np.nan], [3, 3], [3, 3], [5, 5]])
    short = replace(panel, active=active, factors=5)
    assert over_pruned(short) == [pytest.approx((10**-4.5, 10**-0.5))]
    steps = beta_search([short]).axes[2].patches[0].get_data()
    assert steps.values == pytest.approx([3.5, 3, 3, 3, 5])
    with pytest.raises(ValueError, match="a restart of each beta"):
        replace(panel, active=np.full((5, 2), np.nan))


def mean_of(axes):
    """What the solid line through several betas shows."""
    solid = [
        line for line in axes.lines if line.get_linestyle() == "-" and line.get_marker() == "None"
    ]
    return next(line.get_ydata() for line in solid if np.ptp(line.get_xdata()) > 0)


def test_a_line_search_shows_means_steps_and_marks(panel):
    figure = beta_search([panel, panel])
    score, distance, latents = figure.axes[::2]
    assert mean_of(score) == pytest.approx([0.6, 0.9, 0.3, 0.1, 0.0])
    # A distance that is not defined is left out, and so are betas without any.
    assert mean_of(distance) == pytest.approx([0.25, 0.25, 0.1])
    steps = latents.patches[0].get_data()
    assert steps.values == pytest.approx([2, 2, 1.5, 1, 0])
    assert steps.edges == pytest.approx(10.0 ** np.arange(-4.5, 1))
    star = next(line for line in score.lines if line.get_marker() == "*")
    assert (star.get_xdata()[0], star.get_ydata()[0]) == pytest.approx((1e-3, 0.9))
    upright = [line.get_xdata()[0] for line in score.lines if np.ptp(line.get_xdata()) == 0]
    assert {1e-3, 0.1} <= {round(x, 9) for x in upright}
    dying = [line.get_xdata()[0] for line in latents.lines if line.get_marker() == "^"]
    assert dying == [0.03, 0.3]


def test_the_legend_names_only_what_is_drawn(panel):
    def words(panel):
        return {text.get_text() for text in beta_search([panel]).legends[0].get_texts()}

    everything = words(panel)
    bare = words(replace(panel, rule_beta=None, thresholds=(), factors=0))
    assert len(everything) == 7
    assert len(everything - bare) == 3


def test_bad_searches(panel):
    with pytest.raises(ValueError, match="panels must hold at least one"):
        beta_search([])
    with pytest.raises(ValueError, match="rising order"):
        replace(panel, beta=panel.beta[::-1].copy())
    with pytest.raises(ValueError, match="rising order"):
        replace(panel, beta=panel.beta - 1e-4)


def test_restarts_lie_on_their_line():
    """Planted: y = 1 - 2 x in two groups, so the line over all is that one."""
    x = np.linspace(0.1, 0.4, 8)
    groups = {"a": (x[:3], 1 - 2 * x[:3]), "b": (x[3:], 1 - 2 * x[3:])}
    axes = restarts(groups, [(0.2, 0.5, "as printed")], "r = -1").axes[0]
    line = axes.lines[0].get_xydata()
    assert line == pytest.approx(np.array([[0.1, 0.8], [0.4, 0.2]]))
    drawn = {c.get_label(): np.asarray(c.get_offsets()) for c in axes.collections}
    assert {name: len(points) for name, points in drawn.items()} == {
        "a": 3,
        "b": 5,
        "as printed": 1,
    }
    assert drawn["b"] == pytest.approx(np.stack(groups["b"], axis=1))
    assert drawn["as printed"] == pytest.approx(np.array([[0.2, 0.5]]))
    assert axes.get_title("left") == "r = -1"


@pytest.mark.parametrize("slope", [-1, 0, 1])
def test_words_and_legend_cover_no_point(slope):
    """Points in all corners: legend and note must lie outside the axes."""
    x = np.array([0, 0, 0.5, 1, 1.0])
    y = slope * x + np.array([0, 1, 0.5, 0, 1])
    figure = restarts({"a": (x, y)}, [(1.0, 1.0, "as printed")], "r = 0")
    figure.draw_without_rendering()
    inside = figure.axes[0].get_window_extent()
    note = figure.axes[0].get_title("left")
    assert note == "r = 0"
    for words in (figure.legends[0], figure.axes[0]._left_title):
        assert not inside.overlaps(words.get_window_extent())


def test_one_restart_has_no_line():
    assert not restarts({"a": (np.array([0.5]), np.array([0.5]))}).axes[0].lines
    with pytest.raises(ValueError, match="groups must hold at least one"):
        restarts({})


def test_squares_are_drawn_where_the_codes_are():
    """A quarter turn: lines along the first factor stand upright in the latent space."""
    square = torch.rand(20_000, 2, generator=torch.Generator().manual_seed(0))
    turned = torch.stack([-square[:, 1], 3 * square[:, 0]], dim=1)
    figure = degenerate_squares(square, {"ratio 1": torch.stack([square, turned])})
    top, same, other = figure.axes
    for axes, along, length in ((top, 0, 1), (same, 0, 1), (other, 1, 3)):
        spans = [np.ptp(line.get_xydata(), axis=0) for line in axes.lines[:9]]
        assert all(span[along] > 0.95 * length for span in spans)
        assert all(span[1 - along] < 0.01 for span in spans)
    assert same.get_xlim() == other.get_ylim()  # one scale
    assert [same.get_ylabel(), other.get_title()] == ["ratio 1", "restart 2"]
