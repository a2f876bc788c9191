import numpy as np
import pytest
import torch
from hypothesis import settings
from threadpoolctl import threadpool_limits

# The same draws on every machine, however slow it is.
settings.register_profile("unpick", derandomize=True, deadline=None)
settings.load_profile("unpick")


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Two test processes with two threads each on two cores would wait for each other."""
    torch.set_num_threads(1)
    with threadpool_limits(1):  # numpy's and scikit-learn's
        yield


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def ten(rng):
    """Ten independent factors of ten values."""
    return rng.integers(10, size=(3000, 10))
