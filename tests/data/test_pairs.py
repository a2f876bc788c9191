"""Pairs on a grid of factors, and the SlowVAE that learns from them."""

from dataclasses import replace
from math import erf, exp, log, pi, sqrt

import pytest
import torch
from scipy.integrate import quad
from scipy.stats import laplace, norm

from unpick.data import (
    ArrayStore,
    Dataset,
    Factor,
    LaplacePairs,
    SharePairs,
    UniformPairs,
    pairs,
)
from unpick.data.synthetic import SynthLin
from unpick.models import MLP, ModelConfig
from unpick.models.posterior import Diagonal
from unpick.objectives import BetaVAE, Paired, Pass, SlowVAE, stack, total
from unpick.objectives.slow import laplace_cross_entropy
from unpick.training import Adam, RunConfig, Training, preset, train

FACTORS = (
    Factor("shape", (0.0, 1.0, 2.0), categorical=True),
    Factor("size", tuple(map(float, range(5)))),
    Factor("place", tuple(map(float, range(8)))),
    Factor("lamp", (1.0,)),
)
GRID = torch.cartesian_prod(*[torch.arange(f.size) for f in FACTORS])
DATA = Dataset("toy", ArrayStore(GRID[:, :3].float() / 8), FACTORS)
CONFIG = RunConfig(
    data=SynthLin(),
    model=ModelConfig(latents=3, likelihood="gaussian", network=MLP((8,), "tanh", (8,), "tanh")),
    objective=SlowVAE(),
    optimiser=Adam(3e-3),
    steps=60,
    batch=16,
)


def moves(transition, n=200_000):
    first, second = pairs(DATA, n, torch.Generator().manual_seed(0), transition)
    return DATA.positions(first), DATA.positions(second)


@pytest.mark.parametrize("rate", [0.5, 1.0, 4.0])
def test_laplace_pairs_move_as_their_law_says(rate):
    before, after = moves(LaplacePairs(rate))
    assert (before[:, 0] == after[:, 0]).all()  # categorical
    moved = before != after
    assert moved.any(1).all()
    laws = {k: law(n, rate) for k, n in ((1, 5), (2, 8))}
    for k, own in laws.items():
        others_stay = laws[3 - k].diagonal().mean()
        for old, chances in enumerate(own):
            stay = chances[old]
            expected = chances * (1 + stay * others_stay / 2 / (1 - stay))  # half of the forced
            expected[old] = stay - stay * others_stay / 2
            rows = before[:, k] == old
            found = torch.bincount(after[rows, k], minlength=len(own)) / rows.sum()
            error = (expected * (1 - expected) / rows.sum()).sqrt()
            assert ((found - expected).abs() < 5 * error).all()


def law(n, rate):
    """Chances of the new value, a row an old one, if nothing is forced."""
    weights = [[exp(-abs(i - j) * rate / log(n)) for j in range(n)] for i in range(n)]
    return torch.tensor(weights) / torch.tensor(weights).sum(1, keepdim=True)


def test_what_does_not_move_by_itself_is_made_to():
    """With a rate that leaves all in place: one factor, to a neighbour."""
    before, after = moves(LaplacePairs(60.0), n=20_000)
    steps = (after - before).abs()
    assert (steps.sum(1) == 1).all()
    assert (steps[:, 1] > 0).float().mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("changing", [1, 2, 3])
def test_uniform_pairs_change_as_many_factors_as_asked(changing):
    before, after = moves(UniformPairs(changing))
    three = (before != after)[:, :3]  # the lamp has no other value
    assert three.sum(1).max() == changing
    for k, n in enumerate((3, 5, 8)):
        rows = three[:, k]
        jump = (after - before)[rows, k] % n
        found = torch.bincount(jump, minlength=n)[1:] / rows.sum()
        assert found == pytest.approx(torch.full((n - 1,), 1 / (n - 1)), abs=0.01)


def test_uniform_pairs_draw_how_many_change():
    before, after = moves(UniformPairs())
    changed = (before != after).sum(1)
    # k of four factors, k from 1 to 3; the lamp is among them with probability k / 4.
    expected = [1 / 3 * share for share in (1 / 4, 3 / 4 + 2 / 4, 2 / 4 + 3 / 4, 1 / 4)]
    assert torch.bincount(changed) / len(changed) == pytest.approx(
        torch.tensor(expected), abs=0.01
    )


def test_share_pairs_keep_the_factor_they_tell_and_draw_the_others():
    transition, n = SharePairs(), 100_000
    first = DATA.sample(n, torch.Generator().manual_seed(0))
    uniform = torch.rand(
        n, transition.uniforms_per_pair(DATA), generator=torch.Generator().manual_seed(1)
    )
    before = DATA.positions(first)
    after = DATA.positions(transition.partners(DATA, first, uniform))
    shared = transition.shared(DATA, uniform)
    assert torch.bincount(shared) / n == pytest.approx(torch.full((4,), 0.25), abs=0.01)
    for k, size in enumerate(DATA.sizes):
        kept, drawn = shared == k, shared != k
        assert (before[kept] == after[kept])[:, k].all()
        # Anew: every value as often as any other, whatever it was before.
        both = torch.bincount(size * before[drawn, k] + after[drawn, k], minlength=size**2)
        assert both / drawn.sum() == pytest.approx(torch.full((size**2,), size**-2.0), abs=0.01)


def test_training_knows_what_each_pair_shares():
    configs = [replace(CONFIG, objective=SlowVAE(pairs=SharePairs()), seed=s) for s in range(2)]
    p = Training(configs, DATA)._draw("batch", "noise")
    places = (p.x * 8).round().long()
    same = torch.cat([places[:, 0::2] == places[:, 1::2], torch.ones(2, 8, 1).bool()], 2)
    assert same.gather(2, p.shared[..., None]).all()
    assert not same.all(2).any()
    assert Training([CONFIG], DATA)._draw("batch", "noise").shared is None


def test_what_pairs_cannot_be_drawn_from_is_told():
    numbers = torch.rand(1, 5)
    with pytest.raises(ValueError, match="must be at most the 4 factors of toy"):
        moves(UniformPairs(5))
    only = Dataset("one", ArrayStore(torch.zeros(3, 1)), FACTORS[:1])
    with pytest.raises(ValueError, match="no factor that can move"):
        LaplacePairs().partners(only, torch.zeros(1).long(), numbers)
    with pytest.raises(ValueError, match="transition_rate must be positive"):
        LaplacePairs(0.0)
    with pytest.raises(ValueError, match="changing must be at least 0"):
        UniformPairs(-1)
    with pytest.raises(ValueError, match=r"slow-vae needs pairs.*synth-lin"):
        Training([CONFIG], CONFIG.data.load())
    with pytest.raises(ValueError, match="batch must be even for slow-vae, got 15"):
        replace(CONFIG, batch=15)


@pytest.mark.parametrize(("mean", "deviation"), [(0.0, 1.0), (0.3, 0.01), (-2.0, 0.5), (5.0, 3.0)])
def test_the_cross_entropy_is_the_integral(mean, deviation):
    """Against quadrature and scipy's densities."""
    rate = 6.0

    def integrand(x):
        return -norm.pdf(x, mean, deviation) * laplace.logpdf(x, scale=1 / rate)

    inside = (mean - 12 * deviation, mean + 12 * deviation)
    expected, _ = quad(integrand, *inside, points=[0.0] if inside[0] < 0 < inside[1] else None)
    tensors = (torch.tensor([v], dtype=torch.float64) for v in (mean, deviation**2, rate))
    assert float(laplace_cross_entropy(*tensors)) == pytest.approx(expected, rel=1e-7)


class Planted(torch.nn.Module):
    """A model with a posterior and an output of our choice."""

    config = ModelConfig(likelihood="gaussian")
    decodes = True

    def __init__(self, q, output):
        super().__init__()
        self.q, self.output = q, output
        self.members, self.shape = len(output), output.shape[2:]

    def member(self, s):
        return self

    def encode(self, x):
        return self.q

    def decode(self, z):
        return self.output

    decode_mean = decode


def a_pass(members=1, batch=6, latents=2):
    draw = torch.Generator().manual_seed(0)
    shape = (members, batch, latents)
    q = Diagonal(*(torch.randn(shape, generator=draw).double() for _ in range(2)))
    x, output = (torch.rand(members, batch, 4, generator=draw).double() for _ in range(2))
    return Pass(Planted(q, output), x, torch.zeros_like(q.mean), 0, 100)


def test_the_transition_term_is_the_kl_by_monte_carlo():
    """KL(q_t || Laplace about z of the other), averaged over that z."""
    p, objective = a_pass(), SlowVAE(sparsity=3.0)
    term = objective(p)["transition"].value[0]
    noise = torch.randn(2, 100_000, *term.shape, generator=torch.Generator().manual_seed(1))
    z, other = p.q.mean + p.q.variance.sqrt() * noise.double()
    other = other.unflatten(1, (-1, 2)).flip(2).flatten(1, 2)
    log_q = -0.5 * ((z - p.q.mean).square() / p.q.variance + p.q.log_var + log(2 * pi))
    log_prior = log(3.0 / 2) - 3.0 * (z - other).abs()
    samples = log_q - log_prior
    error = samples.std(0) / sqrt(len(samples))
    assert ((samples.mean(0) - term).abs() < 5 * error).all()


def test_the_released_code_counts_the_cross_entropy_twice():
    """Term by term as the authors' solver adds them up, for a batch of pairs."""
    p, beta, gamma, rate = a_pass(), 1.5, 4.0, 6.0
    mean, variance = p.q.mean[0], p.q.variance[0]

    def towards(a, b):
        """Of frame b, from the mean of frame a."""
        m, s = mean[b] - mean[a], variance[b].sqrt()
        error = torch.tensor([[erf(float(v)) for v in row] for row in m / s / sqrt(2)])
        spread = s * sqrt(2 / pi) * torch.exp(-(m**2) / (2 * s**2)) + m * error
        return (rate * spread - log(rate / 2)).sum(1).mean()

    even, odd = slice(0, None, 2), slice(1, None, 2)
    entropy = 0.5 * (p.q.log_var[0] + log(2 * pi) + 1).sum(1).mean()
    rec = (p.x - p.output).square()[0].sum(1).mean()
    normal = (0.5 * (mean**2 + variance) + 0.5 * log(2 * pi)).sum(1).mean() - entropy
    slow = towards(even, odd) + towards(odd, even) - entropy
    published = 2 * rec + beta * normal + gamma * slow
    ours = total(SlowVAE(beta, gamma, rate, released=True)(p))
    assert float(2 * ours) == pytest.approx(float(published))
    assert float(2 * total(SlowVAE(beta, gamma, rate)(p))) != pytest.approx(float(published))


def test_without_a_transition_it_is_a_beta_vae_of_half_the_beta():
    p = a_pass()
    assert float(total(SlowVAE(3.0, 0.0)(p))) == pytest.approx(float(total(BetaVAE(1.5)(p))))


def test_members_may_have_their_own_weights():
    p = a_pass(members=2)
    several = [SlowVAE(1.0, 2.0, 3.0), SlowVAE(2.0, 5.0, 7.0)]
    together = total(stack(several)(p))
    for k, objective in enumerate(several):
        one = slice(k, k + 1)
        model = Planted(Diagonal(p.q.mean[one], p.q.log_var[one]), p.output[one])
        alone = Pass(model, p.x[one], p.noise[one], 0, 100)
        assert float(together[k]) == pytest.approx(float(total(objective(alone))))


def test_batches_hold_pairs_and_no_member_depends_on_another():
    configs = [replace(CONFIG, seed=s) for s in range(3)]
    together = Training(configs, DATA)
    x = together._draw("batch", "noise").x
    places = (x * 8).round().long()
    first, second = places[:, 0::2], places[:, 1::2]
    assert (first[..., 0] == second[..., 0]).all()
    assert (first != second).any(2).all()
    alone = Training(configs[1:2], DATA)
    assert torch.equal(alone._draw("batch", "noise").x[0], x[1])
    together.advance(40)
    alone.advance(40)
    for a, b in zip(together.model.parameters(), alone.model.parameters(), strict=True):
        torch.testing.assert_close(a[1], b[0], rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_training_goes_on_where_it_stopped():
    whole, half = (Training([CONFIG], DATA) for _ in range(2))
    whole.advance(60)
    half.advance(30)
    rest = Training([CONFIG], DATA)
    rest.restore(30, [half.state(0)])
    rest.advance(60)
    for a, b in zip(whole.model.parameters(), rest.model.parameters(), strict=True):
        assert torch.equal(a, b)


def test_other_pairs_are_other_runs():
    other = replace(CONFIG, objective=SlowVAE(pairs=UniformPairs()))
    assert len({CONFIG.identity(), other.identity()}) == 2
    assert CONFIG.family() != other.family()
    assert isinstance(CONFIG.objective, Paired)
    assert not isinstance(preset("synth-lin").objective, Paired)


@pytest.mark.slow
def test_latents_follow_factors_that_change_one_at_a_time():
    """Factors mixed by a rotation: pairs tell which directions are factors, a VAE cannot know."""
    turn = torch.linalg.qr(torch.randn(2, 2, generator=torch.Generator().manual_seed(3))).Q
    values = torch.linspace(-1.7, 1.7, 40)
    grid = torch.cartesian_prod(values, values) @ turn.T
    factors = tuple(Factor(name, tuple(values.tolist())) for name in "ab")
    data = Dataset("turned", ArrayStore(grid), factors)
    network = MLP((), "tanh", (), "tanh")
    config = RunConfig(
        data=SynthLin(),
        model=ModelConfig(latents=2, likelihood="gaussian", network=network),
        objective=SlowVAE(0.01, 0.2, 6.0, pairs=UniformPairs(1)),
        optimiser=Adam(2e-2),
        steps=600,
        batch=64,
    )
    scores = {}
    for objective in (config.objective, BetaVAE(0.01)):
        ensemble = train(
            [replace(config, objective=objective, seed=s) for s in range(4)], data, False
        )
        x = data.observe(torch.arange(len(data))).expand(4, -1, -1)
        with torch.no_grad():
            codes = ensemble.model.encode(x).mean
        each = data.factor_values(torch.arange(len(data)))
        found = torch.stack(
            [torch.corrcoef(torch.cat([c, each], 1).T)[:2, 2:].abs() for c in codes]
        )
        scores[objective.name] = found.max(2).values.min(1).values
    assert scores["slow-vae"].min() > 0.99
    assert scores["beta-vae"].min() < 0.95  # equal variances: no direction is better
