import numpy as np
import pytest

from unpick.metrics import metric_names, mutual_information_gap, scorecard
from unpick.metrics.scorecard import METRICS

pytestmark = pytest.mark.usefixtures("cheap_scorecard")


@pytest.fixture
def grid(rng):
    return np.stack([rng.integers(size, size=600) for size in (3, 4, 5)], axis=1).astype(float)


@pytest.mark.slow
def test_a_perfect_code_scores_high_on_everything_and_names_are_unique(grid, rng):
    codes = grid + 0.01 * rng.normal(size=grid.shape)
    card = scorecard(codes, grid, log_variances=np.full(codes.shape, -6.0))
    values = {score.name: score.value for score in card.scores}
    assert len(values) == len(card.scores) == 16
    assert values.pop("SAP") < 0.5  # a line through one latent cannot tell three classes apart
    assert min(values.values()) > 0.9, values
    assert card["MIG"].value == mutual_information_gap(codes, grid).score


@pytest.mark.slow
def test_intervals_hold_the_values(grid, rng):
    codes = grid @ rng.normal(size=(3, 3)) + 0.3 * rng.normal(size=grid.shape)
    card = scorecard(codes, grid, draws=20)
    for score in card.scores:
        assert score.interval is not None, score.name
        assert score.interval.value == pytest.approx(score.value, abs=1e-12), score.name
        assert score.interval.deviation > 0, score.name
    assert card["MIG"].interval.draws == 20
    assert card["SAP"].interval.draws == 10


@pytest.mark.slow
def test_fitting_and_testing_use_different_rows(grid, rng):
    """Noise cannot be predicted on rows that were not fitted."""
    card = scorecard(rng.normal(size=(600, 3)), grid)
    assert card["DCI informativeness"].note == "learner: unpick's fast boosting, a proxy"
    assert card["DCI informativeness"].value < 0.4  # a guess is right for 0.26 of rows
    assert card["DS"].value < 0.1


@pytest.mark.slow
def test_continuous_factors_are_cut_and_that_is_said(rng):
    square = rng.random((600, 2))
    card = scorecard(square, square)
    assert card["MIG"].value > 0.5
    assert card.note == "Continuous factors in 20 bins, but for DS and MCC."
    assert card["DS"].value > 0.9
    mixed = np.concatenate([square[:, :1], (square[:, 1:] > 0.5).astype(float)], axis=1)
    labels = scorecard(square, mixed)["MIG"].result
    assert labels.entropies[1] == pytest.approx(np.log(2), abs=0.01)  # classes stay as they are


def test_what_cannot_be_had_says_why_and_the_rest_is_there(rng):
    one = rng.integers(3, size=(200, 1)).astype(float)
    codes = np.concatenate([one, rng.normal(size=(200, 1))], axis=1)
    card = scorecard(codes, one, draws=10)
    assert np.isnan(card["modularity"].value)
    assert "at least 2" in card["modularity"].note
    assert card["MIG"].value > 0.8
    first_names = []
    scorecard(codes, one, log_variances=np.zeros(codes.shape), progress=first_names.append)
    assert METRICS == metric_names(sampled=True) == tuple(first_names)
    without_samples = []
    scorecard(codes, one, progress=without_samples.append)
    assert without_samples[0] == "MIG"
    assert len(without_samples) > 8
    assert metric_names(sampled=False) == tuple(without_samples)
    with pytest.raises(ValueError, match="30 or more rows, got 10"):
        scorecard(codes[:10], one[:10])


@pytest.mark.slow
def test_the_same_generator_gives_the_same_card(grid, rng):
    codes = grid + rng.normal(size=grid.shape)
    first, second = (scorecard(codes, grid, rng=np.random.default_rng(3)) for _ in range(2))
    assert [s.value for s in first.scores] == [s.value for s in second.scores]
    assert first["DCI disentanglement"].result.matrix.shape == (3, 3)


@pytest.mark.slow
def test_a_resample_without_a_score_does_not_take_the_value_away(rng):
    codes = rng.normal(size=(100, 2))
    factors = rng.integers(2, size=(100, 2)).astype(float)
    factors[:2, 0] = 7  # a class that many resamples lack
    card = scorecard(codes, factors, draws=10)
    assert card["FactorVAE"].value == scorecard(codes, factors)["FactorVAE"].value
    assert card["FactorVAE"].interval is None
    assert "no interval" in card["FactorVAE"].note
    bell = rng.normal(size=(600, 2))
    assert scorecard(bell, bell)["FactorVAE"].value > 0.9
