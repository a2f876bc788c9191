"""The rule that chooses beta and a restart, on planted members."""

import numpy as np
import pytest
import torch

from unpick.estimator.alignment import best_rotations, ensemble_jacobians, price, turn_latents
from unpick.estimator.members import Member, measure_members
from unpick.estimator.rounds import noise_variance, turn
from unpick.estimator.selection import agreement, score_betas, select_beta, select_restart
from unpick.models import MLP, ModelConfig, build

ROWS = 400


def planted(beta, restart, evidence, codes, dead=()):
    """A member with this mean evidence, whose codes are these and whose latents are precise."""
    noise = np.random.default_rng(0).normal(size=ROWS)  # the same rows for all members
    variance = np.array([1.0 if j in dead else 0.1 for j in range(codes.shape[1])])
    return Member(beta, restart, evidence + 0.1 * noise, codes, variance, explained=0.9)


@pytest.fixture
def factors(rng):
    return rng.normal(size=(ROWS, 3))


def turned(factors, rng):
    return factors @ np.linalg.qr(rng.normal(size=(3, 3)))[0]


def test_agreement_knows_copies_from_rotations(factors, rng):
    copy = -factors[:, [2, 0, 1]]
    members = [
        planted(1.0, k, 0.0, z) for k, z in enumerate([factors, copy, turned(factors, rng)])
    ]
    shares = agreement(members)
    np.testing.assert_allclose(shares[0], 0.5)
    np.testing.assert_allclose(shares[1], 0.5)
    np.testing.assert_allclose(shares[2], 0.0)


def test_a_latent_that_is_not_in_use_counts_for_nothing(factors):
    members = [planted(1.0, k, 0.0, factors, dead=[1]) for k in range(2)]
    assert [len(share) for share in agreement(members)] == [2, 2]
    assert score_betas(members)[0].active == 2


def ladder(factors, rng, noise_free=False):
    """Betas as theory has them: noise coded, not turned yet, right, over-pruned."""
    best = 3.0 if noise_free else 0.0
    return [
        *(planted(0.01, k, best, turned(factors, rng)) for k in range(3)),
        *(planted(0.1, k, 2.0, factors) for k in range(3)),
        *(planted(1.0, k, 1.0, factors) for k in range(3)),
        *(planted(10.0, k, 0.5, factors, dead=[2]) for k in range(3)),
    ]


@pytest.mark.parametrize("noise_free", [False, True])
def test_beta_is_the_one_where_most_is_found_again_with_most_evidence(factors, rng, noise_free):
    chosen = select_beta(score_betas(ladder(factors, rng, noise_free)))
    assert chosen.beta == 0.1
    assert chosen.found_again == 3.0


def test_betas_that_code_noise_are_left_out_however_well_they_agree(factors, rng):
    """Below the noise all latents of the search are in use, and may be found again."""
    wide = np.concatenate([factors, rng.normal(size=(ROWS, 4))], 1)
    members = [planted(0.01, k, -5.0, wide) for k in range(3)]
    members += [planted(0.1, k, 2.0, wide, dead=range(3, 7)) for k in range(3)]
    assert select_beta(score_betas(members)).beta == 0.1


def test_agreement_is_not_bought_with_less_evidence_than_linear_pca_has(factors, rng):
    members = [planted(0.1, k, 2.0, turned(factors, rng)) for k in range(3)]
    members += [planted(1.0, k, -5.0, factors) for k in range(3)]
    assert select_beta(score_betas(members)).beta == 1.0
    noise = members[0].evidence - 2.0
    assert select_beta(score_betas(members, noise + 1.0)).beta == 0.1
    assert select_beta(score_betas(members, noise - 6.0)).beta == 1.0
    assert select_beta(score_betas(members, noise + 3.0)).beta == 1.0  # none has as much


def test_wanted_components_come_before_evidence(factors, rng):
    scores = score_betas(ladder(factors, rng))
    assert select_beta(scores, components=2).beta == 0.1
    over_pruned = [s for s in scores if s.beta > 5]
    assert select_beta(over_pruned, components=3).active == 2  # as many as there are


def test_a_member_that_diverged_is_left_out(factors):
    members = [planted(1.0, k, 0.0, factors) for k in range(2)]
    members.append(planted(0.1, 0, np.nan, factors))
    assert [score.beta for score in score_betas(members)] == [1.0]
    with pytest.raises(ValueError, match="diverged"):
        score_betas(members[2:])


def test_the_restart_is_the_one_that_others_find_again(factors, rng):
    members = [planted(1.0, 0, 0.001, turned(factors, rng))]
    members += [planted(1.0, k, 0.0, factors) for k in (1, 2)]
    assert select_restart(members) == 0  # its evidence is higher, by a constant, for every row
    members[0] = planted(1.0, 0, 0.0, turned(factors, rng))
    assert select_restart(members) == 1


def test_noise_variance_is_that_of_ppca_whatever_beta():
    """D = a beta / 2 + what is left, at the optimum of a linear VAE."""
    left = np.array([0.02, 0.04])
    for beta in (0.01, 0.1, 1.0):
        member = Member(beta, 0, np.zeros(2), np.zeros((2, 3)), np.full(3, 0.1))
        member = Member(**vars(member) | {"distortion": 3 * beta / 2 + left.sum()})
        assert noise_variance(member, columns=5) == pytest.approx(left.mean())


def test_turn_measures_what_moved(factors):
    still, quarter = (planted(1.0, 0, 0.0, z) for z in (factors, -factors))
    assert turn(still, quarter) == pytest.approx(0.0, abs=1e-12)
    mixed = factors @ np.array([[0.8, 0.6, 0], [-0.6, 0.8, 0], [0, 0, 1.0]])
    assert turn(still, planted(1.0, 0, 0.0, mixed)) == pytest.approx(0.2, abs=0.1)


def test_best_rotations_lower_the_price_and_end_at_the_singular_directions(rng):
    matrices = rng.normal(size=(2, 1, 6, 3))
    grams = matrices.swapaxes(2, 3) @ matrices
    beta = np.array([0.01, 1.0])
    rotation, found = best_rotations(grams, beta)
    assert (price(found, beta) <= price(grams, beta)).all()
    for k in range(2):
        np.testing.assert_allclose(rotation[k].T @ rotation[k], np.eye(3), atol=1e-12)
        np.testing.assert_allclose(rotation[k].T @ grams[k, 0] @ rotation[k], found[k, 0])
        values = np.linalg.svd(matrices[k, 0], compute_uv=False) ** 2
        np.testing.assert_allclose(np.sort(np.diag(found[k, 0]))[::-1], values, rtol=0.02)


def test_turning_changes_no_reconstruction_and_lowers_the_price():
    model = build(ModelConfig(3, network=MLP((8,), "tanh", (8,), "tanh")), (5,), [0, 1]).eval()
    x = torch.randn(40, 5, generator=torch.Generator().manual_seed(0))
    before = measure_members(model, x, [0.01, 0.01], [0, 1])
    z = torch.from_numpy(np.stack([m.codes for m in before])).float()
    grams = (j := ensemble_jacobians(model, z).double()).mT @ j
    log_variance = torch.from_numpy(np.stack([m.log_variance for m in before])).float()
    beta = np.array([0.01, 0.01])
    assert turn_latents(model, z, log_variance, beta).all()
    after = measure_members(model, x, [0.01, 0.01], [0, 1])
    new = torch.from_numpy(np.stack([m.codes for m in after])).float()
    assert not torch.allclose(z, new, atol=0.01)
    for one, other in zip(before, after, strict=True):
        assert one.explained == pytest.approx(other.explained, abs=1e-5)
    turned_grams = (j := ensemble_jacobians(model, new).double()).mT @ j
    assert (price(turned_grams.numpy(), beta) < price(grams.numpy(), beta)).all()
