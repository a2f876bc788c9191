import pytest
import torch

from unpick.geometry import decoder_jacobians, ima_contrast
from unpick.papers.reizinger2022.mixings import (
    Moebius,
    TriangularMLP,
    log_density,
    moebius,
    orthogonal_mlp,
    rectifier,
    slope,
    triangular_mlp,
)
from unpick.theory.pushforward import push_forward

MIXINGS = {
    "Möbius": moebius(3),
    "orthogonal": orthogonal_mlp(3),
    "triangular": triangular_mlp(3, scale=0.3),
    "linear": triangular_mlp(3, depth=1),
}


@pytest.fixture
def z(generator):
    return torch.randn(20, 3, generator=generator).double()


@pytest.mark.parametrize("name", MIXINGS)
def test_densities_are_those_of_the_jacobian(name, z):
    mixing = MIXINGS[name]
    jacobians = decoder_jacobians(mixing, z)
    torch.testing.assert_close(mixing.log_volume(z), jacobians.det().abs().log())
    torch.testing.assert_close(log_density(mixing, z), push_forward(mixing, z).log_density)
    step = 1e-6 * torch.eye(3).double()
    moved = torch.stack([(mixing(z + e) - mixing(z - e)) / 2e-6 for e in step], 2)
    torch.testing.assert_close(jacobians, moved, atol=1e-7, rtol=1e-5)


@pytest.mark.parametrize("name", MIXINGS)
def test_who_is_in_the_class(name, z):
    contrast = ima_contrast(decoder_jacobians(MIXINGS[name], z)).per_sample
    if name in ("Möbius", "orthogonal"):
        assert contrast.abs().max() < 1e-12
    else:
        assert contrast.mean() > 0.1
        assert contrast.min() > 0


def test_a_rectifier_between_orthogonal_layers_leaves_the_class(z):
    first, last = orthogonal_mlp(3, seed=1), orthogonal_mlp(3, seed=2)
    contrast = ima_contrast(decoder_jacobians(lambda z: last(first(z)), z)).per_sample
    assert contrast.max() > 0.01


def test_moebius_keeps_angles_and_undoes_itself(z):
    mixing = moebius(3)
    gram = decoder_jacobians(mixing, z).mT @ decoder_jacobians(mixing, z)
    torch.testing.assert_close(gram, gram[:, :1, :1] * torch.eye(3).double())
    turned = mixing(z) @ mixing.rotation  # an inversion; twice it is the identity
    back = turned / turned.square().sum(1, keepdim=True)
    torch.testing.assert_close((back + mixing.pole) / mixing.spread, z)
    distance = (mixing.spread * torch.zeros(1, 3) - mixing.pole).norm() / mixing.spread
    assert distance.item() == pytest.approx(6)


def test_of_a_linear_map_the_contrast_is_known():
    mixing = TriangularMLP(torch.tensor([[[1.0, 0.0], [0.6, 0.8]]]).double())
    (contrast,) = ima_contrast(decoder_jacobians(mixing, torch.zeros(1, 2).double())).per_sample
    assert contrast.item() == pytest.approx(0.5 * torch.tensor(1.36).log().item(), abs=1e-6)
    assert mixing.log_volume(torch.zeros(4, 2).double()).tolist() == pytest.approx(
        [torch.tensor(0.8).log().item()] * 4
    )


def test_a_triangular_network_looks_back_only(z):
    mixing = triangular_mlp(3)
    moved = mixing(z + torch.tensor([0.0, 0.0, 1.0])) - mixing(z)
    assert (moved[:, :2] == 0).all()
    assert (moved[:, 2] > 0).all()
    torch.testing.assert_close(triangular_mlp(3, scale=0.1)(z), 0.1 * mixing(z))


def test_networks_that_are_not_what_they_say_are_refused():
    with pytest.raises(ValueError, match="must be lower triangular"):
        TriangularMLP(torch.ones(1, 2, 2))
    with pytest.raises(ValueError, match="no 0 on their diagonals"):
        TriangularMLP(torch.ones(1, 2, 2).tril(-1))


def test_the_rectifier_leaks_and_has_its_slope():
    x = torch.linspace(-3, 3, 9).double()[None].requires_grad_()
    (gradient,) = torch.autograd.grad(rectifier(x).sum(), x)
    torch.testing.assert_close(slope(x), gradient)
    far = torch.tensor([[-40.0, 40.0]]).double()
    torch.testing.assert_close(rectifier(far), torch.tensor([[-8.0, 40.0]]).double())


def test_sources_spread_as_told(generator):
    """The deviation of the sources is a factor of codes."""
    z = torch.randn(5, 2, generator=generator).double()
    pole = torch.tensor([3.0, 0.0]).double()
    narrow, wide = (Moebius(torch.eye(2).double(), pole, spread) for spread in (0.25, 0.5))
    torch.testing.assert_close(narrow(2 * z), wide(z))
