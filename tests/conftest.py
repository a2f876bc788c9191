import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Two test processes with two threads each on two cores would wait for each other."""
    torch.set_num_threads(1)


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)
