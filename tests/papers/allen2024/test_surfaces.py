"""The surfaces that claims of Allen (2024) are tried on."""

import numpy as np
import pytest
import torch
from scipy.stats import norm

from unpick.papers.allen2024.surfaces import (
    SURFACES,
    arc_lengths,
    box_muller,
    helicoid,
    polar,
    ripple,
    strip,
)
from unpick.theory.pushforward import push_forward


@pytest.fixture
def z():
    return torch.randn(50, 2, generator=torch.Generator().manual_seed(0)).double()


def test_polar_undoes_box_muller(z):
    torch.testing.assert_close(polar(box_muller(z)), z)


@pytest.mark.parametrize("name", SURFACES)
@pytest.mark.parametrize("sizes", [(1.0, 1.0), (0.3, 0.8)])
def test_surfaces_have_orthogonal_columns(name, sizes, z):
    found = push_forward(lambda z: SURFACES[name](z, *sizes), z)
    torch.testing.assert_close(found.along_latents.sum(1), found.log_density)


def dependence(decode):
    """Largest correlation between arc lengths, or their sizes, of the two latents.

    Latents lie on a grid of quantiles, so that what is independent has correlation 0 exactly.
    """
    quantiles = torch.from_numpy(norm.ppf((np.arange(32) + 0.5) / 32))
    a, b = arc_lengths(decode, torch.cartesian_prod(quantiles, quantiles)).T
    return float(torch.corrcoef(torch.stack([a, a.abs(), b, b.abs()]))[:2, 2:].abs().max())


def test_dependence_of_lengths():
    """Allen (2024), theorem 2: lengths are independent if each speed is of its own latent."""
    assert dependence(strip) < 1e-12
    assert dependence(ripple) < 1e-12  # oblique columns do no harm
    assert dependence(helicoid) > 0.3
    z = torch.randn(10**6, 2, generator=torch.Generator().manual_seed(0)).double()
    first, second = z[:, 0], z[:, 1] * (1 + z[:, 0] ** 2).sqrt()  # along the helicoid's curves
    torch.testing.assert_close(arc_lengths(helicoid, z[:20])[:, 1], second[:20], rtol=1e-3, atol=0)
    squares = torch.cov(torch.stack([first**2, second**2]))[0, 1]
    assert float(squares) == pytest.approx(2, abs=0.1)  # E z^2 Var(z^2) by hand
