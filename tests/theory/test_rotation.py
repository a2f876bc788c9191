from math import log, nan

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import hadamard
from scipy.optimize import minimize

from unpick.geometry import ima_contrast
from unpick.papers.zietlow2022.budget.figures import column_product, turned
from unpick.papers.zietlow2022.ledger.budget import EXAMPLE
from unpick.study.ledger.instances import KINDS, decoder, orthonormal, rotation
from unpick.theory.columns import plane_turn
from unpick.theory.descent import givens_descent, riemannian_descent
from unpick.theory.rotation import optimal_rotation

DESCENTS = [givens_descent, riemannian_descent]
HALF = torch.from_numpy(hadamard(4) / 2.0)  # turns diag(s) to four columns of one length
STRETCH = torch.diag(torch.tensor([4.0, 3.0, 2.0, 1.0])).double()


def planted(values, seed=0, outputs=2):
    """A decoder with these singular values, turned."""
    draw, d = np.random.default_rng(seed), len(values)
    return torch.from_numpy(
        orthonormal(draw, d + outputs, d) * np.array(values) @ rotation(draw, d)
    )


def haar(seed, d):
    return torch.from_numpy(rotation(np.random.default_rng(seed), d))


def objective(matrix):
    return float(matrix.norm(dim=0).log().sum())


def cosines(matrix):
    unit = matrix / matrix.norm(dim=0)
    return (unit.T @ unit).fill_diagonal_(0).abs()


def gradient(matrix, v):
    """Of the objective along turns of planes, by differentiation."""
    skew = torch.zeros_like(v, requires_grad=True)
    turn = torch.linalg.matrix_exp(skew - skew.T)
    (matrix @ v @ turn).norm(dim=0).log().sum().backward()
    return skew.grad.triu(1)


def curvature(matrix, v, i, j, step=1e-3):
    """Of the objective along the turn of one plane, by finite differences."""
    values = []
    for angle in (-step, 0.0, step):
        turn = torch.from_numpy(plane_turn(len(v), i, j, angle))
        values.append(objective(matrix @ v @ turn))
    return (values[0] - 2 * values[1] + values[2]) / step**2


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.sampled_from(KINDS))
def test_columns_are_orthogonal_and_no_rotation_does_better(seed, kind):
    matrix = torch.from_numpy(decoder(np.random.default_rng(seed), kind))
    found = optimal_rotation(matrix)
    d = matrix.shape[1]
    assert (found.rotation.T @ found.rotation).numpy() == pytest.approx(np.eye(d), abs=1e-12)
    assert float(torch.linalg.det(found.rotation)) == pytest.approx(1)
    gram = (matrix @ found.rotation).T @ (matrix @ found.rotation)
    assert gram.numpy() == pytest.approx(
        np.diag(np.linalg.svd(matrix.numpy(), compute_uv=False) ** 2),
        abs=1e-12 * float(found.lengths[0]) ** 2,
    )
    assert float(found.excess) == pytest.approx(
        objective(matrix) - float(found.log_product), abs=1e-9
    )
    for k in range(10):
        other = objective(matrix @ haar(seed + k, d))
        assert other >= float(found.log_product) - 1e-9


def test_a_search_over_rotations_ends_there():
    """All turns as exponentials of skew matrices, without derivatives of ours."""
    matrix = planted([3.0, 1.5, 0.4], seed=1)
    upper = torch.triu_indices(3, 3, 1)

    def product(entries):
        skew = torch.zeros(3, 3, dtype=torch.float64)
        skew[upper[0], upper[1]] = torch.from_numpy(entries)
        return objective(matrix @ torch.linalg.matrix_exp(skew - skew.T))

    starts = np.random.default_rng(0).normal(size=(8, 3))
    ends = [minimize(product, start, method="BFGS").fun for start in starts]
    assert ends == pytest.approx([log(3 * 1.5 * 0.4)] * 8, abs=1e-6)
    assert float(optimal_rotation(matrix).log_product) == pytest.approx(log(1.8), abs=1e-12)


def test_the_worked_example():
    """A grid over angles, as in Zietlow (2022), section 3.2.4."""
    products = [column_product(turned(EXAMPLE, angle)) for angle in np.arange(0, 90, 0.01)]
    found = optimal_rotation(torch.from_numpy(EXAMPLE))
    assert float(found.log_product.exp()) == pytest.approx(min(products), rel=1e-6)
    assert float(found.log_product.exp()) == pytest.approx(134**0.5)
    assert float(found.excess.exp()) == pytest.approx((150 / 134) ** 0.5)


def test_every_minimum_is_one_of_the_closed_form():
    """Drawn ones are minima, and those that descents reach are of their kind."""
    values = [3.0, 3.0, 2.0, 1.0, 1.0]
    matrix = planted(values, seed=2)
    found = optimal_rotation(matrix)
    assert found.group.tolist() == [0, 0, 1, 2, 2]
    least = float(np.log(values).sum())
    generator = torch.Generator().manual_seed(0)
    reached = [descent(matrix, haar(3, 5)).rotation for descent in DESCENTS]
    for v in [*(found.another(generator) for _ in range(20)), *reached]:
        assert objective(matrix @ v) == pytest.approx(least, abs=1e-12)
        assert cosines(matrix @ v).max() < 1e-11
        shares = torch.zeros(3, 5, dtype=torch.float64)  # of a column in each group's space
        shares.index_add_(0, found.group, (found.rotation.T @ v).square())
        assert shares.max(0).values.numpy() == pytest.approx(np.ones(5), abs=1e-9)
    drawn = torch.stack([found.another(generator) for _ in range(200)])
    inside = (found.rotation[:, :2].T @ drawn).square().sum(1)  # columns in the first group
    assert inside.mean(0).numpy() == pytest.approx(np.full(5, 0.4), abs=0.1)
    mixed = (found.rotation[:, 0] @ drawn).square().max(1).values
    assert mixed.min() < 0.6  # a turn within the group
    assert torch.linalg.det(drawn).sign().mean().abs() < 0.3  # reflections too


def test_mixing_across_groups_is_no_minimum():
    matrix = planted([3.0, 3.0, 2.0], seed=2)
    v = optimal_rotation(matrix).rotation
    half = 0.5**0.5
    across = torch.tensor([[1, 0, 0], [0, half, -half], [0, half, half]]).double()
    assert objective(matrix @ v @ across) > float(np.log(18)) + 0.01


@pytest.mark.slow
@pytest.mark.parametrize("descent", DESCENTS)
@pytest.mark.parametrize("values", [[3.0, 2.0, 1.0], [5.0, 1.0, 1.0, 0.9999, 1e-4]])
def test_fifty_starts_reach_the_closed_form(descent, values):
    matrix = planted(values, seed=4)
    for seed in range(50):
        path = descent(matrix, haar(seed, len(values)))
        assert path.converged
        assert float(path.objective[-1]) == pytest.approx(float(np.log(values).sum()), abs=1e-10)
        assert objective(matrix @ path.rotation) == pytest.approx(float(path.objective[-1]))
        assert path.objective.diff().max() < 1e-12
        assert path.objective[0] > path.objective[-1] + 0.01


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.sampled_from(KINDS), st.sampled_from(DESCENTS))
def test_descents_end_in_the_closed_form_for_any_decoder(seed, kind, descent):
    matrix = torch.from_numpy(decoder(np.random.default_rng(seed), kind))
    path = descent(matrix, haar(seed + 1, matrix.shape[1]))
    assert path.converged
    least = float(optimal_rotation(matrix).log_product)
    assert float(path.objective[-1]) == pytest.approx(least, abs=1e-9)


def test_a_plane_turned_saves_the_log_of_the_sine():
    """Hadamard's inequality for two columns, tightened all the way (Zietlow 2022, lemma 5)."""
    for seed in range(10):
        matrix = planted([2.0, 0.5], seed)
        before, after = givens_descent(matrix).objective.tolist()
        cosine = float(cosines(matrix)[0, 1])
        assert before - after == pytest.approx(-0.5 * log(1 - cosine**2), rel=1e-9)


def test_stationary_is_where_columns_are_orthogonal_or_equally_long():
    best = torch.eye(4, dtype=torch.float64)
    middle = torch.block_diag(torch.eye(2), torch.tensor([[1.0, -1.0], [1.0, 1.0]]) * 0.5**0.5)
    for v, cosine in ((HALF, 5 / 7.5), (middle.double(), 1.5 / 2.5), (best, 0.0)):
        assert gradient(STRETCH, v).abs().max() < 1e-14
        assert float(cosines(STRETCH @ v).max()) == pytest.approx(cosine)
    away = gradient(STRETCH, haar(0, 4))
    columns = STRETCH @ haar(0, 4)
    gram = columns.T @ columns
    square = gram.diagonal()
    told = (gram * (1 / square[None] - 1 / square[:, None])).triu(1)
    assert away.abs().max() > 0.1
    assert away.numpy() == pytest.approx(told.numpy(), abs=1e-12)


@pytest.mark.parametrize("pair", [(0, 1), (0, 2), (1, 3)])
def test_columns_of_equal_length_are_a_maximum_in_their_plane(pair):
    i, j = pair
    gram = (STRETCH @ HALF).T @ (STRETCH @ HALF)
    told = -4 * float(gram[i, j] / gram[i, i]) ** 2
    assert curvature(STRETCH, HALF, i, j) == pytest.approx(told, abs=1e-4)


def test_equal_lengths_everywhere_are_the_worst():
    worst = objective(STRETCH @ HALF)
    assert worst == pytest.approx(2 * log(30 / 4))
    assert max(objective(STRETCH @ haar(seed, 4)) for seed in range(200)) < worst


def test_a_saddle_is_left_after_a_push_only():
    """The gradient is zero there. Planes are turned exactly, so they do not get stuck."""
    stuck = riemannian_descent(STRETCH, HALF, push=0.0)
    assert (len(stuck.objective), stuck.converged) == (1, False)
    for push in (1e-2, 1e-6):
        left = riemannian_descent(STRETCH, HALF, push=push)
        assert left.converged
        assert float(left.objective[-1]) == pytest.approx(log(24), abs=1e-12)
        saved = float(left.objective[0] - left.objective[1])
        assert saved == pytest.approx(2 * (5 / 7.5) ** 2 * push**2, rel=0.01, abs=1e-14)
    assert float(givens_descent(STRETCH, HALF).objective[-1]) == pytest.approx(log(24), abs=1e-12)


@pytest.mark.parametrize("descent", DESCENTS)
def test_starts_beside_a_saddle_take_longer_the_nearer_they_are(descent):
    steps = []
    for size in (1e-2, 1e-5, 1e-8):
        skew = size * torch.triu(haar(1, 4), 1)
        path = descent(STRETCH, HALF @ torch.linalg.matrix_exp(skew - skew.T))
        assert path.converged
        assert float(path.objective[-1]) == pytest.approx(log(24), abs=1e-12)
        steps.append(len(path.objective))
    if descent is riemannian_descent:
        assert steps[0] + 5 < steps[1] < steps[2] - 5


def test_a_batch_is_its_matrices():
    batch = torch.stack([planted([3.0, 1.0], seed) for seed in range(5)])
    together = optimal_rotation(batch)
    for k, matrix in enumerate(batch):
        alone = optimal_rotation(matrix)
        assert together.excess[k] == alone.excess
        assert torch.equal(together.rotation[k], alone.rotation)
    drawn = together.another(torch.Generator().manual_seed(0))
    assert all(cosines(m @ v).max() < 1e-12 for m, v in zip(batch, drawn, strict=True))
    assert together.excess.numpy() == pytest.approx(ima_contrast(batch).per_sample.numpy())


def test_columns_that_depend_on_each_other():
    """As the IMA contrast has it: infinite, but for zero columns, which are left out."""
    zero, dependent = planted([2.0, 1.0, 0.5]), planted([2.0, 1.0, 0.5])
    zero[:, 0] = 0
    dependent[:, 2] = dependent[:, 0] - 2 * dependent[:, 1]
    wide = planted([2.0, 1.0, 0.5])[:2]
    for matrix in (zero, dependent, wide):
        found = optimal_rotation(matrix)
        assert found.log_product == -torch.inf
        assert found.lengths[2] < 1e-15
        gram = (matrix @ found.rotation).T @ (matrix @ found.rotation)
        assert (gram - gram.diagonal().diag()).abs().max() < 1e-14
        with pytest.raises(ValueError, match="matrix must have linearly independent columns"):
            givens_descent(matrix)
    contrast = float(ima_contrast(zero[None, :, 1:]).mean)
    assert float(optimal_rotation(zero).excess) == pytest.approx(contrast)
    assert optimal_rotation(dependent).excess == torch.inf
    assert optimal_rotation(wide).excess == torch.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: optimal_rotation(torch.zeros(3, 0)), r"must have shape .* got \(3, 0\)"),
        (lambda: optimal_rotation(torch.full((3, 2), nan)), "must be finite, got 6 that"),
        (lambda: optimal_rotation(torch.eye(2), tolerance=-0.1), r"\[0, 1\), got -0.1"),
        (lambda: givens_descent(torch.eye(2), 2 * torch.eye(2)), "orthogonal, got V.* 3 off"),
        (lambda: givens_descent(torch.eye(2), tolerance=nan), r"\[0, 1\), got nan"),
        (lambda: givens_descent(torch.eye(2), sweeps=0), "sweeps must be at least 1, got 0"),
        (lambda: riemannian_descent(torch.eye(2), steps=0), "steps must be at least 1, got 0"),
        (lambda: riemannian_descent(torch.eye(2), push=nan), "push must be a finite angle"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
