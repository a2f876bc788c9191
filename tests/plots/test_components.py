"""Planted components, drawn: every mark stands where its number is."""

import numpy as np

from unpick.plots.components import biplot, scree, traversal


def test_scree_shows_what_is_explained_and_found_again():
    table = {
        "stage": np.array(["search"] * 4 + ["restarts"]),
        "beta": np.array([0.1, 0.1, 1.0, 1.0, 0.5]),
        "active": np.array([4, 4, 2, 2, 2]),
        "agreement": np.array([0.25, 0.25, 1.0, 1.0, 1.0]),
    }
    left, right = scree(np.array([0.6, 0.3]), np.array([0.5, 0.2, 0.1]), table, 0.5).axes
    curves = [line.get_ydata().tolist() for line in left.lines[:2]]
    np.testing.assert_allclose(curves[0], [0.5, 0.2, 0.1])
    np.testing.assert_allclose(curves[1], [0.6, 0.3])
    assert "NonlinearPCA: the first 2 explain 90%" in [line.get_label() for line in left.lines]
    active, again, chosen = (line.get_ydata() for line in right.lines)
    assert active.tolist() == [4, 2]
    assert again.tolist() == [1, 2]
    assert right.lines[2].get_xdata()[0] == 0.5
    assert len(chosen) == 2


def test_traversal_shows_the_columns_that_move_most():
    steps = np.array([-1.0, 0.0, 1.0])
    rows = np.stack([np.outer(steps, [0.1, 3.0, 1.0]), np.outer(steps, [2.0, 0.0, 1.0])])
    figure = traversal(steps, rows, ["a", "b", "c"], most=2)
    said = [[line.get_label() for line in axes.lines] for axes in figure.axes]
    assert said == [["b", "c"], ["a", "c"]]


def test_biplot_has_a_point_a_row_and_an_arrow_a_column():
    codes = np.array([[1.0, 0.0], [0.0, 2.0], [-1.0, -1.0]])
    figure = biplot(codes, np.array([[0.9, 0.0], [0.0, 0.5]]), ["a", "b"], np.array([0, 1, 1]))
    (axes,) = figure.axes
    assert [len(line.get_xdata()) for line in axes.lines] == [1, 2]
    assert [text.get_text() for text in axes.texts if text.get_text()] == ["a", "b"]
    ends = [text.xy for text in axes.texts if text.get_text()]
    np.testing.assert_allclose(ends, [[0.9 * 1.8, 0], [0, 0.5 * 1.8]])
