"""The ledger's picture of approximations, and that every picture of the ledger is drawn."""

import numpy as np
import pytest

from unpick.papers.across.ledger import error_orders
from unpick.papers.ledger import DRAWINGS, ledger
from unpick.plots import house_style, save


def lines(axes):
    return [np.asarray(line.get_xydata()) for line in axes.lines]


def orders():
    scales = (0.3, 0.1, 0.03, 0.01)
    curves = {f"power {k}": [(s, 0.5 * s**k) for s in scales] for k in (1, 2, 4)}
    return error_orders({**curves, "exact": [(s, 1e-14) for s in scales]})


def test_reference_lines_have_the_power_of_the_errors():
    figure = orders()
    for axes, power in zip(figure.axes, (1, 2, 4), strict=False):
        reference, error = lines(axes)
        assert axes.texts[0].get_text() == f"power {power}"
        assert reference == pytest.approx(error)
    assert "equal to" in figure.axes[3].texts[0].get_text()
    assert not figure.axes[3].lines


def test_errors_must_not_be_empty():
    with pytest.raises(ValueError, match="curves must hold at least one"):
        error_orders({})


@pytest.mark.slow
def test_the_picture_of_approximations_is_a_small_file(tmp_path):
    with house_style():
        figure = orders()
    assert save(figure, tmp_path, "orders").stat().st_size < 300_000
    for axes in figure.axes:
        assert not (axes.get_xlabel() or axes.get_ylabel()).startswith("$")  # in words


@pytest.fixture(scope="module")
def judgements():
    return ledger(["A-SA.2", "Z-L1"])


@pytest.mark.slow
@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda drawing: drawing.name)
def test_the_ledgers_pictures_are_drawn_small(drawing, judgements, tmp_path):
    with house_style():
        figure = drawing.draw(judgements)
    assert 10_000 < save(figure, tmp_path, drawing.name).stat().st_size < 300_000


def test_a_ledger_without_approximations_has_no_picture_of_them():
    (drawn,) = [drawing for drawing in DRAWINGS if drawing.name == "orders"]
    assert drawn.draw(ledger(["Z-L1"])) is None
