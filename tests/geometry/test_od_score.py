import math

import numpy as np
import pytest
import torch
from scipy.linalg import polar

from unpick.geometry import distance_to_orthogonality
from unpick.geometry.od_score import ODScore, normalised_od_score, od_score


def orthonormal(generator, n=5, p=400, d=10):
    gaussian = torch.randn(n, p, d, generator=generator, dtype=torch.float64)
    return torch.linalg.qr(gaussian).Q


def tilted(cosine, norms, generator, n=5, p=60):
    """Columns of given norms with the same cosine between any two."""
    d = len(norms)
    cosines = torch.full((d, d), cosine).double().fill_diagonal_(1.0)
    return orthonormal(generator, n, p, d) @ torch.linalg.cholesky(cosines).mT * norms


NORMS = torch.linspace(2, 0.5, 10).double()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "norms", [NORMS, NORMS.flip(0), torch.ones(10), torch.tensor([3.0] * 5 + [1] * 4 + [0])]
)
def test_orthogonal_columns_score_nothing_whatever_order_sign_and_norms(norms, dtype, generator):
    order = torch.randperm(10, generator=generator)
    signs = torch.where(torch.rand(10, generator=generator) < 0.5, -1.0, 1.0)
    columns = orthonormal(generator) * (signs * norms)[order]
    assert od_score(columns.to(dtype)).mean < 1e-9


def test_the_papers_order_holds_for_falling_norms_only(generator):
    columns = orthonormal(generator) * NORMS
    assert od_score(columns, variant="paper").mean < 1e-9
    swapped = columns[:, :, [1, 0, *range(2, 10)]]
    squares = 2 * float(NORMS[0] - NORMS[1]) ** 2
    expected = torch.tensor([4.0, squares, 4.0]).double()
    torch.testing.assert_close(
        od_score(swapped, variant="paper").parts, expected.expand(5, 3), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("variant", ["matched", "paper"])
def test_a_rotation_of_the_outputs_changes_nothing(variant, generator):
    matrices = torch.randn(5, 40, 6, generator=generator).double()
    turn = orthonormal(generator, 1, 40, 40)
    torch.testing.assert_close(
        od_score(turn @ matrices, variant=variant).parts, od_score(matrices, variant=variant).parts
    )


def test_order_and_signs_of_the_latents_change_nothing_if_matched(generator):
    matrices = torch.randn(5, 40, 4, generator=generator).double()
    shuffled = (matrices * torch.tensor([1.0, -1, -1, 1]))[:, :, [2, 0, 3, 1]]
    torch.testing.assert_close(od_score(shuffled).parts, od_score(matrices).parts)


@pytest.mark.parametrize("angle", [0.0, 0.2, math.pi / 4])
def test_a_planted_angle(angle, generator):
    """|R - I|^2 = 8 sin^2(t / 2), for U as for V; Sigma is compared with the columns' norms."""
    c, s = math.cos(angle), math.sin(angle)
    turn, values = torch.tensor([[c, -s], [s, c]]).double(), torch.tensor([3.0, 1.0]).double()
    matrix = orthonormal(generator, 1, 30, 2) * values @ turn.mT
    norms = ((values * turn) ** 2).sum(1).sqrt()
    expected = [8 * math.sin(angle / 2) ** 2, float(((values - norms) ** 2).sum())]
    for variant in ("matched", "paper"):
        found = od_score(matrix, variant=variant)
        assert found.parts[0].tolist() == pytest.approx([*expected, expected[0]], abs=1e-6)
        assert found.mean == pytest.approx((2 * expected[0] + expected[1]) / 3, abs=1e-6)


@pytest.mark.parametrize("variant", ["matched", "paper"])
def test_the_parts_are_those_of_an_explicit_svd_and_polar_factor(variant, generator):
    for matrix in torch.randn(4, 30, 3, generator=generator).double():
        u, values, vh = np.linalg.svd(matrix.numpy(), full_matrices=False)
        target, _ = polar(matrix.numpy())
        found = od_score(matrix[None], variant=variant).parts[0]
        orders = [(0, 1, 2)] if variant == "paper" else list(np.ndindex(3, 3, 3))
        candidates = []
        for order in orders:
            if len(set(order)) == 3:
                chosen = vh.T[:, list(order)]
                signs = np.where(np.diag(chosen) < 0, -1.0, 1.0)
                candidates.append(
                    (
                        ((chosen * signs - np.eye(3)) ** 2).sum(),
                        ((u[:, list(order)] * signs - target) ** 2).sum(),
                        (
                            (values[list(order)] - np.linalg.norm(matrix.numpy(), axis=0)) ** 2
                        ).sum(),
                    )
                )
        of_v, of_u, of_sigma = min(candidates)
        assert found.tolist() == pytest.approx([of_u, of_sigma, of_v])


def test_the_part_of_v_is_the_distance_to_orthogonality_squared(generator):
    matrices = torch.randn(20, 30, 5, generator=generator)
    dto = distance_to_orthogonality(matrices).per_sample
    torch.testing.assert_close(od_score(matrices).parts[:, 2], dto**2, rtol=1e-5, atol=1e-8)


def test_the_score_grows_with_the_cosine_of_the_columns(generator):
    norms = torch.tensor([3.0, 2.0, 1.0]).double()
    means = [od_score(tilted(c, norms, generator)).mean for c in (0.0, 0.1, 0.2, 0.4, 0.6)]
    assert means[0] < 1e-9
    assert np.all(np.diff(means) > 0.01)


def test_passive_latents_can_be_left_out(generator):
    columns = tilted(0.3, torch.tensor([3.0, 2.0, 1.0]).double(), generator)
    noise = 1e-4 * torch.randn(5, 60, 3, generator=generator).double()
    both = torch.cat([noise, columns], dim=2)
    active = torch.tensor([False] * 3 + [True] * 3)
    torch.testing.assert_close(od_score(both, active=active).parts, od_score(columns).parts)
    assert od_score(both).mean > od_score(columns).mean


def test_float32_columns_keep_their_directions_at_condition_1e4(generator):
    columns = orthonormal(generator, d=3) * torch.tensor([1e4, 1e2, 1.0])
    assert od_score(columns.float()).parts[:, 2].max() < 1e-6


def released_by_hand(matrix):
    """The released formula with full SVDs, p x p matrices and all."""
    u, values, vh = np.linalg.svd(matrix, full_matrices=True)
    root = np.clip(np.linalg.inv(matrix.T @ matrix), 0, None) ** 0.5
    u_near, values_near, _ = np.linalg.svd(matrix @ root, full_matrices=True)
    identity = np.eye(len(values))
    return [np.linalg.norm(a - b) for a, b in ((u, u_near), (values, values_near), (vh, identity))]


@pytest.mark.parametrize(("p", "d"), [(8, 4), (100, 4), (400, 10)])
def test_the_released_variant_is_the_full_svd_without_its_size(p, d, generator):
    matrices = torch.randn(3, p, d, generator=generator).double() / p**0.5
    found = od_score(matrices, variant="released")
    by_hand = torch.tensor(np.array([released_by_hand(m) for m in matrices.numpy()]))
    torch.testing.assert_close(found.parts, by_hand, rtol=1e-6, atol=1e-6)
    assert found.mean == pytest.approx(float(by_hand.mean()))


def test_the_released_variant_does_not_know_orthogonal_columns(generator):
    """They score like columns drawn at random: what it sees is LAPACK's signs and null space."""
    straight = od_score(orthonormal(generator, 20) * NORMS, variant="released")
    gaussian = torch.randn(20, 400, 10, generator=generator).double() / 20
    random = od_score(gaussian, variant="released")
    assert straight.mean == pytest.approx(3.3, abs=0.2)
    assert random.mean == pytest.approx(3.45, abs=0.2)
    # Sigma is compared with 1, not with the norms: a part of U, Sigma, V that has a closed form.
    length = float((NORMS - 1).norm())
    torch.testing.assert_close(straight.parts[:, 1], torch.full((20,), length).double())


def test_normalisation_divides_each_part_by_its_largest_among_the_models(generator):
    parts = torch.tensor([[[1.0, 2, 0], [4, 8, 1]], [[2.0, 1, 0], [1, 2, 4]]]).double()
    scores = {
        name: ODScore(float(p.mean()), p.mean(1), p) for name, p in zip("ab", parts, strict=True)
    }
    found = normalised_od_score(scores)
    expected = torch.tensor([[[0.5, 1, 0], [1, 1, 0.25]], [[1, 0.5, 0], [0.25, 0.25, 1]]])
    for name, part in zip("ab", expected.double(), strict=True):
        torch.testing.assert_close(found[name].parts, part)
        assert found[name].mean == pytest.approx(float(part.mean()))
    matrices = {k: tilted(c, NORMS[:3], generator) for k, c in (("a", 0.1), ("b", 0.5))}
    shares = normalised_od_score({k: od_score(m) for k, m in matrices.items()})
    rescaled = normalised_od_score({k: od_score(7 * m) for k, m in matrices.items()})
    assert shares["a"].mean < shares["b"].mean == pytest.approx(1)
    torch.testing.assert_close(shares["a"].parts, rescaled["a"].parts)


def test_bad_input_is_refused(generator):
    with pytest.raises(ValueError, match=r"as many outputs as latents, got \(3, 2, 5\)"):
        od_score(torch.zeros(3, 2, 5))
    with pytest.raises(ValueError, match="finite"):
        od_score(torch.full((1, 4, 2), float("nan")))
    with pytest.raises(ValueError, match="linearly independent columns"):
        od_score(torch.zeros(1, 4, 2), variant="released")
    one, two = (od_score(torch.randn(n, 9, 2, generator=generator)) for n in (1, 2))
    with pytest.raises(ValueError, match="one number of samples"):
        normalised_od_score({"a": one, "b": two})
    with pytest.raises(ValueError, match="one number of samples"):
        normalised_od_score({})
