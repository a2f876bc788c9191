from dataclasses import dataclass, replace

import pytest
import torch

from unpick.data import ArrayStore, Dataset, Factor, load, split
from unpick.data.synthetic import LinearGaussian, SynthLin
from unpick.models import MLP, Conv, ModelConfig, build, linear_vae
from unpick.objectives import (
    AE,
    DIPVAE,
    OBJECTIVES,
    AnnealedVAE,
    BetaTCVAE,
    BetaVAE,
    FactorVAE,
    Paired,
    Pass,
    WeakGAN,
    total,
)
from unpick.training import SGD, Adagrad, Adam, RunConfig, Training, explicit, train
from unpick.training.parameters import EnsembleOptimiser
from unpick.training.streams import BLOCK, Streams
from written_out import loss_and_gradients

SMALL = RunConfig(
    SynthLin(points=500),
    ModelConfig(2, network=MLP((8,), "tanh", (8,), "tanh")),
    BetaVAE(0.01),
    steps=60,
    batch=16,
)


def weights(training, member):
    return training.optimisers["model"].state(member)["values"]


def with_objective(objective):
    return replace(
        SMALL, objective=objective, model=replace(SMALL.model, posterior=objective.posteriors[0])
    )


@pytest.mark.parametrize(
    "objective",
    [AE(), BetaVAE(0.1), BetaTCVAE(), DIPVAE(), FactorVAE(critic_width=16, critic_layers=2)],
    ids=lambda o: o.name,
)
def test_a_member_does_not_depend_on_its_company(objective):
    config = with_objective(objective)
    data = config.data.load()
    company = Training([replace(config, seed=s) for s in (3, 4, 5, 6)], data)
    alone = Training([replace(config, seed=5)], data)
    company.advance(30)
    alone.advance(30)
    torch.testing.assert_close(weights(company, 2), weights(alone, 0), rtol=1e-4, atol=1e-6)
    assert not torch.allclose(weights(company, 0), weights(company, 2), atol=1e-2)
    if isinstance(objective, AE | BetaVAE):  # their gradient is written out
        assert torch.equal(weights(company, 2), weights(alone, 0))


def test_a_member_that_descends_plainly_is_the_same_in_company_and_after_a_break():
    config = replace(SMALL, optimiser=SGD(0.1))
    data = config.data.load()
    configs = [replace(config, seed=s, optimiser=SGD(0.1 + 0.01 * (s > 1))) for s in range(4)]
    company, alone, resumed = (Training(c, data) for c in (configs, configs[2:3], configs[2:3]))
    company.advance(30)
    alone.advance(11)
    resumed.restore(11, [alone.state(0)])
    resumed.advance(30)
    assert torch.equal(weights(company, 2), weights(resumed, 0))
    assert not torch.allclose(weights(company, 1), weights(company, 2), atol=1e-2)


def test_plain_descent_turns_with_the_latent_space_and_adam_does_not():
    """An autoencoder whose first weights are turned ends as the turned one."""
    config = replace(with_objective(AE()), optimiser=SGD(0.05))
    data, turn = config.data.load(), torch.tensor([[0.6, -0.8], [0.8, 0.6]])

    def trained(optimiser, turned):
        training = Training([replace(config, optimiser=optimiser)], data)
        last, first = training.model.encoder.layers[-1], training.model.decoder.layers[0]
        with torch.no_grad():
            if turned:
                for weight in (last.weight, last.bias):
                    weight.copy_(weight @ turn)
                first.weight.copy_(turn.T @ first.weight)
        training.advance(40)
        with torch.no_grad():
            z = training.model.encode(data.observe(torch.arange(20))[None]).mean
        return z

    for optimiser, same in ((SGD(0.05), True), (Adam(1e-2), False)):
        plain, other = trained(optimiser, False) @ turn, trained(optimiser, True)
        assert torch.allclose(plain, other, atol=1e-4) is same


def test_members_with_their_own_beta_and_rate_are_those_trained_alone():
    configs = [
        SMALL,
        replace(SMALL, objective=BetaVAE(1.0)),
        replace(SMALL, optimiser=Adam(1e-2)),
    ]
    data = SMALL.data.load()
    together = Training(configs, data)
    together.advance(40)
    for member, config in enumerate(configs):
        alone = Training([config], data)
        alone.advance(40)
        assert torch.equal(weights(together, member), weights(alone, 0))
    assert not torch.allclose(weights(together, 0), weights(together, 1), atol=1e-3)
    assert not torch.allclose(weights(together, 0), weights(together, 2), atol=1e-3)


@pytest.mark.parametrize("norm", [0, 1])
def test_convolutional_members_do_not_depend_on_their_company(norm, generator):
    data = Dataset("toy", ArrayStore(torch.rand(200, 1, 8, 8, generator=generator)))
    network = Conv(
        encoder=((4, 4, 2, 1),),
        encoder_dense=(),
        decoder_dense=(),
        decoder=((3, 4, 2, 1),),
        start_channels=4,
        encoder_norm=norm,
        decoder_norm=norm,
    )
    config = replace(SMALL, model=ModelConfig(2, network=network))
    company = Training([replace(config, seed=s) for s in range(3)], data)
    alone = Training([replace(config, seed=1)], data)
    company.advance(20)
    alone.advance(20)
    mine, theirs = (t.optimisers["model"].state(k) for t, k in ((company, 1), (alone, 0)))
    for name in theirs:
        torch.testing.assert_close(mine[name], theirs[name], rtol=1e-3, atol=1e-5)


def test_a_frozen_member_keeps_its_running_statistics(generator):
    data = Dataset("toy", ArrayStore(torch.rand(200, 1, 8, 8, generator=generator)))
    network = Conv(
        encoder=((4, 4, 2, 1),), encoder_dense=(), decoder_dense=(), decoder=(), encoder_norm=1
    )
    config = replace(SMALL, model=ModelConfig(2, network=network))
    training = Training([config, replace(config, optimiser=Adam(1e30))], data)
    training.advance(20)
    assert list(training.stopped) == [1]
    kept = training.optimisers["model"].state(1)["buffers"]
    assert kept.isfinite().all()
    training.advance(25)
    assert torch.equal(training.optimisers["model"].state(1)["buffers"], kept)


def test_members_do_not_share_the_decays_of_adam():
    other = replace(SMALL, optimiser=Adam(1e-3, 0.0, 0.9))
    assert other.family() != SMALL.family()
    assert replace(SMALL, optimiser=Adam(1e-2)).family() == SMALL.family()


def test_members_with_their_own_critic_are_those_trained_alone():
    objective = FactorVAE(critic_width=16, critic_layers=2)
    config = with_objective(objective)
    other = replace(config, objective=replace(objective, critic_learning_rate=0.01, gamma=3.0))
    data = config.data.load()
    together, alone = Training([config, other], data), Training([other], data)
    together.advance(30)
    alone.advance(30)
    for network in ("model", "critic"):
        mine = together.optimisers[network].state(1)["values"]
        theirs = alone.optimisers[network].state(0)["values"]
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6)


def test_members_of_different_shape_do_not_train_together():
    with pytest.raises(ValueError, match="seed, learning rate and"):
        Training([SMALL, replace(SMALL, batch=32)], SMALL.data.load())


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize(
    "config", [Adam(3e-3, 0.8, 0.95), Adagrad(0.05), SGD(0.02)], ids=["adam", "adagrad", "sgd"]
)
def test_optimisers_are_pytorchs(config, fused, generator, monkeypatch):
    """Three members, two of them at another rate, one of those frozen half way.

    By the fused kernels, and as in a version of torch that has none.
    """
    start = torch.randn(3, 7, generator=generator)
    targets = torch.randn(50, 3, 7, generator=generator)
    rates = [config.learning_rate, 10 * config.learning_rate, 10 * config.learning_rate]
    expected = []
    for member, rate in enumerate(rates):
        theirs = start[member].clone().requires_grad_()
        if isinstance(config, Adam):
            optimiser = torch.optim.Adam([theirs], rate, (config.beta1, config.beta2))
        else:
            kind = torch.optim.SGD if isinstance(config, SGD) else torch.optim.Adagrad
            optimiser = kind([theirs], rate)
        for target in targets[: 25 if member == 2 else None, member]:
            optimiser.zero_grad()
            (theirs - target).square().sum().backward()
            optimiser.step()
        expected.append(theirs.detach())

    if not fused:
        monkeypatch.delattr(torch, "_fused_adam_")
        monkeypatch.delattr(torch, "_fused_adagrad_")
    module = torch.nn.ParameterList([torch.nn.Parameter(start.clone())])
    optimiser = EnsembleOptimiser(module, [replace(config, learning_rate=rate) for rate in rates])
    for step, target in enumerate(targets):
        if step == 25:
            optimiser.freeze(2)
        optimiser.descend([2 * (module[0].detach() - target)], step + 1)
    torch.testing.assert_close(module[0].detach(), torch.stack(expected), rtol=1e-5, atol=1e-6)


def test_a_resumed_training_is_the_uninterrupted_one():
    config = with_objective(FactorVAE(critic_width=16, critic_layers=2))
    data = config.data.load()
    configs = [replace(config, seed=s) for s in range(3)]
    whole, first, second = (Training(configs, data) for _ in range(3))
    whole.advance(60)
    first.advance(23)
    second.restore(23, [first.state(k) for k in range(3)])
    second.advance(60)
    assert torch.equal(weights(whole, 1), weights(second, 1))


def test_running_statistics_are_part_of_the_state(generator):
    data = Dataset("toy", ArrayStore(torch.rand(200, 1, 8, 8, generator=generator)))
    network = Conv(
        encoder=((4, 4, 2, 1),),
        encoder_dense=(),
        decoder_dense=(),
        decoder=(),
        start_channels=4,
        encoder_norm=1,
    )
    config = replace(SMALL, model=ModelConfig(2, network=network))
    whole, first, second = (Training([config], data) for _ in range(3))
    whole.advance(8)
    first.advance(5)
    second.restore(5, [first.state(0)])
    second.advance(8)
    mean = whole.model.encoder.convolutions[0].running_mean
    assert mean.abs().sum() > 0
    assert torch.equal(mean, second.model.encoder.convolutions[0].running_mean)


def test_a_member_that_diverges_is_frozen_and_the_others_go_on():
    data = SMALL.data.load()
    configs = [SMALL, replace(SMALL, optimiser=Adam(1e30)), replace(SMALL, seed=2)]
    training = Training(configs, data)
    training.advance(60)
    (member, step), *others = training.stopped.items()
    assert (member, others) == (1, [])
    assert 1 <= step < 60
    before = weights(training, 1)
    training.advance(70)
    assert torch.equal(weights(training, 1), before)
    alone = Training([replace(SMALL, seed=2)], data)
    alone.advance(70)
    torch.testing.assert_close(weights(training, 2), weights(alone, 0), rtol=1e-4, atol=1e-6)


def grid():
    """Of two factors, in three dimensions like the data of the others."""
    places = torch.cartesian_prod(torch.arange(40.0), torch.arange(40.0)) / 40
    factors = tuple(Factor(name, tuple(map(float, range(40)))) for name in "ab")
    return Dataset("grid", ArrayStore(torch.cat([places, places[:, :1]], 1)), factors)


@pytest.mark.slow
def test_every_objective_lowers_its_loss():
    small = {FactorVAE: {"critic_width": 16, "critic_layers": 2}, WeakGAN: {"critic_width": 1}}
    for kind in OBJECTIVES.values():
        objective = kind(**small.get(kind, {}))
        config = replace(with_objective(objective), steps=60, optimiser=Adam(1e-2))
        data = grid() if isinstance(objective, Paired) else None
        log = train(config, data, progress=False).log
        assert log[-1]["loss"][0] < log[0]["loss"][0], kind


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
@pytest.mark.parametrize("activation", ["tanh", "relu", "leaky_relu"])
@pytest.mark.parametrize(
    ("objective", "family"),
    [(AE(), "delta"), (BetaVAE(0.5), "diagonal"), (BetaVAE(0.5), "full")],
)
def test_the_gradient_written_out_is_autograds(objective, family, activation, likelihood):
    network = MLP((9, 8), activation, (7,), activation)
    config = replace(SMALL, objective=objective, model=ModelConfig(3, family, likelihood, network))
    configs = [config, replace(config, seed=1)]
    if isinstance(objective, BetaVAE):
        configs[1] = replace(configs[1], objective=BetaVAE(2.0))  # a beta of its own
    pixels = torch.rand(100, 1, 2, 2, generator=torch.Generator().manual_seed(0))
    training = Training(configs, Dataset("toy", ArrayStore(pixels)))
    assert explicit.applies(training.model, training.config)
    p = training._draw("batch", "noise")
    terms, gradients = loss_and_gradients(training.model, training.objective, p.x, p.noise)
    expected = training.objective(p)
    loss = total(expected)
    torch.testing.assert_close(terms["loss"], loss.detach())
    for name, term in expected.items():
        torch.testing.assert_close(terms[name], term.reduced().detach())
    autograds = torch.autograd.grad(loss.sum(), list(training.model.parameters()))
    for mine, theirs in zip(gradients, autograds, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6)


@dataclass(frozen=True)
class Doubled(BetaVAE):
    """Another objective, although a beta-VAE by descent."""

    def __call__(self, p):
        return {
            name: term._replace(value=2 * term.value) for name, term in super().__call__(p).items()
        }


def test_a_subclass_and_another_objective_train_by_autograd():
    """Only what is listed takes the gradient that is written out, which is of BetaVAE itself."""
    own = replace(SMALL, objective=Doubled(0.01))
    annealed = replace(SMALL, objective=AnnealedVAE())
    penalised = replace(SMALL, orthogonality=0.1)
    data = SMALL.data.load()
    listed, *others = (Training([config], data) for config in (SMALL, own, annealed, penalised))
    assert explicit.applies(listed.model, listed.config)
    assert not any(explicit.applies(each.model, each.config) for each in others)
    p = others[0]._draw("batch", "noise")
    with pytest.raises(ValueError, match="must be exactly AE or BetaVAE, got Doubled"):
        loss_and_gradients(others[0].model, own.objective, p.x, p.noise)
    losses = [training.advance(1)["loss"] for training in (listed, others[0])]
    torch.testing.assert_close(losses[1], 2 * losses[0])


def test_a_member_taken_out_has_its_own_weights_in_either_gradient(generator):
    """`member` assigns other weights to a network that was built with its own."""
    objective, x = BetaVAE(0.5), torch.randn(1, 6, 3, generator=generator)
    model = build(SMALL.model, (3,), [0, 1]).member(1)
    noise = torch.randn(1, 6, 2, generator=generator)
    terms, gradients = loss_and_gradients(model, objective, x, noise)
    loss = total(objective(Pass(model, x, noise, 0, 100)))
    torch.testing.assert_close(terms["loss"], loss.detach())
    weights = [weight.requires_grad_() for weight in model.parameters()]
    autograds = torch.autograd.grad(total(objective(Pass(model, x, noise, 0, 100))).sum(), weights)
    for mine, theirs in zip(gradients, autograds, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6)


def test_streams_depend_on_seed_purpose_and_step_alone():
    one, two = Streams([7]), Streams([1, 7])
    late = two.normal("noise", 3 * BLOCK + 5, (4,))[1]
    for step in range(3):
        one.normal("noise", step, (4,))
    assert torch.equal(one.normal("noise", 3 * BLOCK + 5, (4,))[0], late)
    assert not torch.equal(one.normal("other", 3 * BLOCK + 5, (4,))[0], late)
    numbers = torch.stack([one.normal("noise", step, (100,))[0] for step in range(2 * BLOCK)])
    assert len(numbers.unique()) > 0.999 * numbers.numel()  # blocks do not repeat each other


def test_an_epoch_visits_every_observation_once():
    streams, indices = Streams([0, 1]), torch.arange(100, 164)
    epoch = torch.cat([streams.batch("b", step, 16, indices) for step in range(4)], dim=1)
    assert torch.equal(epoch.sort(1).values, indices.expand(2, -1))
    following = torch.cat([streams.batch("b", step, 16, indices) for step in range(4, 8)], dim=1)
    assert not torch.equal(epoch, following)
    assert not torch.equal(epoch[0], epoch[1])


def test_training_never_sees_the_test_part():
    data = load("synth-lin", points=500)
    training = Training([SMALL], data)
    drawn = torch.cat(
        [training.streams.batch("batch", k, 16, training.indices) for k in range(50)], 1
    )
    assert not set(drawn.unique().tolist()) & set(split(data).test.tolist())


def test_a_bernoulli_needs_pixels():
    config = replace(SMALL, model=replace(SMALL.model, likelihood="bernoulli"))
    with pytest.raises(ValueError, match=r"synth-lin to lie in \[0, 1\]"):
        Training([config], SMALL.data.load())


def test_a_batch_larger_than_the_data_is_refused():
    with pytest.raises(ValueError, match="at most the 400 training observations"):
        Training([replace(SMALL, batch=401)], SMALL.data.load())


@pytest.mark.slow
def test_linear_vae_training_reaches_the_closed_form():
    """Weights, rotation and posterior variances of PPCA, found by gradient descent."""
    data = LinearGaussian(singular_values=(1.5, 1.0, 0.5), noise=0.3, dimensions=6, points=20_000)
    noise_variance = 0.15  # more than the data's 0.09, so that a fourth latent has no use
    config = RunConfig(
        data,
        ModelConfig(4, network=MLP((), "tanh", (), "tanh")),  # one latent more than there are
        BetaVAE(2 * noise_variance),
        Adam(2e-3),
        steps=6000,
        batch=1000,  # little noise in the gradient: the angle settles within a degree or two
    )
    dataset = data.load()
    ensemble = train([replace(config, seed=s) for s in range(3)], dataset, progress=False)
    x = dataset.observe(split(dataset).train)
    best = linear_vae(x, 4, noise_variance)
    expected = best.weights.norm(dim=0).float()
    assert expected[3] == 0
    for s in range(3):
        found = ensemble.model.decoder.layers[0].weight[s].detach().T  # (P, D)
        order = found.norm(dim=0).argsort(descending=True)
        found = found[:, order]
        torch.testing.assert_close(found.norm(dim=0), expected, atol=0.05, rtol=0)
        directions = best.weights[:, :3] / best.weights[:, :3].norm(dim=0)
        aligned = (found[:, :3] / found[:, :3].norm(dim=0)).double().T @ directions
        torch.testing.assert_close(aligned.abs(), torch.eye(3).double(), atol=0.05, rtol=0)
        q = ensemble.model.encode(x[None, :1000].expand(3, -1, -1))
        variances = q.variance[s].mean(0)[order].detach()
        torch.testing.assert_close(
            variances[:3], best.posterior_covariance.diagonal()[:3].float(), rtol=0.1, atol=0
        )
        assert variances[3] == pytest.approx(1.0, abs=0.05)  # the passive one
