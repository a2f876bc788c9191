"""A probe computes each quantity once, for anybody's functions, and leaves no trace."""

import numpy as np
import pytest
import torch

from unpick.probe import Probe, take
from unpick.probe.measures import FACTOR_SCORES, STANDARD, orthogonality

X = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))
MIXING = torch.tensor([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]])


def counted(function):
    calls = []

    def wrapped(x):
        calls.append(len(x))
        return function(x)

    return wrapped, calls


def planted(**given):
    encode, decode = lambda x: (x[:, :2], torch.full((len(x), 2), -4.0)), lambda z: z @ MIXING.T
    return Probe(encode, decode, X, **given)


def test_every_quantity_is_computed_once():
    encode, calls = counted(lambda x: x[:, :2])
    probe = Probe(encode, lambda z: z @ MIXING.T, X)
    assert torch.equal(probe.mean, X[:, :2])
    _ = probe.jacobians, probe.first(5).jacobians, probe.mean, probe.reconstructions
    assert calls == [40]


def test_a_part_is_the_same_model_at_fewer_observations():
    probe = planted(factors=np.arange(80).reshape(40, 2))
    part = probe.at(torch.tensor([3, 7]))
    assert torch.equal(part.mean, X[[3, 7], :2])
    assert part.factors.tolist() == [[6, 7], [14, 15]]
    assert torch.equal(part.jacobians, probe.jacobians[[3, 7]])
    assert part.all_codes is probe.codes
    assert probe.first(5) is probe.first(5)
    assert len(probe.first(100)) == 40


def test_known_values():
    probe = planted()
    assert probe.jacobians == pytest.approx(MIXING.expand(40, 3, 2))
    assert probe.column_norms.tolist() == pytest.approx([2.0, 1.0])
    assert probe.curvature == pytest.approx(2 * (MIXING.T @ MIXING).expand(40, 2, 2))
    missed = X - X[:, :2] @ MIXING.T
    assert probe.error == pytest.approx(float(missed.square().mean().sqrt()))
    values = take(probe, (*STANDARD, orthogonality))
    assert values["DtO"] == pytest.approx(0, abs=1e-6)
    assert values["column cosine"] == pytest.approx(0, abs=1e-6)
    assert values["active"] == 2


def test_a_bernoulli_curvature_is_that_of_the_logits():
    """J^T diag(1 / p (1 - p)) J of the mean is W^T diag(p (1 - p)) W of the logits."""
    probe = Probe(
        lambda x: x[:, :2],
        lambda z: torch.sigmoid(z @ MIXING.T),
        torch.sigmoid(X),
        likelihood="bernoulli",
    )
    p = torch.sigmoid(probe.mean @ MIXING.T)
    expected = torch.einsum("pi,np,pj->nij", MIXING, p * (1 - p), MIXING)
    assert torch.allclose(probe.curvature.float(), expected, rtol=1e-4)


def test_a_decoder_may_flatten_images():
    x = X.reshape(40, 1, 3)
    probe = Probe(lambda x: x[:, 0], lambda z: z, x)  # perfect, but flat
    assert probe.error == 0
    assert torch.equal(probe.reconstructions, x)


def test_measures_that_do_not_apply_give_nothing():
    encoder = Probe(lambda x: x[:, :2], None, X)
    assert take(encoder, (*STANDARD, orthogonality)) == {}
    one = Probe(lambda x: x[:, :1], lambda z: z @ MIXING.T[:1], X)
    assert take(one, (*STANDARD, orthogonality)) == {}
    with pytest.raises(ValueError, match="no decoder"):
        _ = encoder.jacobians
    with pytest.raises(ValueError, match="factors of these observations are not known"):
        take(encoder, FACTOR_SCORES)


def test_random_states_and_gradients_stay():
    layer = torch.nn.Linear(3, 2)
    probe = Probe(lambda x: layer(x) + 0 * torch.rand(1), lambda z: z @ MIXING.T, X)
    before = torch.get_rng_state()
    assert not probe.mean.requires_grad
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("output", [torch.zeros(3), "nothing", torch.zeros(40, 2, 2, 2)])
def test_what_is_no_reconstruction_is_named(output):
    with pytest.raises(ValueError, match="decode must"):
        _ = Probe(lambda x: x[:, :2], lambda z: output, X).reconstructions
