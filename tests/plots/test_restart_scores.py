"""Planted scores, drawn: every mark stands where its number is."""

import math

import numpy as np
import pytest

from drawn import marks
from unpick.plots.comparison import ComparedValues
from unpick.plots.restart_scores import (
    Search,
    draw_dots,
    factor_bars,
    grouped_scores,
    histograms,
    violins,
)
from unpick.plots.style import BLUE, ORANGE


def words(axes):
    return [label.get_text() for label in axes.get_xticklabels()]


def test_groups_share_colours_and_show_what_was_published():
    figure = grouped_scores(
        {
            "one": {
                "A": [
                    ComparedValues("before", np.array([0.1, math.nan, 0.3]), (0.5, 0.1)),
                    ComparedValues("after", np.array([0.7])),
                ],
                "B": [ComparedValues("after", np.array([0.9]), (0.4, math.nan))],
            },
            "two": {"B": [ComparedValues("before", np.array([0.2]))]},
        },
        "score",
    )
    first, second = figure.axes
    assert marks(first, "o") == {BLUE: [[0.1, 0.3]], ORANGE: [[0.7], [0.9]]}
    assert marks(second, "o") == {BLUE: [[0.2]]}
    assert marks(first, "D") == {"#222222": [[0.5], [0.4]]}
    (reach,) = [path.get_segments()[0][:, 1].tolist() for path in first.collections]
    assert reach == pytest.approx([0.4, 0.6])  # a deviation that is not printed has no line
    assert words(second) == ["A", "B"]
    with pytest.raises(ValueError, match="at least one entry"):
        grouped_scores({"one": {"A": []}}, "score")


def test_a_bar_stands_at_the_mean_of_the_dots():
    axes = violins({"d": {"m": Search(np.array([0.2]), {}, {})}}, "s").axes[0]
    draw_dots(axes, 5.0, np.array([0.1, 0.2, 0.6]), ORANGE, 0.4)
    places, bar = axes.lines[-2], axes.lines[-1]
    assert np.ptp(np.asarray(places.get_xdata())) < 0.4
    assert np.asarray(bar.get_xdata()) == pytest.approx([4.8, 5.2])
    assert np.asarray(bar.get_ydata()) == pytest.approx([0.3, 0.3])
    before = len(axes.lines)
    draw_dots(axes, 5.0, np.array([math.nan]), ORANGE)
    assert len(axes.lines) == before


def test_violins_need_four_values_and_tell_what_was_left_out():
    search = Search(
        np.array([0.6, 0.8]),
        {"1x": np.array([0.1, 0.2, 0.3, 0.4]), "2x": np.array([0.1, 0.2, 0.3])},
        {"1x": 0, "2x": 2, "orig.": 1},
    )
    figure = violins({"data": {"first": search}, "more": {"second": search}}, "MIG")
    shown, empty = figure.axes[:2]
    assert words(shown) == ["orig.\n-1", "1x", "2x\n-2"]
    assert len(shown.collections) == 1
    (level,) = [line for line in shown.lines if line.get_linestyle() == "--"]
    assert np.asarray(level.get_ydata()) == pytest.approx([0.7, 0.7])
    assert not empty.axison  # the method was not searched there
    with pytest.raises(ValueError, match="at least one search"):
        violins({}, "MIG")


def test_histograms_count_every_restart_once():
    scores = {"before": np.array([0.52, 0.93]), "after": np.array([0.01, 0.04, 0.2, math.nan])}
    (axes,) = histograms({"data": {"method": scores}}, "MIG").axes
    after, before = sorted(axes.patches, key=lambda patch: patch.get_zorder())
    for patch, count, top in ((before, 2, 1.0), (after, 3, 2.0)):
        x, y = patch.get_xy()[:, 0], patch.get_xy()[:, 1]
        area = abs(np.sum((x[1:] + x[:-1]) * np.diff(y))) / 2
        assert area / 0.05 == pytest.approx(count)
        assert y.max() == top
    with pytest.raises(ValueError, match="at least one method"):
        histograms({"data": {}}, "MIG")


def test_bars_are_means_over_restarts():
    values = np.array([[0.1, 0.5, 0.9], [0.3, 0.7, 0.5]])
    figure = factor_bars({"data": {"before": values, "after": values / 2}}, {"data": "abc"}, "MIG")
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    assert heights == pytest.approx([0.2, 0.6, 0.7, 0.1, 0.3, 0.35])
    middles = [bar.get_x() + bar.get_width() / 2 for bar in figure.axes[0].patches]
    assert np.round(middles).tolist() == [0, 1, 2, 0, 1, 2]
    with pytest.raises(ValueError, match="at least one kind"):
        factor_bars({"data": {}}, {}, "MIG")
