"""The weakly supervised GAN: its critic's norm, its pairs, and that latents become factors."""

import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from torch.nn.functional import softplus

from unpick.data import ArrayStore, Dataset, Factor
from unpick.data.synthetic import SynthLin
from unpick.models import MLP, Autoencoder, Conv, ModelConfig
from unpick.models.networks import Affine, Convolution
from unpick.objectives import Adversarial, HasCritic, Pass, WeakGAN
from unpick.objectives.weak_gan import share_latents
from unpick.training import Adam, RunConfig, Training, train

S, B, D = 2, 12, 3
DENSE = MLP((6,), "tanh", (6,), "tanh")
IMAGES = Conv(((4, 4, 2, 1),), (), (), 4, ((3, 4, 2, 1),))
FACTORS = (Factor("a", (0.0, 1.0, 2.0, 3.0)), Factor("b", (0.0, 1.0, 2.0)))
PLACES = torch.cartesian_prod(torch.arange(4), torch.arange(3))
PIXELS = torch.rand(12, 1, 8, 8, generator=torch.Generator().manual_seed(0))
EVERY = torch.arange(1600)
DATA = Dataset("toy", ArrayStore(PIXELS), FACTORS)


def config(network=DENSE, **changes):
    model = ModelConfig(D, "diagonal", "bernoulli", network)
    objective = WeakGAN(critic_width=1)
    given = RunConfig(SynthLin(), model, objective, Adam(1e-3, 0.5, 0.999), steps=20, batch=8)
    return replace(given, **changes)


def a_pass(generator, network=DENSE):
    model = Autoencoder(config(network).model, (1, 8, 8), range(S))
    critic = WeakGAN(1).make_critic(model.config, (1, 8, 8), 2, [generator] * S)
    x = torch.rand(S, B, 1, 8, 8, generator=generator)
    noise = torch.randn(S, B, D, generator=generator)
    shared = torch.randint(2, (S, B // 2), generator=generator)
    return Pass(model, x, noise, 0, 100, critic, shared)


@pytest.mark.parametrize("network", [DENSE, IMAGES], ids=["dense", "convolutional"])
def test_no_layer_of_the_critic_stretches_by_more_than_one(network, generator):
    p = a_pass(generator, network)
    layers = [m for m in p.critic.modules() if isinstance(m, Affine | Convolution)]
    assert len(layers) == 5
    for layer in layers:
        layer.parametrizations.weight.original.data.mul_(5.0)
    for _ in range(200):
        p.critic(p.x, p.shared)
    for layer in layers:
        values = torch.linalg.svdvals(layer.weight.flatten(2))
        torch.testing.assert_close(values[:, 0], torch.ones(S), atol=0.01, rtol=0)


def test_the_norm_is_part_of_the_gradient(generator):
    """Weights are used up to scale: their gradient has no part along themselves."""
    p = a_pass(generator)
    loss = p.critic(p.x, p.shared).sum()
    originals = [w for name, w in p.critic.named_parameters() if name.endswith("original")]
    for weight, gradient in zip(originals, torch.autograd.grad(loss, originals), strict=True):
        along = (weight * gradient).sum() / weight.norm() / gradient.norm()
        assert float(along.detach()) == pytest.approx(0, abs=1e-5)


def test_the_second_of_a_pair_takes_over_the_shared_latent(generator):
    noise = torch.randn(S, B, D, generator=generator)
    shared = torch.randint(D, (S, B // 2), generator=generator)
    z = share_latents(noise, shared)
    assert torch.equal(z[:, 0::2], noise[:, 0::2])
    same = z[:, 0::2] == z[:, 1::2]
    assert (same.sum(2) == 1).all()
    assert torch.equal(same.long().argmax(2), shared)
    assert torch.equal(z[:, 1::2][~same], noise[:, 1::2][~same])


def test_pairs_are_judged_one_by_one(generator):
    """No pair leaks into another, and the two of a pair are not taken for each other."""
    p = a_pass(generator, IMAGES)
    p.critic.eval()
    whole = p.critic(p.x, p.shared)
    torch.testing.assert_close(p.critic(p.x[:, 4:6], p.shared[:, 2:3]), whole[:, 2:3])
    swapped = p.x.unflatten(1, (-1, 2)).flip(2).flatten(1, 2)
    assert (p.critic(swapped, p.shared) - whole).abs().min() > 1e-6
    assert (p.critic(p.x, 1 - p.shared) - whole).abs().min() > 1e-6


def test_generator_and_encoder_each_have_a_term_of_their_own(generator):
    p = a_pass(generator)
    terms = WeakGAN(1)(p)
    parts = {"generator": p.model.decoder, "encoder": p.model.encoder}
    for name, term in terms.items():
        for part, network in parts.items():
            found = torch.autograd.grad(
                term.reduced().sum(),
                list(network.parameters()),
                retain_graph=True,
                allow_unused=True,
            )
            assert all((g is None) == (part != name) for g in found)


def test_the_critics_loss_is_the_cross_entropy_of_both_kinds_of_pairs(generator):
    p = a_pass(generator)
    p.critic.eval()
    objective = WeakGAN(1)
    true = p.critic(p.x, p.shared)
    false = p.critic(p.model.decode_mean(share_latents(p.noise, p.shared)), p.shared)
    found = objective.critic_loss(p.critic, p, p, p.noise)
    torch.testing.assert_close(found, softplus(-true) + softplus(false))
    torch.testing.assert_close(objective(p)["generator"].value, softplus(-false))
    assert isinstance(objective, HasCritic)
    assert isinstance(objective, Adversarial)


@pytest.mark.slow
@pytest.mark.parametrize("network", [DENSE, IMAGES], ids=["dense", "convolutional"])
def test_a_resumed_training_is_the_uninterrupted_one(network):
    configs = [config(network, seed=s) for s in range(2)]
    whole, first, second = (Training(configs, DATA) for _ in range(3))
    whole.advance(20)
    first.advance(7)
    second.restore(7, [first.state(k) for k in range(2)])
    second.advance(20)
    for name, optimiser in whole.optimisers.items():
        state, again = optimiser.state(1), second.optimisers[name].state(1)
        assert all(torch.equal(state[key], again[key]) for key in state)
    assert "buffers" in whole.optimisers["critic"].state(0)  # where the power iteration stands


@pytest.mark.parametrize("network", [DENSE, IMAGES], ids=["dense", "convolutional"])
def test_a_member_does_not_depend_on_its_company(network):
    company = Training([config(network, seed=s) for s in (3, 4, 5)], DATA)
    alone = Training([config(network, seed=4)], DATA)
    company.advance(15)
    alone.advance(15)
    for name in ("model", "critic"):
        mine, theirs = company.optimisers[name].state(1), alone.optimisers[name].state(0)
        torch.testing.assert_close(mine["values"], theirs["values"], rtol=1e-3, atol=1e-5)
    assert set(alone.latent_statistics()) == {"deviation", "variance", "kl"}


def test_the_critic_is_as_wide_as_asked_for():
    one, three = (
        WeakGAN(width).make_critic(config(IMAGES).model, (1, 8, 8), 2, [torch.Generator()])
        for width in (1, 3)
    )
    for critic, width in ((one, 1), (three, 3)):
        assert critic.body.convolutions[0].weight.shape[1] == 4 * width
        assert critic.head.layers[0].weight.shape[1:] == (256 * width, 128 * width)


def test_bad_input_is_told():
    with pytest.raises(ValueError, match="latents must be at least the 2 factors"):
        Training([config(model=ModelConfig(1, likelihood="bernoulli"))], DATA)
    with pytest.raises(ValueError, match="critic_width must be at least 1, got 0"):
        WeakGAN(0)


@pytest.mark.slow
def test_other_pairs_are_refused():
    """In a process of its own: here types are checked first, where people work they are not."""
    words = "import unpick.cli; unpick.cli.main()"
    asked = ("train", "shapes3d", "weak-gan", "--pairs", "laplace")
    done = subprocess.run([sys.executable, "-c", words, *asked], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "unpick: pairs must be share for weak-gan, got laplace\n"


@pytest.mark.slow
def test_latents_become_the_factors_that_pairs_share():
    """Factors of equal variance, turned by 45 degrees: the k-th latent is the k-th factor."""
    turn = torch.tensor([[1.0, 1.0], [-1.0, 1.0]]) / 2**0.5
    values = torch.linspace(-1.7, 1.7, 40)
    factors = tuple(Factor(name, tuple(values.tolist())) for name in "ab")
    data = Dataset("turned", ArrayStore(torch.cartesian_prod(values, values) @ turn.T), factors)
    network = MLP((16, 16), "leaky_relu", (16, 16), "leaky_relu")
    given = config(model=ModelConfig(2, network=network), batch=64, steps=600)
    codes = train(given, data, progress=False).model.encode(data.observe(EVERY)[None]).mean[0]
    both = torch.cat([codes.detach(), data.factor_values(EVERY)], 1)
    found = torch.corrcoef(both.T)[:2, 2:].abs()
    assert found.diagonal().min() > 0.93
    assert found.fliplr().diagonal().max() < 0.4
