import numpy as np
import pytest
import torch
from scipy.linalg import polar
from scipy.optimize import minimize

from unpick.geometry import od_score
from unpick.theory.orthogonal import nearest_orthogonal


@pytest.mark.parametrize("shape", [(4, 4), (7, 3), (5, 1), (2, 3, 6, 4)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_is_the_polar_factor_of_scipy(shape, dtype, generator):
    matrices = torch.randn(*shape, generator=generator, dtype=dtype)
    found = nearest_orthogonal(matrices)
    flat = matrices.reshape(-1, *shape[-2:]).double().numpy()
    expected = torch.tensor(np.array([polar(m)[0] for m in flat])).reshape(shape).to(dtype)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_no_search_over_orthonormal_matrices_comes_nearer(seed, rng):
    """Every matrix with orthonormal columns is the Q of some QR decomposition."""
    m = np.random.default_rng(seed).normal(size=(4, 2)) * (3.0, 0.5)

    def distance(p):
        q, r = np.linalg.qr(p.reshape(m.shape))
        return np.square(m - q * np.sign(np.diag(r))).sum()

    ends = [minimize(distance, rng.normal(size=m.size)).fun for _ in range(4)]
    found = nearest_orthogonal(torch.tensor(m)).numpy()
    assert np.square(m - found).sum() == pytest.approx(min(ends), abs=1e-6)
    values = np.linalg.svd(m, compute_uv=False)
    assert min(ends) == pytest.approx(np.square(values - 1).sum(), abs=1e-6)


def test_a_planted_factor_is_found(generator):
    planted = torch.linalg.qr(torch.randn(10, 6, 3, generator=generator).double()).Q
    root = torch.randn(10, 3, 3, generator=generator).double()
    stretch = root @ root.mT + 0.1 * torch.eye(3)
    torch.testing.assert_close(nearest_orthogonal(planted @ stretch), planted)


def test_it_turns_with_outputs_and_latents_and_does_not_see_the_scale(generator):
    matrices = torch.randn(5, 6, 3, generator=generator).double()
    left = torch.linalg.qr(torch.randn(6, 6, generator=generator).double()).Q
    right = torch.linalg.qr(torch.randn(3, 3, generator=generator).double()).Q
    torch.testing.assert_close(
        nearest_orthogonal(1e-9 * left @ matrices @ right),
        left @ nearest_orthogonal(matrices) @ right,
    )


def test_orthogonal_columns_are_made_unit():
    columns = torch.tensor([[0.0, -3.0], [0.5, 0.0], [0.0, 4.0]])
    unit = torch.tensor([[0.0, -0.6], [1.0, 0.0], [0.0, 0.8]])
    torch.testing.assert_close(nearest_orthogonal(columns), unit)


def test_it_turns_by_the_change_over_the_smallest_singular_value_at_most(generator):
    m = torch.tensor([[2.0, 0.0], [0.0, 0.01], [0.0, 0.0]]).double()
    before, turns = nearest_orthogonal(m), []
    for _ in range(200):
        change = torch.randn(3, 2, generator=generator).double()
        change *= 1e-6 / change.norm()
        turns.append(float((nearest_orthogonal(m + change) - before).norm() / 1e-6))
    assert max(turns) <= 100.01
    away = torch.tensor([[0.0, 0.0], [0.0, 0.0], [0.0, 1e-6]]).double()
    worst = float((nearest_orthogonal(m + away) - before).norm() / 1e-6)
    assert worst == pytest.approx(100, rel=1e-3)


def test_it_is_the_target_of_the_od_score(generator):
    matrices = torch.randn(5, 8, 3, generator=generator).double()
    u, _, vh = torch.linalg.svd(matrices, full_matrices=False)
    signs = torch.where(vh.diagonal(dim1=1, dim2=2) < 0, -1.0, 1.0)
    expected = (u * signs[:, None] - nearest_orthogonal(matrices)).square().sum((1, 2))
    torch.testing.assert_close(od_score(matrices, variant="paper").parts[:, 0], expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dependent_columns_have_no_nearest_one(dtype, generator):
    matrices = torch.randn(3, 5, 3, generator=generator, dtype=dtype)
    matrices[1, :, 2] = 0.1 * matrices[1, :, 0] + 0.7 * matrices[1, :, 1]
    with pytest.raises(ValueError, match="not unique; 1 of 3 have not"):
        nearest_orthogonal(matrices)
    with pytest.raises(ValueError, match="not unique"):
        nearest_orthogonal(torch.zeros(4, 2, dtype=dtype))


def test_ill_conditioned_is_not_dependent():
    m = torch.diag(torch.tensor([1.0, 1e-10]).double())
    torch.testing.assert_close(nearest_orthogonal(m), torch.eye(2).double())


def test_errors_name_what_is_wrong():
    with pytest.raises(ValueError, match=r"as many rows as columns, got \(2, 3\)"):
        nearest_orthogonal(torch.ones(2, 3))
    with pytest.raises(ValueError, match="finite"):
        nearest_orthogonal(torch.tensor([[float("nan")], [1.0]]))
