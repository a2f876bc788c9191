import math

import pytest
import torch

from unpick.models import MLP, Autoencoder, Diagonal, Full, ModelConfig
from unpick.models.posterior import family_of
from unpick.objectives import (
    AE,
    DIPVAE,
    OBJECTIVES,
    Adversarial,
    AnnealedVAE,
    BetaTCVAE,
    BetaVAE,
    FactorVAE,
    HasCritic,
    Pass,
    stack,
    total,
)
from unpick.objectives.dip import covariance
from unpick.objectives.tcvae import aggregate_log_density, stratified_weights

D, B, S = 3, 16, 2


class Planted(torch.nn.Module):
    """A model with a posterior and a linear decoder of our choice."""

    decodes = True
    members = S

    def __init__(self, config, q, mixing):
        super().__init__()
        self.config, self.q, self.mixing, self.shape = config, q, mixing, mixing.shape[1:]

    def member(self, s):
        return self

    def encode(self, x):
        return self.q

    def decode(self, z):
        return z @ self.mixing

    decode_mean = decode


def planted_pass(
    x, q, noise=None, mixing=None, likelihood="gaussian", step=0, n=1000, critic=None
):
    noise = torch.zeros_like(q.mean) if noise is None else noise
    mixing = torch.zeros(q.mean.shape[2], x.shape[2]).to(x) if mixing is None else mixing
    model = Planted(ModelConfig(q.mean.shape[2], likelihood=likelihood), q, mixing)
    return Pass(model, x, noise, step, n, critic)


@pytest.fixture
def make_pass(generator):
    def make(family="diagonal", likelihood="bernoulli", step=0):
        parameters = torch.randn(S, B, family_of(family).n_parameters(D), generator=generator)
        parameters = parameters.double().requires_grad_()
        q = family_of(family).from_parameters(parameters, D)
        noise = torch.randn(S, B, D, generator=generator).double()
        x = torch.rand(S, B, 5, generator=generator).double()
        mixing = torch.randn(D, 5, generator=generator).double()
        return planted_pass(x, q, noise, mixing, likelihood, step)

    return make


def test_the_vae_is_minus_the_elbo(make_pass):
    p = make_pass()
    kl = torch.distributions.kl_divergence(
        torch.distributions.Normal(p.q.mean, p.q.variance.sqrt()),
        torch.distributions.Normal(torch.zeros(D).double(), torch.ones(D).double()),
    )
    reconstruction = -(p.x * torch.nn.functional.logsigmoid(p.output)).sum(-1) - (
        (1 - p.x) * torch.nn.functional.logsigmoid(-p.output)
    ).sum(-1)
    elbo = -reconstruction.mean(1) - kl.sum(-1).mean(1)
    torch.testing.assert_close(total(BetaVAE(1.0)(p)), -elbo)


def test_gaussian_distortion_is_the_squared_error_so_beta_is_twice_the_variance(make_pass):
    p = make_pass(likelihood="gaussian")
    beta = 0.3
    density = torch.distributions.Normal(p.output, math.sqrt(beta / 2))
    constant = 5 * 0.5 * math.log(math.pi * beta)
    elbo = density.log_prob(p.x).sum(-1).mean(1) + constant - p.q.kl().mean(1)
    torch.testing.assert_close(total(BetaVAE(beta)(p)), -beta * elbo)


def test_full_covariance_is_a_choice_of_the_model(make_pass):
    p = make_pass("full")
    assert isinstance(p.q, Full)
    torch.testing.assert_close(BetaVAE(2.0)(p)["kl"].reduced(), p.q.kl().mean(1))


@pytest.mark.parametrize("estimator", ["weighted", "stratified"])
def test_tcvae_telescopes(make_pass, estimator):
    p = make_pass()
    terms = BetaTCVAE(1.0, 1.0, 1.0, estimator)(p)
    prior = torch.distributions.Normal(0, 1).log_prob(p.z).sum(-1)
    expected = (p.q.log_prob(p.z) - prior).mean(1)
    torch.testing.assert_close(
        total(terms), terms["distortion"].reduced() + expected, rtol=1e-6, atol=1e-6
    )


def test_stratified_weights_sum_to_one_and_hold_the_own_sample_on_the_diagonal():
    weights = stratified_weights(5, 100)
    torch.testing.assert_close(weights.sum(1), torch.ones(5))
    torch.testing.assert_close(weights.diagonal(), torch.full((5,), 0.01))
    with pytest.raises(ValueError, match="batch <= data"):
        stratified_weights(5, 4)


def test_stratified_estimate_is_unbiased_over_batches(generator):
    """The mean of exp(log q(z)) over all batches that hold x_0 is q(z) (Chen et al. 2018, C.2)."""
    n, b = 6, 3
    means = torch.randn(n, 1, generator=generator)
    z = means[0] + 0.1
    log_var = torch.zeros(n, 1)
    exact = torch.distributions.Normal(means, 1.0).log_prob(z).exp().mean()
    estimates = []
    for i in range(1, n):
        for j in range(1, n):
            if i != j:
                chosen = torch.tensor([0, i, j])
                q = Diagonal(means[chosen][None], log_var[chosen][None])
                log_qz, _ = aggregate_log_density(q, z.expand(1, b, 1), n, "stratified")
                estimates.append(log_qz[0, 0].exp())
    torch.testing.assert_close(torch.stack(estimates).mean(), exact)


@pytest.mark.parametrize(("spread", "constant"), [(0.0, math.log(1000)), (1e4, math.log(B))])
def test_the_constant_of_the_weighted_estimate(generator, spread, constant):
    mean = spread * torch.randn(1, B, D, generator=generator)
    q = Diagonal(mean, torch.zeros(1, B, D))
    log_qz, _ = aggregate_log_density(q, mean, 1000, "weighted")
    own = q.log_prob(mean) - (math.log(1000) if spread else 0.0)  # the true log q(z)
    torch.testing.assert_close(own - log_qz, torch.full((1, B), constant), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["I", "II"])
def test_dip_penalty_vanishes_at_identity_covariance(kind):
    corners = torch.tensor([[1.0, 1], [1, -1], [-1, 1], [-1, -1]]).double()[None]
    variance = 0.25 if kind == "II" else 1.0
    mean = corners * math.sqrt(1 - variance) if kind == "II" else corners
    q = Diagonal(mean, torch.full((1, 4, 2), math.log(variance)).double())
    x = torch.zeros(1, 4, 1).double()
    terms = DIPVAE(kind)(planted_pass(x, q))
    assert terms["off_diagonal"].value.item() == pytest.approx(0, abs=1e-12)
    assert terms["diagonal"].value.item() == pytest.approx(0, abs=1e-12)


def test_dip_covariance_is_numpys(generator):
    means = torch.randn(2, 50, 3, generator=generator)
    expected = torch.stack([torch.cov(m.T, correction=0) for m in means])
    torch.testing.assert_close(covariance(means), expected)


def test_annealed_capacity_grows_and_then_stays(make_pass):
    objective = AnnealedVAE(gamma=10.0, capacity=4.0, anneal_steps=100)
    for step, capacity in ((0, 0.0), (50, 2.0), (100, 4.0), (10_000, 4.0)):
        p = make_pass(step=step)
        expected = 10 * (p.q.kl().mean(1) - capacity).abs()
        got = objective(p)
        torch.testing.assert_close(total(got) - got["distortion"].reduced(), expected)


@pytest.mark.slow
def test_factor_vae_critic_learns_the_log_density_ratio(generator):
    """With correlated Gaussian latents the trained critic gives their total correlation."""
    rho = 0.8
    objective = FactorVAE(critic_layers=2, critic_width=64)
    critic = objective.make_critic(ModelConfig(2), (1,), 0, [generator])
    optimiser = torch.optim.Adam(critic.parameters(), 3e-3)

    def correlated(n):
        z = torch.randn(1, n, 2, generator=generator)
        z = torch.stack([z[..., 0], rho * z[..., 0] + math.sqrt(1 - rho**2) * z[..., 1]], -1)
        return planted_pass(torch.zeros(1, n, 1), Diagonal(z, z - 100), critic=critic)

    for _ in range(600):
        keys = torch.rand(1, 512, 2, generator=generator)
        loss = objective.critic_loss(critic, correlated(512), correlated(512), keys).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    estimate = objective(correlated(20_000))["total_correlation"].reduced()
    assert float(estimate.detach()) == pytest.approx(-0.5 * math.log(1 - rho**2), abs=0.08)


def test_critic_sees_each_latent_shuffled_on_its_own(generator):
    other = torch.arange(20.0).reshape(1, 10, 2)
    seen = []

    class Spy(torch.nn.Module):
        def forward(self, z):
            seen.append(z)
            return z[..., :1]

    keys = torch.rand(1, 10, 2, generator=generator)
    p = planted_pass(torch.zeros(1, 10, 1), Diagonal(other, other))
    FactorVAE().critic_loss(Spy(), p, p, keys)
    shuffled = seen[1]
    torch.testing.assert_close(shuffled.sort(1).values, other)
    assert not torch.equal(shuffled, other)
    assert not torch.equal(shuffled[..., 0] + 1, shuffled[..., 1])  # rows are torn apart


@pytest.mark.parametrize("name", OBJECTIVES)
def test_contract(name, generator):
    """Every objective: finite named terms for each member, and a gradient for all that learns."""
    objective = OBJECTIVES[name]()
    config = ModelConfig(D, objective.posteriors[0], "bernoulli", MLP((7,), "tanh", (7,), "tanh"))
    model = Autoencoder(config, (5,), range(S), objective.decodes)
    networks = [model]
    if isinstance(objective, HasCritic):
        networks.append(objective.make_critic(config, (5,), 2, [generator] * S))
    critic = networks[-1] if len(networks) > 1 else None
    x, noise = (torch.randn(S, B, n, generator=generator) for n in (5, D))
    shared = torch.randint(2, (S, B // 2), generator=generator)
    p = Pass(model, x.sigmoid(), noise, 0, 1000, critic, shared)
    terms = objective(p)
    loss = total(terms)
    assert loss.shape == (S,)
    assert all(term.reduced().shape == (S,) for term in terms.values())
    assert loss.isfinite().all()
    if isinstance(objective, Adversarial):
        networks.pop()
    learns = [w for network in networks for w in network.parameters()]
    for gradient in torch.autograd.grad(loss.sum(), learns):
        assert (gradient.flatten(1).abs().sum(1) > 0).all()


def test_stacked_hyperparameters_reach_their_own_member(make_pass):
    p = make_pass()
    both = total(stack([BetaVAE(0.5), BetaVAE(8.0)])(p))
    torch.testing.assert_close(both[0], total(BetaVAE(0.5)(p))[0], check_dtype=False)
    torch.testing.assert_close(both[1], total(BetaVAE(8.0)(p))[1], check_dtype=False)


def test_members_may_not_differ_in_more_than_scalars():
    with pytest.raises(ValueError, match="may not differ in kind"):
        stack([DIPVAE("I"), DIPVAE("II")])
    assert stack([AE(), AE()]) == AE()


def test_whole_numbers_are_scalars_too():
    sweep = [BetaVAE(1.0), BetaVAE(2.0)]
    for objective, beta in zip(sweep, (1, 2), strict=True):
        object.__setattr__(objective, "beta", beta)
    assert stack(sweep).beta.tolist() == [1.0, 2.0]
