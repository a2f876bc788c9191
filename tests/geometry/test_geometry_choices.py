"""Options that are chosen by name refuse a name that they do not know."""

import subprocess
import sys

import pytest

CALLS = {
    "likelihood_hessian(decode, x, z, likelihood='Gaussian')": "likelihood",
    "likelihood_hessian(decode, x, z, form='Gaussian')": "form",
    "deterministic_elbo(decode, x, z, s, beta=1.0, likelihood='Gaussian')": "likelihood",
    "deterministic_elbo(decode, x, z, s, beta=1.0, form='Gaussian')": "form",
    "stochastic_loss(decode, x, z, s, likelihood='Gaussian')": "likelihood",
    "od_score(torch.eye(3)[None], variant='Gaussian')": "variant",
    "fit_local_decoder(decode, z, s, nonlinearity='Gaussian')": "nonlinearity",
    "fit_released_decoder(decode, z, s, nonlinearity='Gaussian')": "nonlinearity",
}
CODE = f"""
import torch
from unpick.geometry import *
from unpick.geometry.released_decoder import fit_released_decoder
x, z, s, decode = torch.zeros(5, 2), torch.zeros(5, 2), torch.ones(5, 2), torch.tanh
for call in {[*CALLS]}:
    try:
        print("returned", eval(call))
    except Exception as error:
        print(type(error).__name__, error)
"""


@pytest.fixture(scope="module")
def answers():
    """In a process without the type checks of the tests, which users do not have either."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    return dict(zip(CALLS, done.stdout.splitlines(), strict=True))


@pytest.mark.parametrize(("call", "what"), CALLS.items())
def test_an_unknown_name_is_refused(call, what, answers):
    assert answers[call].startswith(f"ValueError {what} must be one of ('")
    assert answers[call].endswith("got 'Gaussian'")
