import numpy as np
import pytest

from unpick.metrics import disentanglement_score


@pytest.fixture
def square():
    return np.random.default_rng(0).random((2000, 2))


def test_ds_of_the_factors_themselves_is_near_one_and_of_a_turned_square_near_zero(square):
    assert disentanglement_score(square, square).score > 0.95
    turned = square @ np.array([[1.0, 1.0], [1.0, -1.0]])
    assert disentanglement_score(turned, square).score < 0.1


def test_ds_of_twice_the_same_code_is_zero(square):
    codes = np.concatenate([square, square], axis=1)
    assert disentanglement_score(codes, square).score == pytest.approx(0.0, abs=1e-12)


def test_ds_ignores_order_and_monotonic_maps_of_the_codes(square):
    warped = np.stack([np.exp(3 * square[:, 1]), -(square[:, 0] ** 3)], axis=1)
    assert disentanglement_score(warped, square).score == pytest.approx(
        disentanglement_score(square, square).score, abs=0.02
    )


def test_the_printed_form_exceeds_one_where_neighbours_are_worse_than_a_constant(square):
    printed = disentanglement_score(square, square, variant="printed").score
    assert 1.0 < printed < 1.2


def test_classes(square):
    labels = (square > 0.5).astype(float)
    result = disentanglement_score(square, labels, [True, True])
    assert result.score > 0.9
    assert result.predictability.shape == (2, 2)
    assert (np.diag(result.predictability) > 0.98).all()
    printed = disentanglement_score(square, labels, [True, True], variant="printed")
    assert printed.predictability[0, 0] == pytest.approx(2.0, abs=0.2)  # accuracy 1 over guess 1/2


@pytest.mark.parametrize(
    ("codes", "factors", "message"),
    [
        (np.zeros((100, 1)), np.zeros((100, 1)), "at least 2 columns, got 1"),
        (np.zeros((10, 2)), np.zeros((10, 1)), "25 or more rows, got 10 and 10"),
        (np.full((100, 2), np.nan), np.zeros((100, 1)), "finite"),
        (np.random.default_rng(0).random((100, 2)), np.zeros((100, 1)), "constant"),
    ],
)
def test_what_cannot_be_scored_is_refused(codes, factors, message):
    with pytest.raises(ValueError, match=message):
        disentanglement_score(codes, factors)
