"""Options that are chosen by name refuse a name that they do not know."""

import inspect

import numpy as np
import pytest

from unpick.metrics import dci, disentanglement_score, mean_correlation, scorecard, udr
from unpick.metrics.correlation import unit_columns

CODES, FACTORS = np.random.default_rng(0).random((40, 2)), np.arange(80).reshape(40, 2) % 3


@pytest.mark.parametrize(
    ("function", "arguments", "option"),
    [
        (mean_correlation, (CODES, FACTORS), "method"),
        (unit_columns, (CODES,), "method"),
        (disentanglement_score, (CODES, FACTORS), "variant"),
        (udr, ([CODES, CODES], [CODES[0], CODES[0]]), "variant"),
        (dci, (CODES, FACTORS), "learner"),
        (scorecard, (CODES, FACTORS), "learner"),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_an_unknown_name_is_refused(function, arguments, option):
    plain = inspect.unwrap(function)  # without the type checks of the tests
    with pytest.raises(ValueError, match=rf"{option} must be one of \('.*\), got 'Pearson'"):
        plain(*arguments, **{option: "Pearson"})
