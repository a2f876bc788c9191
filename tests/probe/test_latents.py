"""Which latents are in use: the same answer for the page of a model and for its diagnosis."""

import pytest
import torch

from unpick.diagnosis import diagnose
from unpick.explorer.subject import POINTS, Subject
from unpick.probe import Probe
from unpick.probe.latents import latents_of

# Latents: strong, weak, precise but not read by the decoder, and noise.
WEIGHTS = torch.tensor([[3.0, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 0, 0]])
VARIANCE = torch.tensor([0.01, 0.3, 0.001, 1.0])


def decode(z):
    return z @ WEIGHTS.to(z).T


@pytest.fixture
def x(rng):
    return torch.from_numpy(rng.normal(size=(300, 3)) * [3.0, 0.5, 1e-3]).float()


def encode(x):
    z = x @ torch.tensor([[1 / 3, 0, 0.0], [0, 1.6, 0.0], [0, 0, 0]])
    mean = torch.cat([z[:, :2], x[:, :1], torch.zeros(len(x), 1)], 1)
    return mean, VARIANCE.expand(len(x), 4).log()


def test_a_latent_is_in_use_if_it_is_written_and_read(x):
    found = latents_of(Probe(encode, decode, x), 50)
    assert found.regime.mean_variance.tolist() == pytest.approx(VARIANCE.tolist(), rel=1e-4)
    assert found.used.tolist() == [True, True, True, False]
    assert found.active.tolist() == [True, True, False, False]
    assert found.order == [2, 0, 1, 3]
    page = Subject("linear", lambda: Probe(encode, decode, x))
    told = diagnose(encode, decode, x, points=POINTS, report=None, show=False)
    assert page.active.tolist() == told.active.tolist() == [True, True, False, False]
    assert page.order == list(told.order)


def test_without_variances_effect_decides(x):
    found = latents_of(Probe(lambda x: encode(x)[0], decode, x), 50)
    assert found.active.tolist() == [True, True, False, False]
    assert found.order[:2] == [0, 1]
    assert found.regime is None
