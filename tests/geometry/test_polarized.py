import pytest
import torch

from unpick.data import load
from unpick.geometry.polarized import delta_kl, polarized_regime, settled_after
from unpick.models import linear_vae


def planted(n=2000):
    """Active, passive, mixed, and a mean without spread that is precise all the same."""
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(n, 4, generator=generator).double() * torch.tensor([1.0, 0.01, 0.6, 0.1])
    variance = torch.tensor([0.01, 0.99, 0.9, 0.1]).repeat(n, 1).double()
    variance[: n // 3, 2] = 0.05
    return mean, variance


def test_planted_latents_are_told_apart():
    regime = polarized_regime(*planted())
    assert regime.active.tolist() == [True, False, True, False]
    assert regime.passive.tolist() == [False, True, False, False]
    assert regime.mixed.tolist() == [False, False, True, False]
    assert regime.pruned.tolist() == [False, True, False, False]
    assert regime.mean_variance.tolist() == pytest.approx([0.01, 0.99, 0.617, 0.1], abs=1e-3)
    assert regime.delta_kl > 0.03  # the last latent does not fit


def test_a_model_is_over_pruned_if_fewer_latents_than_factors_are_left():
    """Three of four have a mean variance below 0.8."""
    answers = [polarized_regime(*planted(), factors=k).over_pruned for k in (None, 2, 3, 4)]
    assert answers == [None, False, False, True]


def test_delta_kl_is_half_the_active_variance_and_the_passive_kl():
    mean, variance = planted()
    regime = polarized_regime(mean, variance)
    normal = torch.distributions.Normal(mean, variance.sqrt())
    prior = torch.distributions.Normal(torch.zeros(4).double(), torch.ones(4).double())
    kl = torch.distributions.kl_divergence(normal, prior).mean(0)
    torch.testing.assert_close(regime.kl, kl)
    left_out = (variance[:, [0, 2]].mean(0) / 2).sum() + kl[[1, 3]].sum()
    assert regime.delta_kl == pytest.approx(float(left_out / kl.sum()))


def test_delta_kl_vanishes_in_the_limit_and_keeps_members_apart():
    mean = torch.tensor([[1.0, 0.0], [-1.0, 0.0]]).double()
    log_variance = torch.tensor([[-20.0, 0.0]]).double().expand(2, 2)
    assert delta_kl(mean, log_variance) < 1e-9
    assert delta_kl(torch.zeros(2, 2), torch.zeros(2, 2)) == 0  # the prior itself
    members = delta_kl(torch.stack([mean, 0.4 * mean]), log_variance.expand(2, 2, 2))
    torch.testing.assert_close(members, torch.tensor([members[0], 1.0]).double())  # none active


def test_the_linear_vae_prunes_what_varies_less_than_the_noise():
    """There var(mu_j) = 1 - noise / lambda_j and sigma_j^2 = noise / lambda_j."""
    data = load("linear-gaussian", points=5000)  # standard deviations 3, 2, 1
    x = data.observe(torch.arange(5000)).double()
    model = linear_vae(x, 3, noise_variance=1.1)
    mean, variance = model.encode(x), model.posterior_covariance.diagonal().expand(5000, 3)
    jacobians = model.weights.expand(7, *model.weights.shape)
    regime = polarized_regime(mean, variance, factors=3, jacobians=jacobians)
    assert regime.active.tolist() == [True, True, False]
    assert regime.passive.tolist() == regime.pruned.tolist() == [False, False, True]
    assert regime.over_pruned
    assert regime.leak == 0
    spread = regime.mean_deviation.square() + regime.mean_variance
    torch.testing.assert_close(spread, torch.ones(3).double())


def test_leak_is_the_share_of_passive_columns():
    mean, variance = planted()
    jacobians = torch.ones(1, 5, 4) * torch.tensor([1.0, 2.0, 1.0, 2.0])
    assert polarized_regime(mean, variance, jacobians=jacobians).leak == pytest.approx(0.4)
    assert polarized_regime(mean, variance, jacobians=0 * jacobians).leak == 0
    assert polarized_regime(mean, variance).leak is None


def test_a_constant_mean_away_from_zero_is_neither_active_nor_passive():
    regime = polarized_regime(torch.full((10, 1), 3.0), torch.ones(10, 1))
    assert not regime.active.any()
    assert not regime.passive.any()


@pytest.mark.parametrize(
    ("values", "share"),
    [
        ([0.01] * 4, 0.0),
        ([0.5, 0.01, 0.01, 0.01], 0.25),
        ([0.01, 0.03, 0.02, 0.02], 0.5),  # 3 % itself is not below
        ([0.01, 0.01, float("nan"), 0.01], 0.75),
        ([0.01, 0.01, 0.01, 0.5], 1.0),
    ],
)
def test_settled_after_the_last_time_above(values, share):
    assert settled_after(torch.tensor(values)) == share


def test_bad_posteriors_are_refused():
    with pytest.raises(ValueError, match=r"at least 2 rows, got \(1, 2\)"):
        polarized_regime(torch.zeros(1, 2), torch.ones(1, 2))
    with pytest.raises(ValueError, match="variance must be positive and finite, got -1"):
        polarized_regime(torch.zeros(2, 2), -torch.ones(2, 2))
    with pytest.raises(ValueError, match="mean must be finite"):
        polarized_regime(torch.full((2, 2), float("nan")), torch.ones(2, 2))
    with pytest.raises(ValueError, match="none of them 0"):
        settled_after(torch.zeros(0))


def turned(n=500):
    """Covariances with eigenvalues 1e-4 and 0.1, turned by 0.6; one latent is active."""
    generator = torch.Generator().manual_seed(0)
    angle = torch.tensor(0.6).double()
    turn = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()]).reshape(2, 2)
    covariance = turn @ torch.diag(torch.tensor([1e-4, 0.1]).double()) @ turn.T
    mean = torch.randn(n, 2, generator=generator).double() * torch.tensor([1.0, 0.1])
    return mean, covariance.expand(n, 2, 2)


def test_the_kl_of_a_full_covariance_counts_its_correlations():
    """By eq. 3.30 of Zietlow (2022); the marginals know 2.69 nats less."""
    mean, covariance = turned()
    variance = covariance.diagonal(dim1=1, dim2=2)
    regime = polarized_regime(mean, variance, factor=torch.linalg.cholesky(covariance))
    normal = torch.distributions.MultivariateNormal(mean, covariance)
    prior = torch.distributions.MultivariateNormal(torch.zeros(2).double(), torch.eye(2).double())
    kl = torch.distributions.kl_divergence(normal, prior).mean()
    assert regime.total_kl == pytest.approx(float(kl))
    assert regime.total_kl - float(regime.kl.sum()) == pytest.approx(2.6916, abs=1e-4)
    alone = polarized_regime(mean, variance)
    assert alone.total_kl == pytest.approx(float(regime.kl.sum()))
    assert regime.marginal_delta_kl == alone.delta_kl == alone.marginal_delta_kl
    # Only the first latent is active: the polarized KL is that of its marginal.
    assert regime.active.tolist() == [True, False]
    kept = (mean[:, 0].square() - variance[:, 0].log() - 1).mean() / 2
    assert regime.delta_kl == pytest.approx(float((kl - kept) / kl))


def test_a_factor_without_correlations_changes_nothing():
    mean, variance = planted()
    one = polarized_regime(mean, variance)
    two = polarized_regime(mean, variance, factor=torch.diag_embed(variance.sqrt()))
    assert two.delta_kl == pytest.approx(one.delta_kl)
    assert two.total_kl == pytest.approx(one.total_kl)
    with pytest.raises(ValueError, match="variance must be the diagonal"):
        polarized_regime(mean, 2 * variance, factor=torch.diag_embed(variance.sqrt()))
