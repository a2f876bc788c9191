"""The pictures of the ledger of Zietlow (2022), drawn from planted arrays."""

import numpy as np
import pytest

from unpick.papers.zietlow2022.ledger.plots import budget_allocation, elbo_gap, rotation_descent
from unpick.plots import house_style, save


def lines(axes):
    return [np.asarray(line.get_xydata()) for line in axes.lines]


def words(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def descents():
    halving = 3.0 + 2.0 ** -np.arange(6)
    paths = {"random": [halving, halving[:3]], "saddle": [np.append(halving, 3.0)]}
    return rotation_descent({"planes": paths, "gradient": paths}, 3.0)


def allocations():
    """Two latents, on one level in the first panel, on two in the second."""
    lengths = np.array([[1.0, 2.0], [4.0, 8.0]])
    level = np.array([0.01, 0.04])
    water = (0.01 / lengths**2, np.full(2, 0.01))
    return budget_allocation(
        lengths, {"plain": water, "log": (level[:, None] / lengths**2, level)}
    )


def gaps():
    gamma2 = 10.0 ** np.arange(1, 5)
    return elbo_gap(gamma2, -2 - 1 / gamma2, np.full(4, -1.5), np.full(4, -2.0))


def test_descents_are_drawn_above_their_optimum():
    figure = descents()
    drawn = lines(figure.axes[0])
    assert drawn[0][:, 1] == pytest.approx(2.0 ** -np.arange(6))
    assert drawn[4][-1, 1] == 1e-15  # the optimum itself, on a log axis
    assert words(figure) == ["random", "saddle"]


def test_a_water_level_is_a_line_and_several_are_a_band():
    plain, log = allocations().axes
    points, level = lines(plain)[0], lines(plain)[2]
    assert points[:, 0] ** 2 * points[:, 1] == pytest.approx([0.01, 0.01])
    assert level[:, 0] ** 2 * level[:, 1] == pytest.approx([0.01, 0.01])
    assert len(lines(plain)) == len(lines(log)) + 1
    edges = log.collections[0].get_paths()[0].vertices
    heights = np.unique((edges[:, 0] ** 2 * edges[:, 1]).round(9))
    assert heights == pytest.approx([0.01, 0.04])


def test_the_elbo_is_drawn_with_its_distances():
    above, below = gaps().axes
    assert "IMA contrast 0.500" in [text.get_text() for text in above.texts]
    to_likelihood, to_regularised = lines(below)
    assert to_likelihood[:, 1] == pytest.approx(0.5 + 1 / to_likelihood[:, 0])
    assert to_regularised[:, 1] == pytest.approx(1 / to_regularised[:, 0])


@pytest.mark.slow
@pytest.mark.parametrize("draw", [descents, allocations, gaps])
def test_drawings_are_small_files(draw, tmp_path):
    with house_style():
        figure = draw()
    assert save(figure, tmp_path, draw.__name__).stat().st_size < 300_000
    for axes in figure.axes:
        assert not (axes.get_xlabel() or axes.get_ylabel()).startswith("$")  # in words


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rotation_descent({}, 0.0), "paths must hold at least one"),
        (lambda: budget_allocation(np.ones((2, 2)), {}), "allocations must hold at least one"),
        (
            lambda: budget_allocation(np.ones((2, 8)), {"a": (np.ones((2, 8)), np.ones(2))}),
            "at most 7 columns",
        ),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
