"""Options that are chosen by name refuse a name that they do not know."""

import subprocess
import sys

import pytest

CALLS = {
    "mean_correlation(codes, factors, method='Pearson')": "method",
    "unit_columns(codes, 'Pearson')": "method",
    "disentanglement_score(codes, factors, variant='Pearson')": "variant",
    "udr([codes, codes], [codes[0], codes[0]], variant='Pearson')": "variant",
    "dci(codes, factors, learner='Pearson')": "learner",
    "scorecard(codes, factors, learner='Pearson')": "learner",
}
CODE = f"""
import numpy as np
from unpick.metrics import *
from unpick.metrics.correlation import unit_columns
codes, factors = np.random.default_rng(0).random((40, 2)), np.arange(80).reshape(40, 2) % 3
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
    assert answers[call].endswith("got 'Pearson'")
