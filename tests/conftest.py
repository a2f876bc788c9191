import importlib
from functools import partial

import jaxtyping
import numpy as np
import pytest
import torch
from hypothesis import settings
from jaxtyping import config
from threadpoolctl import threadpool_limits

from shape_checks import checked

jaxtyping.jaxtyped = checked  # what `--jaxtyping-packages` decorates with

# They change the process that imports them: `tests/test_devices.py` gives them one of their own.
collect_ignore = ["accelerator.py", "on_accelerator.py"]

# The same draws on every machine, however slow it is.
settings.register_profile("unpick", derandomize=True, deadline=None)
settings.load_profile("unpick")


def pytest_collection_modifyitems(items):
    """Slow tests first, so that no process is left alone with a long one at the end."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Two test processes with two threads each on two cores would wait for each other."""
    torch.set_num_threads(1)
    with threadpool_limits(1):  # numpy's and scikit-learn's
        yield


@pytest.fixture(autouse=True, scope="session")
def quick_fonts():
    """Figures as PDF take a quarter of the time if their fonts are outlines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(importlib.import_module("unpick.plots.style").RC, "pdf.fonttype", 3)
        yield


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def unchecked(monkeypatch):
    """No array shapes are checked: half the time of a training of thousands of equal steps.

    For tests of what a long training ends in. Short ones check the shapes of the same steps.
    """
    monkeypatch.setattr(config, "jaxtyping_disable", True)


@pytest.fixture
def cheap_scorecard(monkeypatch):
    """The dear metrics of a scorecard with fewer trees and votes."""
    module = importlib.import_module("unpick.metrics.scorecard")
    votes = {"train": 1000, "evaluations": 500}
    monkeypatch.setattr(module, "dci", partial(module.dci, rounds=10))
    for name in ("factor_vae_score", "beta_vae_score"):
        monkeypatch.setattr(module, name, partial(getattr(module, name), **votes))


@pytest.fixture
def ten(rng):
    """Ten independent factors of ten values."""
    return rng.integers(10, size=(3000, 10))
