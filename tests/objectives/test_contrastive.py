"""PCL: what its score can say, and that it unmixes what PCA cannot."""

from dataclasses import replace
from itertools import permutations
from math import log

import pytest
import torch
from torch.nn.functional import softplus

from unpick.data import ArrayStore, Dataset, Factor, SharePairs
from unpick.data.synthetic import SynthLin
from unpick.models import MLP, Autoencoder, ModelConfig
from unpick.objectives import AE, PCL, Pass, total
from unpick.objectives.contrastive import PairScore, standardise
from unpick.runs import Runner, disk
from unpick.runs.executor import train_group
from unpick.training import Adam, RunConfig, Training

FACTORS = tuple(Factor(name, tuple(map(float, range(12)))) for name in "ab")
GRID = torch.cartesian_prod(*[torch.arange(12.0) for _ in "ab"]) / 12
DATA = Dataset("toy", ArrayStore(torch.cat([GRID, GRID[:, :1]], 1)), FACTORS)
CONFIG = RunConfig(
    data=SynthLin(),
    model=ModelConfig(2, "delta", network=MLP((8,), "tanh", (8,), "tanh")),
    objective=PCL(),
    optimiser=Adam(3e-3),
    steps=60,
    batch=16,
)


def a_pass(generator, members=2, batch=20):
    model = Autoencoder(CONFIG.model, (3,), range(members), decodes=False)
    critic = PCL().make_critic(CONFIG.model, (3,), 2, [generator] * members)
    x = torch.randn(members, batch, 3, generator=generator)
    return Pass(model, x, torch.zeros(members, batch, 2), 0, 100, critic)


def test_a_score_that_knows_nothing_costs_log_two(generator):
    p = a_pass(generator)
    for weights in p.critic.parameters():
        weights.data.zero_()
    torch.testing.assert_close(total(PCL()(p)), torch.full((2,), log(2)))


def test_shift_and_scale_of_latents_do_not_matter(generator):
    p = a_pass(generator)
    before = total(PCL()(p))
    last = p.model.encoder.layers[-1]
    change = torch.tensor([3.0, -0.5])
    last.weight.data.mul_(change.abs())
    last.bias.data.mul_(change.abs()).add_(change)
    torch.testing.assert_close(total(PCL()(replace(p))), before, rtol=1e-4, atol=1e-5)


def test_the_same_images_are_judged_in_true_pairs_and_in_chance_pairs(generator):
    """The loss by hand, pair by pair: x_t is odd, x_{t-1} even, and chance is the pair before."""
    p = a_pass(generator, members=1, batch=8)
    h = standardise(p.q.mean)[0]
    score = lambda t, s: p.critic(h[None, t, None], h[None, s, None])[0, 0]  # noqa: E731
    expected = [
        softplus(-score(2 * k + 1, 2 * k)) + softplus(score(2 * k + 1, (2 * k - 2) % 8))
        for k in range(4)
    ]
    torch.testing.assert_close(total(PCL()(p))[0], torch.stack(expected).mean() / 2)


def test_the_score_is_the_log_ratio_of_laplacian_steps_from_a_normal_source(generator):
    """Log p(s_t | s_{t-1}) - log p(s_t), up to the constant, if the source itself is normal."""
    new, old = torch.randn(2, 1, 50, 1, generator=generator).double()
    score = PairScore(1, 1).double()
    for weights, value in zip(score.parameters(), (2.0, -1.4, 0.0, 0.5, 0.0), strict=True):
        weights.data.fill_(value)
    step = torch.distributions.Laplace(0.7 * old, 0.5).log_prob(new)
    ratio = (step - torch.distributions.Normal(0, 1).log_prob(new))[..., 0]
    constant = (ratio - score(new, old)).detach()
    torch.testing.assert_close(constant, constant[:, :1].expand_as(constant))


def test_the_model_has_no_decoder_and_says_so():
    training = Training([CONFIG], DATA)
    assert not hasattr(training.model, "decoder")
    for model in (training.model, training.model.member(0)):
        with pytest.raises(ValueError, match="has no decoder"):
            model.decode(torch.zeros(1, 1, 2))
    whole = Autoencoder(CONFIG.model, (3,), [0])
    for mine, theirs in zip(training.model.parameters(), whole.encoder.parameters(), strict=True):
        assert torch.equal(mine, theirs)  # the decoder is drawn last


@pytest.mark.parametrize("objective", [PCL(), PCL(pairs=SharePairs())], ids=["laplace", "share"])
def test_a_resumed_training_is_the_uninterrupted_one(objective):
    configs = [replace(CONFIG, objective=objective, seed=s) for s in range(2)]
    whole, first, second = (Training(configs, DATA) for _ in range(3))
    whole.advance(60)
    first.advance(23)
    second.restore(23, [first.state(k) for k in range(2)])
    second.advance(60)
    for name, optimiser in whole.optimisers.items():
        for key, tensor in optimiser.state(1).items():
            assert torch.equal(tensor, second.optimisers[name].state(1)[key])


def test_a_member_does_not_depend_on_its_company():
    company = Training([replace(CONFIG, seed=s) for s in (3, 4, 5)], DATA)
    alone = Training([replace(CONFIG, seed=4)], DATA)
    company.advance(40)
    alone.advance(40)
    # What the encoder adds last is taken away again by `standardised`: its gradient is rounding,
    # of which Adam makes steps. All else is equal, and the two biases come last.
    for name, told in (("model", slice(-2)), ("critic", slice(None))):
        mine, its = company.optimisers[name].state(1), alone.optimisers[name].state(0)
        torch.testing.assert_close(mine["values"][told], its["values"][told], rtol=1e-4, atol=1e-6)


def test_a_run_is_read_back_without_a_decoder(tmp_path):
    other = replace(CONFIG, objective=AE())
    for config in (CONFIG, other):
        train_group([config], Runner(tmp_path), DATA, lambda _: None)
    run, whole = (disk.read(disk.folder(config, tmp_path)) for config in (CONFIG, other))
    training = Training([CONFIG], DATA)
    training.advance(CONFIG.steps)
    for mine, theirs in zip(run.model().parameters(), training.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    with pytest.raises(ValueError, match="different architectures"):
        disk.load_together([run, whole])


def test_the_score_steps_too():
    training = Training([CONFIG], DATA)
    before = training.optimisers["critic"].state(0)["values"]
    training.advance(10)
    moved = (training.optimisers["critic"].state(0)["values"] - before).abs()
    assert (moved > 0.1 * CONFIG.objective.critic_learning_rate).all()


def matched(codes, sources):
    """Mean absolute correlation under the best assignment."""
    n = sources.shape[1]
    table = torch.corrcoef(torch.cat([codes, sources], 1).T)[:n, n:].abs()
    return max(float(table[torch.arange(n), list(p)].mean()) for p in permutations(range(n)))


@pytest.mark.slow
def test_autoregressive_sources_are_unmixed(generator):
    """Four AR(1) sources with Laplacian steps, mixed linearly: PCA whitens but does not unmix."""
    n, length = 4, 5000
    steps = torch.distributions.Laplace(0.0, 1.0).icdf(
        torch.rand(length, n, generator=generator).clamp(1e-6, 1 - 1e-6)
    )
    sources = torch.zeros(length, n)
    for t in range(1, length):
        sources[t] = 0.7 * sources[t - 1] + steps[t]
    mixed = sources @ torch.randn(n, n, generator=generator)
    mixed = mixed - mixed.mean(0)
    _, s, v = torch.linalg.svd(mixed, full_matrices=False)
    white = mixed @ v.T / s * length**0.5

    config = ModelConfig(n, "delta", network=MLP((), "tanh", (), "tanh"))
    model, objective = Autoencoder(config, (n,), range(3), decodes=False), PCL()
    critic = objective.make_critic(config, (n,), 0, [generator] * 3)
    optimiser = torch.optim.Adam([*model.parameters(), *critic.parameters()], 1e-2)
    for _ in range(500):
        now = torch.randint(1, length, (3, 256), generator=generator)
        x = white[torch.stack([now - 1, now], 2).flatten(1)]
        loss = total(objective(Pass(model, x, x, 0, length, critic))).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        codes = model.encode(white.expand(3, -1, -1)).mean
    assert matched(white, sources) < 0.9
    assert min(matched(code, sources) for code in codes) > 0.97
