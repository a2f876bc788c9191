import random
from unittest import mock

import numpy as np
import pytest
import torch
from torch import nn

from unpick.diagnosis import diagnose
from unpick.probe.trace import modules_of, without_trace


class VAE(nn.Module):
    """Any encoder and decoder."""

    def __init__(self):
        super().__init__()
        self.into, self.out = nn.Linear(6, 4), nn.Linear(2, 6)

    def encode(self, x):
        return self.into(x).chunk(2, dim=1)

    def decode(self, z):
        return self.out(z)


@pytest.fixture
def x(generator):
    return torch.randn(100, 6, generator=generator)


def quietly(encode, decode, x, factors=None):
    return diagnose(encode, decode, x, factors, show=False)


@pytest.mark.slow
def test_the_model_is_left_as_it_was(x):
    model = VAE().train()
    model.out.weight.grad = torch.ones_like(model.out.weight)
    model.out.bias.requires_grad_(False)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    np.random.seed(3), torch.manual_seed(3)  # noqa: NPY002
    expected = np.random.rand(), torch.rand(1)  # noqa: NPY002
    np.random.seed(3), torch.manual_seed(3)  # noqa: NPY002

    def encode(x):  # draws, though it does not use what it draws
        np.random.rand(), torch.rand(2)  # noqa: NPY002
        return model.encode(x)

    quietly(encode, model.decode, x, x[:, :2])
    assert (np.random.rand(), torch.rand(1)) == expected  # noqa: NPY002
    assert model.training
    assert torch.equal(model.out.weight.grad, torch.ones_like(model.out.weight))
    assert [p.requires_grad for p in model.parameters()] == [True, True, True, False]
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name])
    assert torch.is_grad_enabled()


def test_pythons_own_random_state_is_kept_too():
    state = random.getstate()  # not through `diagnose`: beartype draws when it checks a list
    with without_trace():
        random.random()
    assert random.getstate() == state


class Holder:
    """A network that is not the function's own attribute."""

    def __init__(self, net):
        self.parts = {"nets": [net]}

    def encode(self, x):
        return self.parts["nets"][0](x)[:, :2]


def test_training_mode_is_left_for_evaluation_wherever_the_network_hides(x):
    model, norm = VAE(), nn.BatchNorm1d(6)

    @torch.no_grad()
    def decorated(x):
        return norm(x)[:, :2]

    for encode in (lambda x: model.encode(norm(x)), Holder(norm).encode, decorated):
        found = quietly(encode, model.decode, x)
        assert "It was in training mode" in " ".join(found.assumed)
        assert norm.training
    assert int(norm.num_batches_tracked) == 0
    noisy = nn.Sequential(nn.Linear(2, 6), nn.Dropout())
    assert "It was in training mode" in " ".join(quietly(model.encode, noisy, x).assumed)
    assert noisy[1].training


class Counting(nn.Module):
    """Notes in a buffer how often it was called."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return x[:, :2]


def test_buffers_are_restored(x):
    counting = Counting()
    quietly(Holder(counting).encode, VAE().decode, x)
    assert float(counting.calls) == 0


def test_objects_that_raise_when_asked_do_not_hide_the_network():
    """As torch's cache of cuFFT plans does on a machine without CUDA."""

    class Raises:
        def __init__(self):
            self.network = VAE()

        def __getattr__(self, name):
            raise AssertionError("not compiled with CUDA enabled")

    raises = Raises()
    assert modules_of(lambda x: raises.network(x)) == [raises.network]


def test_objects_that_have_every_attribute_are_passed_over():
    layer = torch.nn.Linear(2, 2)
    odd = mock.Mock()

    def encode(x):
        return layer(x) if odd else mock.sentinel.nothing

    assert modules_of(encode) == [layer]
    assert modules_of(mock.sentinel.nothing) == []
