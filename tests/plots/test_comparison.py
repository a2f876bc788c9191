import math

import numpy as np
import pytest

from unpick.plots.comparison import ComparedValues, comparison


def drawn(entry):
    """What one line shows: dots, mean, published value and its reach, chance."""
    figure = comparison({"group": [entry]}, "score")
    (axes,) = figure.axes
    found = {}
    for line in axes.lines:
        x = np.asarray(line.get_xdata(), dtype=float)
        found.setdefault(str(line.get_marker()), []).append(x.tolist())
    reach = [path.get_segments()[0][:, 0].tolist() for path in axes.collections]
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    return found, reach, words


def test_values_stand_where_they_are():
    found, reach, words = drawn(
        ComparedValues("a", np.array([0.1, 0.5, math.nan]), (0.4, 0.1), 0.6)
    )
    assert found["o"] == [[0.1, 0.5]]  # a seed without a value has no dot
    assert found["|"] == [pytest.approx([0.3])]
    assert found["D"] == [[0.4]]
    assert reach == [pytest.approx([0.3, 0.5])]
    assert found["None"] == [[0.6, 0.6]]
    assert "chance" in words


def test_what_is_not_known_is_not_drawn():
    found, reach, words = drawn(ComparedValues("a", np.array([0.1]), (0.4, math.nan)))
    assert "None" not in found
    assert not reach
    assert "chance" not in words
    assert "D" not in drawn(ComparedValues("a", np.array([0.1])))[0]
    with pytest.raises(ValueError, match="at least one entry"):
        comparison({"empty": []}, "score")


def test_lines_are_in_their_order():
    entries = [ComparedValues("first", np.array([0.1])), ComparedValues("second", np.array([0.9]))]
    (axes,) = comparison({"one": entries[:1], "two": entries[1:]}, "score").axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["first", "second"]
    high, low = axes.get_yticks()
    assert high > low
    assert [text.get_text() for text in axes.texts] == ["one", "two"]
