import itertools
import math

import numpy as np
import pytest
import torch

from unpick.geometry import decoder_jacobians, distance_to_orthogonality, haar_distance
from unpick.geometry.orthogonality import signed_permutation_distance
from unpick.models import MLP, Autoencoder, Conv, ModelConfig


@pytest.mark.parametrize(
    "network",
    [
        MLP((8,), "relu", (8, 8), "tanh"),
        MLP((8,), "relu", (8, 8), "leaky_relu"),
        Conv(encoder=((4, 4, 2, 1),), encoder_dense=(), decoder_dense=(8,), decoder=()),
    ],
)
@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_jacobians_are_finite_differences(network, likelihood, generator):
    model = Autoencoder(ModelConfig(3, likelihood=likelihood, network=network), (1, 8, 8), [0])
    model = model.double().eval()

    def decode(z):
        return model.decode_mean(z[None])[0]

    z = torch.randn(5, 3, generator=generator).double()
    found = decoder_jacobians(decode, z)
    step = 1e-6
    for j in range(3):
        moved = step * torch.eye(3).double()[j]
        difference = (decode(z + moved) - decode(z - moved)).flatten(1) / (2 * step)
        torch.testing.assert_close(found[:, :, j], difference.detach(), rtol=1e-5, atol=1e-8)


def rotation(angle):
    return torch.tensor([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])


@pytest.mark.parametrize("angle", [0.0, 0.1, math.pi / 8, math.pi / 4])
def test_dto_of_a_planted_angle(angle):
    """A rotation by t lies at Frobenius distance sqrt(8) sin(t / 2) from the identity."""
    jacobian = torch.diag(torch.tensor([3.0, 1.0])) @ rotation(angle)
    result = distance_to_orthogonality(jacobian[None])
    assert result.mean == pytest.approx(math.sqrt(8) * math.sin(angle / 2), abs=1e-6)
    assert result.relative == pytest.approx(result.mean / result.chance)


def test_dto_ignores_order_sign_and_the_space_of_observations(generator):
    jacobians = torch.randn(20, 30, 4, generator=generator)
    base = distance_to_orthogonality(jacobians).per_sample
    signs = torch.tensor([1.0, -1, 1, -1])
    shuffled = (signs * jacobians)[:, :, [2, 0, 3, 1]]
    turn, _ = torch.linalg.qr(torch.randn(30, 30, generator=generator))
    torch.testing.assert_close(
        distance_to_orthogonality(shuffled).per_sample, base, rtol=1e-4, atol=1e-6
    )
    torch.testing.assert_close(
        distance_to_orthogonality(turn @ jacobians).per_sample, base, rtol=1e-4, atol=1e-6
    )


def test_the_assignment_is_the_best_of_all_signed_permutations(generator):
    v, _ = torch.linalg.qr(torch.randn(10, 3, 3, generator=generator).double())
    for matrix, found in zip(v, signed_permutation_distance(v), strict=True):
        candidates = []
        for order in itertools.permutations(range(3)):
            for signs in itertools.product([-1.0, 1.0], repeat=3):
                p = torch.zeros(3, 3).double()
                p[range(3), list(order)] = torch.tensor(signs).double()
                candidates.append(((matrix - p).abs().sum(), (matrix - p).norm()))
        nearest = min(candidates)[1]  # nearest in L1, measured in Frobenius
        assert float(found) == pytest.approx(float(nearest), abs=1e-9)


def test_chance_is_the_closed_form_in_two_dimensions():
    exact = 2 * math.sqrt(2) * 8 / math.pi * (1 - math.cos(math.pi / 8))
    assert haar_distance(2) == pytest.approx(exact, abs=0.005)
    assert haar_distance(5) == pytest.approx(1.632, abs=0.01)


def test_a_float32_jacobian_keeps_its_directions_at_condition_1e4(generator):
    u, _ = torch.linalg.qr(torch.randn(50, 3, generator=generator).double())
    jacobian = (u * torch.tensor([1e4, 1e2, 1.0]).double()).float()
    assert distance_to_orthogonality(jacobian[None]).mean < 1e-3
    assert np.isfinite(distance_to_orthogonality(jacobian[None]).chance)


def test_bad_jacobians_are_refused():
    with pytest.raises(ValueError, match="at least 2 columns"):
        distance_to_orthogonality(torch.zeros(3, 5, 1))
    with pytest.raises(ValueError, match="finite"):
        distance_to_orthogonality(torch.full((1, 2, 2), float("nan")))
