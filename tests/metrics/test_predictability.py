import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from unpick.metrics import disentanglement_score
from unpick.metrics.predictability import nearest, vote


@pytest.fixture
def square():
    return np.random.default_rng(0).random((2000, 2))


def test_neighbours_are_those_of_scikit_learn():
    """To the last bit: means in the same order, votes that tie go to the smallest class."""
    rng = np.random.default_rng(1)
    known, new = rng.standard_normal(500), 1.5 * rng.standard_normal(700)
    factors, labels = rng.random((500, 3)), rng.integers(0, 8, 500)
    found = nearest(known, new)
    regressor = KNeighborsRegressor(5).fit(known[:, None], factors)
    assert np.array_equal(factors[found].mean(0), regressor.predict(new[:, None]))
    classifier = KNeighborsClassifier(5).fit(known[:, None], labels)
    assert np.array_equal(vote(labels[found]), classifier.predict(new[:, None]))
    ballots = np.sort(labels[found], axis=0)
    assert (np.diff(ballots, axis=0) > 0).all(0).any()  # five votes for five classes do occur


@pytest.mark.parametrize("k", [1, 2, 5, 12])
def test_of_equally_far_values_the_first_is_taken(k):
    rng = np.random.default_rng(2)
    known, new = rng.integers(0, 6, 12).astype(float), rng.integers(-2, 8, 50).astype(float)
    distances = np.abs(known - new[:, None])
    position = np.broadcast_to(np.arange(12), distances.shape)
    by_hand = np.lexsort((position, distances), axis=1)[:, :k]
    assert np.array_equal(nearest(known, new, k).T, by_hand)
    assert np.array_equal(nearest(-known, -new, k).T, by_hand)  # no side is preferred


def by_scikit_learn(fit, test, categorical, variant):
    """Zietlow 2022, eq. 3.32 to 3.37, pair by pair."""
    matrix = np.empty((fit[0].shape[1], fit[1].shape[1]))
    for j, k in np.ndindex(matrix.shape):
        x, new, w, wanted = fit[0][:, [j]], test[0][:, [j]], fit[1][:, k], test[1][:, k]
        if categorical[k]:
            values, counts = np.unique(w, return_counts=True)
            guess = (wanted == values[counts.argmax()]).mean()
            accuracy = (KNeighborsClassifier(5).fit(x, w).predict(new) == wanted).mean()
            clipped, printed = max(0, (accuracy - guess) / (1 - guess)), accuracy / guess
        else:
            error = np.sqrt(((KNeighborsRegressor(5).fit(x, w).predict(new) - wanted) ** 2).mean())
            printed = 1 - error / wanted.std()
            clipped = max(0, printed)
        matrix[j, k] = clipped if variant == "clipped" else printed
    return matrix


@pytest.mark.parametrize("variant", ["clipped", "printed"])
def test_ds_is_its_definition(variant):
    rng = np.random.default_rng(3)
    factors = np.stack([rng.random(400), rng.random(400), rng.integers(0, 4, 400)], axis=1)
    codes = factors @ rng.standard_normal((3, 4)) + 0.1 * rng.standard_normal((400, 4))
    categorical, test = [False, False, True], (codes[300:], factors[300:])
    found = disentanglement_score(
        codes[:300], factors[:300], categorical, test=test, variant=variant
    )
    matrix = by_scikit_learn((codes[:300], factors[:300]), test, categorical, variant)
    np.testing.assert_allclose(found.matrix, matrix, rtol=1e-12, atol=1e-12)
    ranked = np.sort(matrix, axis=0)
    np.testing.assert_allclose(found.per_factor, ranked[-1] - ranked[-2], atol=1e-12)
    assert found.score == pytest.approx(found.per_factor.mean())


def test_a_fifth_is_held_out(square):
    order = np.random.default_rng(0).permutation(2000)
    fit, held = order[:1600], order[1600:]
    by_hand = disentanglement_score(square[fit], square[fit], test=(square[held], square[held]))
    assert np.array_equal(disentanglement_score(square, square).matrix, by_hand.matrix)


def test_ds_of_the_factors_themselves_is_near_one_and_of_a_turned_square_near_zero(square):
    assert disentanglement_score(square, square).score > 0.95
    turned = square @ np.array([[1.0, 1.0], [1.0, -1.0]])
    assert disentanglement_score(turned, square).score < 0.1


def test_ds_of_twice_the_same_code_is_zero(square):
    codes = np.concatenate([square, square], axis=1)
    assert disentanglement_score(codes, square).score == 0.0


def test_ds_ignores_order_and_monotonic_maps_of_the_codes(square):
    warped = np.stack([np.exp(3 * square[:, 1]), -(square[:, 0] ** 3)], axis=1)
    assert disentanglement_score(warped, square).score == pytest.approx(
        disentanglement_score(square, square).score, abs=0.02
    )


def test_ds_does_not_see_the_sign_of_a_code(square):
    codes = np.round(20 * square @ np.array([[1.0, 0.3], [0.2, 1.0]]))  # ties everywhere
    flipped = disentanglement_score(codes * [1, -1], square)
    assert np.array_equal(flipped.matrix, disentanglement_score(codes, square).matrix)


def test_the_printed_form_exceeds_one_where_neighbours_are_worse_than_a_constant(square):
    printed = disentanglement_score(square, square, variant="printed").score
    assert 1.0 < printed < 1.2


def test_classes(square):
    labels = (square > 0.5).astype(float)
    result = disentanglement_score(square, labels, [True, True])
    assert result.score > 0.9
    assert (np.diag(result.matrix) > 0.98).all()
    printed = disentanglement_score(square, labels, [True, True], variant="printed")
    assert printed.matrix[0, 0] == pytest.approx(2.0, abs=0.2)  # accuracy 1 over guess 1/2


def test_a_constant_latent_is_the_constant_guess(square):
    codes = np.stack([square[:, 0], np.full(2000, 3.0)], axis=1)
    factors = np.stack([square[:, 0], np.floor(4 * square[:, 0])], axis=1)
    clipped = disentanglement_score(codes, factors, [False, True])
    assert clipped.matrix[1].tolist() == [0.0, 0.0]
    assert np.array_equal(clipped.per_factor, clipped.matrix[0])
    printed = disentanglement_score(codes, factors, [False, True], variant="printed")
    assert printed.matrix[1].tolist() == [0.0, 1.0]


ROWS = np.random.default_rng(0).random((100, 2))


@pytest.mark.parametrize(
    ("codes", "factors", "options", "message"),
    [
        (np.zeros((100, 1)), np.zeros((100, 1)), {}, "at least 2 columns, got 1"),
        (np.zeros((10, 2)), np.zeros((10, 1)), {}, "25 or more rows, got 10 and 10"),
        (np.full((100, 2), np.nan), np.zeros((100, 1)), {}, "codes must be finite"),
        (ROWS, np.zeros((100, 1)), {}, "constant"),
        (ROWS, np.zeros((100, 1)), {"categorical": [True]}, "constant"),
        (ROWS, ROWS, {"categorical": [True]}, "one entry for each of 2 factors, got 1"),
        (ROWS, ROWS, {"test": (ROWS[:, [0, 0, 1]], ROWS)}, "2 latents and 2 factors, got 3 and 2"),
    ],
)
def test_what_cannot_be_scored_is_refused(codes, factors, options, message):
    with pytest.raises(ValueError, match=message):
        disentanglement_score(codes, factors, **options)
