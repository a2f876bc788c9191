"""Options that are chosen by name refuse a name that they do not know."""

import inspect

import pytest
import torch

from unpick.geometry import fit_local_decoder, likelihood_hessian, od_score
from unpick.geometry.curvature import observations
from unpick.geometry.released_decoder import fit_released_decoder

X, DEVIATION = torch.zeros(5, 2), torch.ones(5, 2)


@pytest.mark.parametrize(
    ("function", "arguments", "option"),
    [
        (observations, (X, 5), "likelihood"),  # asked first by all that have a likelihood
        (likelihood_hessian, (torch.tanh, X, X), "form"),
        (od_score, (torch.eye(3)[None],), "variant"),
        (fit_local_decoder, (torch.tanh, X, DEVIATION), "nonlinearity"),
        (fit_released_decoder, (torch.tanh, X, DEVIATION), "nonlinearity"),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_an_unknown_name_is_refused(function, arguments, option):
    plain = inspect.unwrap(function)  # without the type checks of the tests
    with pytest.raises(ValueError, match=rf"{option} must be one of \('.*\), got 'Gaussian'"):
        plain(*arguments, **{option: "Gaussian"})
