"""Every posterior family goes through everybody who uses posteriors."""

from dataclasses import replace
from typing import get_args

import pytest
import torch

from unpick.cli import main
from unpick.data import ArrayStore, Dataset, Factor
from unpick.data.synthetic import SynthLin
from unpick.models import MLP, Model, ModelConfig, build
from unpick.models.posterior import FAMILIES, Family, Posterior, family_of
from unpick.objectives import OBJECTIVES, FactorVAE, WeakGAN, total
from unpick.runs import Runner, make, read
from unpick.training import RunConfig, Training, explicit
from written_out import loss_and_gradients

SMALL = {FactorVAE: {"critic_width": 8, "critic_layers": 2}, WeakGAN: {"critic_width": 1}}
NETWORK = MLP((5,), "tanh", (5,), "tanh")
LISTED = [
    (family, objective)
    for family in get_args(Family)
    for objective in OBJECTIVES.values()
    if family in objective.posteriors
]


def config(family, objective):
    return RunConfig(
        SynthLin(points=300),
        ModelConfig(2, family, network=NETWORK),
        objective(**SMALL.get(objective, {})),
        steps=3,
        batch=8,
    )


@pytest.fixture(scope="module")
def grid():
    """Two factors of six values, in three dimensions, for objectives of pairs too."""
    places = torch.cartesian_prod(torch.arange(6.0), torch.arange(6.0)) / 6
    factors = tuple(Factor(name, tuple(map(float, range(6)))) for name in "ab")
    return Dataset("grid", ArrayStore(torch.cat([places, places[:, :1]], 1)), factors)


def test_every_family_has_a_class_a_place_in_the_union_and_an_objective():
    assert [*FAMILIES] == [*get_args(Family)]
    assert [*FAMILIES.values()] == [*get_args(Posterior)]
    assert {family for family, _ in LISTED} == {*get_args(Family)}


@pytest.mark.parametrize("family", get_args(Family))
def test_what_a_consumer_may_rely_on(family, generator):
    model = build(ModelConfig(2, family, network=NETWORK), (3,), [0, 1])
    assert isinstance(model, Model)
    x, noise = (torch.randn(2, 7, n, generator=generator) for n in (3, 2))
    q = model.encode(x)
    assert type(q) is family_of(family)
    assert q.mean.shape == q.sample(noise).shape == (2, 7, 2)
    assert model.decode(q.sample(noise)).shape == model.decode_mean(q.mean).shape == x.shape
    assert (q.variance is not None) == q.has_variance == (q.spread is not None)
    assert (q.factor is not None) == q.correlated
    if q.variance is None:
        torch.testing.assert_close(q.sample(noise), q.mean)
        for nothing in (q.kl, q.kl_parts, lambda: q.log_prob(noise)):
            with pytest.raises(ValueError, match="must have a density"):
                nothing()
        return
    torch.testing.assert_close(q.kl_parts().reshape(2, 7, -1).sum(2), q.kl())
    factor = torch.diag_embed(q.variance.sqrt()) if q.factor is None else q.factor
    torch.testing.assert_close(factor.square().sum(-1), q.variance)
    normal = torch.distributions.MultivariateNormal(q.mean, scale_tril=factor)
    prior = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    torch.testing.assert_close(q.kl(), torch.distributions.kl_divergence(normal, prior))
    torch.testing.assert_close(q.log_prob(noise), normal.log_prob(noise))
    moved = q.sample(noise) - q.sample(torch.zeros_like(noise))
    torch.testing.assert_close(moved, (factor @ noise[..., None])[..., 0])


@pytest.mark.parametrize(
    ("family", "objective"), LISTED, ids=lambda each: getattr(each, "name", each)
)
def test_a_step_of_every_objective(family, objective, grid):
    """By autograd, and by the gradient that is written out where there is one."""
    one = config(family, objective)
    training, again = (Training([one, replace(one, seed=1)], grid) for _ in range(2))
    p = training._draw("batch", "noise")
    loss = total(training.objective(p))
    if explicit.applies(training.model, one):
        terms, gradients = loss_and_gradients(training.model, training.objective, p.x, p.noise)
        torch.testing.assert_close(terms["loss"], loss.detach())
        autograds = torch.autograd.grad(loss.sum(), [*training.model.parameters()])
        for mine, theirs in zip(gradients, autograds, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(again.advance(1)["loss"], loss.detach())
    watched = training.latent_statistics()
    assert {each.shape for each in watched.values()} == (
        {(2, 2)} if family_of(family).has_variance else set()
    )


@pytest.mark.slow
@pytest.mark.usefixtures("cheap_scorecard")
@pytest.mark.parametrize("family", get_args(Family))
def test_members_run_folders_and_commands(family, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    objective = next(objective for name, objective in LISTED if name == family)
    one = config(family, objective)
    data = one.data.load()
    runs = make([one, replace(one, seed=1)], Runner(tmp_path / "runs", jobs=1, progress=False))
    assert f"{objective.name}{family_of(family).suffix}-seed0" in runs[0].path.name
    x = data.observe(torch.arange(5))[None]
    training = Training([one, replace(one, seed=1)], data)
    training.advance(one.steps)
    model = training.model.eval()
    for s, run in enumerate(runs):
        reread = read(run.path).model()
        alone = model.member(s)
        for name in ("mean", "variance", "factor", "spread"):
            values = [getattr(each.encode(x), name) for each in (reread, alone)]
            if values[0] is None:
                assert values[1] is None
            else:
                torch.testing.assert_close(*values)
        torch.testing.assert_close(reread.decode(x[..., :2]), alone.decode(x[..., :2]))
    said = {}
    for command, *options in (["measure", "--draws", "0"], ["diagnose", "--jacobians", "20"]):
        with pytest.raises(SystemExit) as stop:
            main([command, str(runs[0].path), *options])
        assert stop.value.code == 0
        said[command] = capsys.readouterr().out
    assert ("Delta_KL" in said["measure"]) == family_of(family).has_variance
    assert "DtO" in said["measure"]
    assert "latents" in said["diagnose"]
