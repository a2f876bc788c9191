from inspect import unwrap

import numpy as np
import pytest
import torch
from scipy.stats import norm
from torch.distributions import MultivariateNormal

from unpick.geometry import ima_contrast
from unpick.papers.allen2024.surfaces import (
    arc_lengths,
    box_muller,
    helicoid,
    ripple,
)
from unpick.theory.pushforward import push_forward


@pytest.fixture
def z():
    return torch.randn(50, 2, generator=torch.Generator().manual_seed(0)).double()


def test_a_square_linear_decoder_gives_the_gaussian_density(z):
    mixing = torch.tensor([[2.0, 1.0], [0.5, -1.0]]).double()
    found = push_forward(lambda z: z @ mixing.T, z)
    density = MultivariateNormal(torch.zeros(2).double(), mixing @ mixing.T)
    torch.testing.assert_close(found.log_density, density.log_prob(z @ mixing.T))


def test_polar_latents_give_the_standard_normal_density(z):
    """Box and Muller: radius and angle from independent latents."""
    x = box_muller(z)
    torch.testing.assert_close(
        push_forward(box_muller, z).log_density, torch.from_numpy(norm.logpdf(x.numpy()).sum(1))
    )


def test_the_density_is_that_of_drawn_points():
    """How many of 400 000 images fall into small squares."""
    draws = torch.randn(400_000, 2, generator=torch.Generator().manual_seed(1)).double()
    images, side = ripple(draws), 0.1
    for centre in torch.tensor([[0.0, 0.0], [1.0, -0.5], [-0.5, 0.8]]).double():
        at = ripple(centre[None])[0]
        share = float(((images - at).abs() < side / 2).all(1).double().mean())
        said = float(push_forward(ripple, centre[None]).log_density.exp()) * side**2
        assert share == pytest.approx(said, abs=5 * (said / len(draws)) ** 0.5)


def test_the_density_by_area_of_a_curved_surface(z):
    step = 1e-4
    a, b = torch.eye(2).double() * step
    edges = [helicoid(z + e) - helicoid(z - e) for e in (a, b)]
    area = torch.linalg.cross(*edges).norm(dim=1) / (2 * step) ** 2
    prior = torch.from_numpy(norm.logpdf(z.numpy()).sum(1))
    torch.testing.assert_close(
        push_forward(helicoid, z).log_density, prior - area.log(), atol=1e-6, rtol=0
    )


def test_factors_along_singular_directions_multiply_and_along_latents_lack_the_contrast(z):
    found = push_forward(ripple, z)
    jacobians = torch.func.vmap(torch.func.jacfwd(lambda one: ripple(one[None])[0]))(z)
    contrast = ima_contrast(jacobians).per_sample
    torch.testing.assert_close(found.along_singular.sum(1), found.log_density)
    torch.testing.assert_close(found.log_density - found.along_latents.sum(1), contrast)
    assert contrast.min() > 1e-4
    again = push_forward(jacobians, z)
    torch.testing.assert_close(again.log_density, found.log_density)


def test_each_curve_carries_the_whole_probability():
    """The density along a curve integrates to 1 over its length."""
    t = torch.linspace(-8, 8, 4001).double()
    z = torch.stack([torch.full_like(t, 1.5), t], 1)
    lengths = arc_lengths(helicoid, z)[:, 1]
    density = push_forward(helicoid, z).along_latents[:, 1].exp()
    torch.testing.assert_close(lengths, t * (1 + 1.5**2) ** 0.5, rtol=1e-3, atol=0)
    assert float(torch.trapezoid(density, lengths)) == pytest.approx(1, abs=1e-3)


def test_turning_the_image_changes_nothing_and_doubling_it_divides_by_the_area(z):
    turn = torch.linalg.qr(torch.randn(3, 3, generator=torch.Generator().manual_seed(2))).Q
    before = push_forward(helicoid, z).log_density
    after = push_forward(lambda z: helicoid(z) @ (2 * turn.double()), z).log_density
    torch.testing.assert_close(before - after, torch.full_like(before, 2 * np.log(2)))


@pytest.mark.parametrize(
    ("decode", "at", "message"),
    [
        (
            lambda z: z[:, :1],
            torch.zeros(1, 2),
            "at least as many outputs as the 2 latents, got 1",
        ),
        (torch.zeros(1, 3, 1), torch.zeros(1, 2), r"of shape \(1, outputs, 2\), .* \(1, 3, 1\)"),
        (lambda z: z, torch.zeros(2), r"z must have shape \(codes, latents\), .* got \(2,\)"),
        (lambda z: z, torch.zeros(0, 2), r"z must have shape .* got \(0, 2\)"),
        (lambda z: z, torch.tensor([[0.0, torch.nan]]), "z must be finite, got 1 that"),
        (lambda z: z / z, torch.zeros(1, 2), "decode must have finite Jacobians, got an entry"),
        (torch.full((1, 2, 2), torch.inf), torch.zeros(1, 2), "decode must be finite, got 4"),
    ],
)
def test_bad_input_is_refused(decode, at, message):
    with pytest.raises(ValueError, match=message):
        unwrap(push_forward)(decode, at)  # users have no types checked


def test_a_flat_decoder_has_infinite_density(z):
    assert push_forward(lambda z: z * torch.tensor([1.0, 0.0]), z).log_density.isposinf().all()
