"""Training the change: what is trained, its gradients, and what it learns."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from perturb.recipes import BASE, CONFIG, MODEL, contest, grid, weights
from unpick.data import ArrayStore, Dataset, Factor
from unpick.models import MLP, Conv, ModelConfig
from unpick.perturb.contest import train_in_slices
from unpick.perturb.network import Change, features

CONVOLUTIONS = Conv(((8, 4, 2, 1),), (), (), 8, ())


def test_the_change_depends_on_one_number_and_stays_within_epsilon():
    dataset = grid()
    w = features(dataset, lambda x: x, torch.device("cpu"))(torch.arange(12))
    assert w.shape == (12, 4)  # three columns for the class, one for the number
    torch.testing.assert_close(w[:4, 3], torch.tensor([-1, -1 / 3, 1 / 3, 1]))
    assert torch.equal(w[:, :3].sum(1), torch.ones(12))
    change = Change(CONFIG, 4, dataset.shape)
    change.begin(w)
    change.eval()
    with torch.no_grad():
        s = change.neuron(w)
        assert torch.equal(change(w), change.draw(s))
        assert change.draw(1e3 * torch.randn(50)).abs().max() <= np.float32(CONFIG.epsilon)
    assert s.mean() == pytest.approx(0, abs=1e-5)
    assert s.std() == pytest.approx(1, abs=1e-4)


def test_the_neuron_of_a_literal_recipe_is_what_the_layers_say():
    w = torch.rand(12, 4)
    change = Change(replace(CONFIG, literal=True), 4, (1, 4, 4))
    change.begin(w)
    with torch.no_grad():
        assert torch.equal(change.train().neuron(w), change.into(w[None])[0, :, 0])
        assert torch.equal(change.eval().neuron(w), change.into(w[None])[0, :, 0])


@pytest.mark.slow
@pytest.mark.parametrize("network", [MODEL.network, CONVOLUTIONS])
def test_the_neuron_stays_alive(network):
    model = replace(MODEL, network=network)
    running = contest(replace(CONFIG, base=replace(BASE, model=model), learning_rate=1e-2))
    running.advance(30)
    with torch.no_grad():
        s = running.change.neuron(running.features(torch.arange(12)))
    assert 0.3 < s.std() < 3


def test_without_a_grid_the_change_depends_on_the_code():
    cloud = Dataset("cloud", ArrayStore(torch.rand(5, 3)))
    found = features(cloud, lambda x: 2 * x, torch.device("cpu"))(torch.tensor([4, 1]))
    assert torch.equal(found, 2 * cloud.observe(torch.tensor([4, 1])))


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_encoders_are_frozen_decoders_and_change_are_not(likelihood):
    model = replace(MODEL, likelihood=likelihood)
    running = contest(replace(CONFIG, base=replace(BASE, model=model), batch=8))
    encoders, decoders = weights(running.model.encoder), weights(running.model.decoder)
    change = weights(running.change)
    running.advance(2)
    assert all(torch.equal(encoders[k], v) for k, v in running.model.encoder.state_dict().items())
    for old, module in ((decoders, running.model.decoder), (change, running.change)):
        assert all(not torch.equal(old[k], v) for k, v in module.state_dict().items())


def test_equal_models_leave_nothing_to_gain():
    # With the same model on both sides the two losses differ by their draws of z alone, and with
    # posteriors of no width not at all.
    running = contest(replace(CONFIG, batch=8))
    with torch.no_grad():
        for tensor in running.model.state_dict().values():
            tensor[1] = tensor[0]
        running.model.encoder.weights_and_biases[-1][1][..., 2:] = -40  # log-variances
        running.model.encoder.weights_and_biases[-1][0][..., 2:] = 0
    losses = running.losses(changed=True)
    assert losses.entangled == pytest.approx(losses.disentangled, rel=1e-6)
    x = running.dataset.observe(torch.arange(8))
    output = running._decode(running._latents(x, torch.randn(2, 16, 2)))
    assert running._change_gradient(output).abs().max() < 1e-5
    assert running.losses(changed=False) != losses


@pytest.mark.slow
def test_the_change_goes_down_the_difference_of_the_losses():
    running = contest(replace(CONFIG, batch=12, learning_rate=1e-2, epsilon=0.3))
    for member in (0, 1):
        running.optimisers["decoders"].freeze(member)
    with torch.no_grad():  # such that reconstructions differ from image to image
        for tensor in running.model.parameters():
            tensor.mul_(3)
    before = running.losses(changed=True)
    running.advance(150)
    after = running.losses(changed=True)
    gap = before.entangled - before.disentangled
    assert after.entangled - after.disentangled < gap - 0.3


@pytest.mark.slow
@pytest.mark.parametrize("known", [0, 1])
def test_the_change_follows_what_only_the_entangled_code_knows(known):
    # Two pixels are the two factors, the others are grey; the code of one model is the first
    # factor, that of the other the second. A change that follows the factor in the entangled code
    # costs the entangled decoder nothing, and the other one up to epsilon^2 a pixel.
    factors = tuple(Factor(name, (0.0, 1.0, 2.0, 3.0)) for name in "xy")
    images = torch.full((16, 1, 4, 4), 0.5)
    images[:, 0, 0, :2] = torch.cartesian_prod(torch.linspace(0, 1, 4), torch.linspace(0, 1, 4))
    model = ModelConfig(1, "diagonal", "gaussian", MLP((), "tanh", (16,), "tanh"))
    config = replace(CONFIG, base=replace(BASE, model=model), batch=16, epsilon=0.3)
    config = replace(config, learning_rate=1e-2, decoder_rate=1e-2)
    running = contest(config, Dataset("two", ArrayStore(images), factors))
    weight, bias = running.model.encoder.weights_and_biases[0]
    with torch.no_grad():
        weight.zero_()
        weight[0, known, 0] = weight[1, 1 - known, 0] = 4
        bias[..., 0], bias[..., 1] = -2, -6  # mean, log-variance
    running.change.epsilon = 0.0
    for tick in range(150):  # decoders of the original images
        running.step_decoders(tick)
    running.change.epsilon = config.epsilon
    running.advance(120)
    losses = running.losses(changed=True)
    assert losses.entangled - losses.disentangled < -0.75 * 14 * config.epsilon**2
    table, level = running.tabulate()
    changes = table[level].reshape(4, 4, -1)
    along = [(changes - changes.mean(axis, keepdim=True)).square().mean() for axis in (0, 1)]
    assert along[1 - known] < 0.05 * along[known]


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_the_derivatives_are_autograds(likelihood):
    running = contest(
        replace(CONFIG, base=replace(BASE, model=replace(MODEL, likelihood=likelihood)))
    )
    target, output = torch.rand(3, 1, 4, 4), torch.randn(2, 5, 3, 1, 4, 4)
    target.requires_grad, output.requires_grad = True, True
    losses = running._distortion(target, output)
    (slope,) = torch.autograd.grad(losses.sum(), output, retain_graph=True)
    torch.testing.assert_close(running._output_gradient(target, output), slope)
    (pull,) = torch.autograd.grad(losses[0] - losses[1], target)
    torch.testing.assert_close(running._change_gradient(output), pull - pull.mean(0))
    literal = contest(replace(running.config, literal=True))
    torch.testing.assert_close(literal._change_gradient(output), pull)


def test_the_loss_is_the_sum_over_pixels_averaged_over_images_and_draws():
    running = contest()
    target, z = torch.rand(3, 1, 4, 4), torch.randn(2, 5, 3, 2)
    with torch.no_grad():
        found = running._distortion(target, running._decode(z))
        one_by_one = [
            [(running.model.decode(z[:, k, i : i + 1])[:, 0] - target[i]).square().sum((1, 2, 3))]
            for k in range(5)
            for i in range(3)
        ]
    torch.testing.assert_close(found, torch.stack([row[0] for row in one_by_one]).mean(0))


def test_the_table_is_the_change():
    running = contest(replace(CONFIG, levels=4000))
    table, level = running.tabulate()
    w = running.features(torch.arange(12))
    with torch.no_grad():
        torch.testing.assert_close(table[level], running.change(w), atol=1e-4, rtol=0)
        s = running.change.neuron(w)
    assert (level.min(), level.max()) == (0, 3999)
    assert torch.equal(level.argsort(), s.argsort())


def test_a_resumed_contest_is_the_uninterrupted_one():
    whole, half, rest = (contest(replace(CONFIG, batch=4, steps=9)) for _ in range(3))
    for _ in train_in_slices(whole):
        pass
    half.advance(5)
    rest.restore(5, half.state())
    rest.advance(9)
    for found, wanted in zip(rest.state().items(), whole.state().items(), strict=True):
        assert found[0] == wanted[0]
        assert found[0] in ("log", "sums") or torch.equal(found[1], wanted[1]), found[0]
