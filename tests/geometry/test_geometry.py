import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from unpick.geometry import (
    column_cosines,
    decoder_jacobians,
    distance_to_orthogonality,
    haar_distance,
    ima_contrast,
)
from unpick.geometry.integer_program import nearest_signed_permutation_milp
from unpick.geometry.jacobian import _passes
from unpick.geometry.orthogonality import nearest_signed_permutation, signed_permutation_distance
from unpick.geometry.singular import gram, singular_directions
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


def test_jacobians_of_any_chunk_are_the_same_and_memory_sets_the_chunk(generator):
    wide = nn.Sequential(nn.Linear(3, 1000), nn.Tanh(), nn.Linear(1000, 4))
    z = torch.randn(7, 3, generator=generator)
    torch.testing.assert_close(decoder_jacobians(wide, z, memory=1), decoder_jacobians(wide, z))
    hidden = 1000 * 4  # bytes of the widest layer
    assert [_passes(wide, z, memory) for memory in (1, hidden, 5 * hidden)] == [1, 1, 5]


def test_each_point_may_have_columns_of_its_own(generator):
    decode = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 4))
    z = torch.randn(7, 5, generator=generator)
    columns = torch.stack([torch.randperm(5, generator=generator)[:2] for _ in range(7)])
    whole = decoder_jacobians(decode, z)
    chosen = whole.gather(2, columns[:, None].expand(7, 4, 2))
    for memory in (1, 2**25):
        found = decoder_jacobians(decode, z, columns=columns, memory=memory)
        torch.testing.assert_close(found, chosen)


def test_jacobians_of_an_ensemble_are_those_of_its_members(generator):
    model = Autoencoder(
        ModelConfig(3, network=MLP((8,), "relu", (8,), "tanh")), (6,), [0, 1]
    ).eval()
    z = torch.randn(5, 3, generator=generator)
    for s in range(2):
        alone = model.member(s)
        inside = decoder_jacobians(lambda z, s=s: model.decode(z.expand(2, *z.shape))[s], z)
        outside = decoder_jacobians(lambda z, m=alone: m.decode(z[None])[0], z)
        torch.testing.assert_close(inside, outside)
    with pytest.raises(IndexError, match=r"0\.\.1, got 2"):
        model.member(2)


class Odd(nn.Module):
    """Parameters used in ways that no layer does."""

    def __init__(self):
        super().__init__()
        self.wide, self.one = nn.Parameter(torch.randn(4, 3)), nn.Parameter(torch.randn(1, 3, 5))
        self.fine = nn.Parameter(torch.randn(5).double())

    def forward(self, z):
        row = z[:, None, :1] + self.wide  # the sum is wider than its first term
        mixed = torch.bmm((row.sum(1) * z)[None], self.one)[0] + self.fine  # and of another type
        weight = torch.outer(self.fine.float(), z.sum(0))  # a weight that depends on the input
        return torch.cat([mixed, nn.functional.linear(z, weight)], dim=1)


@pytest.mark.parametrize(
    "decoder",
    [
        nn.Linear(3, 4, bias=False),
        nn.Sequential(nn.Linear(3, 8), nn.GELU(), nn.BatchNorm1d(8), nn.Linear(8, 4)),
        nn.utils.parametrizations.spectral_norm(nn.Linear(3, 4)),
        nn.Sequential(nn.Unflatten(1, (1, 3)), nn.Conv1d(1, 2, 2), nn.Tanh(), nn.Flatten()),
        nn.Sequential(
            nn.Linear(3, 8),
            nn.Unflatten(1, (2, 2, 2)),
            nn.ConvTranspose2d(2, 4, 3, stride=2, groups=2, bias=False),
            nn.Softplus(),
            nn.Conv2d(4, 2, 3, padding="same", padding_mode="reflect"),
        ),
        Odd(),
    ],
    ids=lambda module: type(module).__name__,
)
def test_all_axes_in_one_pass_are_the_derivatives_along_each_axis(decoder, generator):
    decoder = decoder.eval()
    z = torch.randn(4, 3, generator=generator)
    plain = [torch.func.jvp(decoder, (z,), (axis.expand(4, 3),))[1] for axis in torch.eye(3)]
    expected = torch.stack([column.flatten(1) for column in plain], dim=2)
    torch.testing.assert_close(decoder_jacobians(decoder, z), expected, rtol=1e-5, atol=1e-5)


def test_a_decoder_whose_python_looks_at_values_is_still_exact(generator):
    def decode(z):
        return torch.sin(z) if z.sum().item() < 1e9 else z

    z = torch.randn(4, 2, generator=generator)
    torch.testing.assert_close(decoder_jacobians(decode, z), torch.diag_embed(torch.cos(z)))


def test_what_cannot_be_differentiated_warns_and_is_close(generator):
    z = torch.randn(4, 2, generator=generator).double()
    exact = torch.diag_embed(torch.cos(z))
    with pytest.warns(UserWarning, match="central differences: numpy decoder"):
        found = decoder_jacobians(np.sin, z.numpy())
    torch.testing.assert_close(found, exact, rtol=0, atol=1e-9)
    with pytest.warns(UserWarning, match="central differences: forward mode failed"):
        found = decoder_jacobians(lambda z: torch.from_numpy(np.sin(z.numpy())), z)
    torch.testing.assert_close(found, exact, rtol=0, atol=1e-9)
    with pytest.warns(UserWarning, match="central differences"):
        found = decoder_jacobians(lambda z: np.sin(z).astype(np.float32), z.numpy())
    torch.testing.assert_close(found.double(), exact, rtol=0, atol=1e-3)


def test_bad_decoders_are_refused():
    z = torch.zeros(3, 2)
    with pytest.raises(ValueError, match="as many observations, got"):
        decoder_jacobians(lambda z: z.sum(0), z)
    with pytest.raises(ValueError, match="z must have shape"):
        decoder_jacobians(torch.sin, torch.zeros(0, 2))
    with pytest.raises(RuntimeError, match="mat1"):  # the decoder's own complaint
        decoder_jacobians(nn.Linear(3, 4), z)


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


@pytest.mark.parametrize("d", [2, 3, 5, 10])
def test_the_assignment_is_the_optimum_of_the_integer_program(d, generator):
    v, _ = torch.linalg.qr(torch.randn(8, d, d, generator=generator).double())
    fast = nearest_signed_permutation(v)
    slow = torch.stack([torch.from_numpy(nearest_signed_permutation_milp(m.numpy())) for m in v])
    best = (v - slow).abs().sum((1, 2))
    torch.testing.assert_close((v - fast).abs().sum((1, 2)), best, rtol=0, atol=1e-9)
    torch.testing.assert_close(fast, slow)  # no ties in a random matrix
    torch.testing.assert_close(signed_permutation_distance(v), (v - slow).norm(dim=(1, 2)))


def test_chance_is_that_of_random_angles_and_of_known_simulations():
    angles = torch.linspace(0, math.pi / 4, 100_001).double()
    mean = float((math.sqrt(8) * torch.sin(angles / 2)).mean())
    assert haar_distance(2) == pytest.approx(mean, abs=1e-5)
    for d, known in ((3, 0.985), (5, 1.632), (6, 1.912), (10, 2.849)):  # of 3000 draws each
        assert haar_distance(d) == pytest.approx(known, rel=0.01)


@pytest.mark.parametrize("gap", ["even", "one small"])
def test_directions_are_right_to_1e_6_at_condition_1e4(gap, generator):
    """Against an SVD in double precision of the same single-precision Jacobian."""
    u, _ = torch.linalg.qr(torch.randn(20, 300, 6, generator=generator).double())
    v, _ = torch.linalg.qr(torch.randn(20, 6, 6, generator=generator).double())
    values = torch.logspace(0, -4, 6) if gap == "even" else torch.tensor([6, 5, 4, 3, 2, 6e-4])
    jacobians = ((u * values.double()) @ v.mT).float()
    exact = torch.linalg.svd(jacobians.double(), full_matrices=False)
    found, directions = singular_directions(gram(jacobians))
    turned = (directions * exact.Vh.mT).sum(1).abs()
    assert float((1 - turned).clamp(min=0).mul(2).sqrt().max()) < 1e-6
    torch.testing.assert_close(found, exact.S, rtol=1e-6, atol=0)


def test_passive_latents_and_equal_singular_values_are_told(generator):
    columns, _ = torch.linalg.qr(torch.randn(10, 30, 4, generator=generator))
    lengths = torch.tensor([3.0, 2.0, 1e-6, 0.0])
    some = torch.tensor([True, True, False, False])
    whole = distance_to_orthogonality(columns * lengths)
    assert distance_to_orthogonality(columns * lengths, active=some).mean < 1e-6
    assert distance_to_orthogonality(columns * lengths, active=some).degenerate == 0.0
    assert whole.chance == haar_distance(4)
    equal = torch.cat([columns[:5] * torch.tensor([1.0, 0.96, 3, 5]), columns[5:] * lengths])
    assert distance_to_orthogonality(equal).degenerate == 0.5
    with pytest.raises(ValueError, match="at least 2 latents must be active, got 1"):
        distance_to_orthogonality(columns, active=torch.tensor([True, False, False, False]))


def test_cosines_and_contrast_of_a_planted_angle(generator):
    for angle in (0.1, 1.0, math.pi / 2):
        plane = torch.tensor([[1, math.cos(angle)], [0, math.sin(angle)]], dtype=torch.float64)
        turn, _ = torch.linalg.qr(torch.randn(9, 9, generator=generator).double())
        scaled = (turn[:, :2] @ plane * torch.tensor([1e-3, 1e3]))[None]
        assert column_cosines(scaled).mean == pytest.approx(math.cos(angle), abs=1e-9)
        assert ima_contrast(scaled).mean == pytest.approx(-math.log(math.sin(angle)), abs=1e-9)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 6))
def test_contrast_is_the_gap_of_hadamards_inequality(seed, d):
    generator = torch.Generator().manual_seed(seed)
    jacobian = torch.randn(1, 8, d, generator=generator).double()
    values = torch.linalg.svdvals(jacobian[0])
    gap = float(jacobian.norm(dim=1).log().sum() - values.log().sum())
    assert ima_contrast(jacobian).mean == pytest.approx(gap, abs=1e-8)


def test_the_contrast_of_the_mean_jacobian_is_another_number():
    """Two skewed Jacobians whose mean has orthogonal columns."""
    pair = torch.tensor([[[1.0, 1.0], [0.0, 1.0]], [[1.0, -1.0], [0.0, 1.0]]])
    result = ima_contrast(pair)
    assert result.mean == pytest.approx(0.5 * math.log(2))
    assert result.of_mean_jacobian == pytest.approx(0.0, abs=1e-12)


def test_a_passive_latent_has_no_angle():
    jacobians = torch.tensor([[[1.0, 0.0, 0.6], [0.0, 0.0, 0.8]]])
    assert ima_contrast(jacobians).mean == pytest.approx(-math.log(0.8))
    expected = torch.tensor([[1.0, 0.0, 0.6], [0.0, 1.0, 0.0], [0.6, 0.0, 1.0]]).double()
    torch.testing.assert_close(column_cosines(jacobians).matrix, expected)


def test_bad_jacobians_are_refused():
    with pytest.raises(ValueError, match="at least 2 columns"):
        distance_to_orthogonality(torch.zeros(3, 5, 1))
    with pytest.raises(ValueError, match="finite"):
        distance_to_orthogonality(torch.full((1, 2, 2), float("nan")))
