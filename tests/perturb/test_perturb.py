"""Making a twin: who is chosen, what is trained and what is not, and that it goes on."""

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from unpick.cli import main
from unpick.cli.train import read_run_config
from unpick.data import ArrayStore, Dataset, Factor, Noisy, load, split
from unpick.data.shapes3d import Shapes3D
from unpick.models import MLP, Autoencoder, Conv, ModelConfig
from unpick.objectives import AE, BetaVAE
from unpick.perturb import PerturbConfig, perturb
from unpick.perturb.contest import Contest, train_in_slices
from unpick.perturb.make_twin import refit_losses, varying_share
from unpick.perturb.network import Change, features
from unpick.perturb.select_restarts import Candidate, score_restarts, select_restarts
from unpick.probe import Probe
from unpick.runs import Run, Runner, make
from unpick.training import Adam, RunConfig

MODEL = ModelConfig(2, "diagonal", "gaussian", MLP((16,), "tanh", (16,), "tanh"))
CONVOLUTIONS = Conv(((8, 4, 2, 1),), (), (), 8, ())
BASE = RunConfig(Shapes3D(8), MODEL, BetaVAE(0.1), Adam(1e-3), steps=30, batch=32)
CONFIG = PerturbConfig(BASE, 0.1, restarts=3, steps=12, batch=16, samples=2, levels=16)


def grid(shape=(1, 4, 4)):
    """Twelve random images on a grid of a class and a number."""
    factors = (
        Factor("kind", (0.0, 1.0, 2.0), categorical=True),
        Factor("x", (0.0, 1.0, 2.0, 5.0)),
    )
    return Dataset("tiny", ArrayStore(torch.rand(12, *shape, generator=seeded())), factors)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def contest(config=CONFIG, dataset=None):
    dataset = dataset or grid()
    return Contest(config, dataset, Autoencoder(config.base.model, dataset.shape, [0, 1]))


def weights(module):
    return {name: tensor.clone() for name, tensor in module.state_dict().items()}


def test_the_highest_and_the_lowest_are_chosen():
    scores = [0.3, 0.9, 0.1, 0.5, 0.8]
    choice = select_restarts(
        [Candidate(10 + k, s, over_pruned=False) for k, s in enumerate(scores)], 2
    )
    assert choice.entangled == (2, 0)
    assert choice.disentangled == (1, 4)


def test_over_pruned_restarts_are_chosen_only_where_they_are_the_rule():
    def chosen(pruned):
        scores = [0.1, 0.2, 0.3, 0.4]
        each = [Candidate(k, s, k in pruned) for k, s in enumerate(scores)]
        return select_restarts(each, 1)

    assert chosen({3}).disentangled == (2,)
    assert chosen({0, 3}).entangled == (1,)
    assert chosen({0, 2, 3}) == chosen(set())
    with pytest.raises(ValueError, match="4 restarts are needed, got 3"):
        select_restarts([Candidate(0, 0.0, over_pruned=False)] * 3, 2)


@dataclass
class Turned:
    """A model of data that are two factors: its codes are those, turned by an angle."""

    angle: float
    deviation: float = 0.1

    def encode(self, x):
        sin, cos = math.sin(self.angle), math.cos(self.angle)
        mean = x @ torch.tensor([[cos, -sin], [sin, cos]])
        return mean, torch.full_like(mean, 2 * math.log(self.deviation))


@pytest.mark.parametrize(
    ("by", "angles", "order"),
    [
        ("mig", (0.4, 0.0, math.pi / 4, 0.2), [2, 0, 3, 1]),
        ("udr", (0.0, 0.0, math.pi / 4, 0.0), [2, 0, 1, 3]),  # who is unlike the others
    ],
)
def test_planted_rotations_are_ranked(by, angles, order, monkeypatch):
    factors = tuple(Factor(name, tuple(map(float, range(40)))) for name in "ab")
    square = torch.cartesian_prod(torch.linspace(-2, 2, 40), torch.linspace(-2, 2, 40))
    dataset = Dataset("square", ArrayStore(square), factors)
    models = [Turned(angle) for angle in angles]

    def probe(run, dataset, samples):
        test = split(dataset).test[:samples]
        factors = dataset.factor_values(test).numpy()
        return Probe(models[run.config.seed].encode, None, dataset.observe(test), factors)

    monkeypatch.setattr("unpick.perturb.select_restarts.probe_run", probe)
    runs = [Run(Path(), replace(BASE, seed=seed), {}) for seed in range(4)]
    found = score_restarts(runs, dataset, by)
    assert [each.seed for each in sorted(found, key=lambda each: each.score)] == order
    assert not any(each.over_pruned for each in found)
    models[0].deviation = 0.95
    assert [each.over_pruned for each in score_restarts(runs, dataset, by)] == [
        True,
        False,
        False,
        False,
    ]


def test_mig_needs_a_grid():
    with pytest.raises(ValueError, match="choose must be 'udr' for cloud"):
        score_restarts([], Dataset("cloud", ArrayStore(torch.rand(10, 2))), "mig")


def test_the_change_depends_on_one_number_and_stays_within_epsilon():
    dataset = grid()
    w = features(dataset, lambda x: x)(torch.arange(12))
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


def test_a_constant_change_does_not_vary_and_a_flipped_sign_does_on_grey_images():
    pattern = torch.full((1, 4, 4), 0.1)
    same, flipped = torch.stack([pattern, pattern]), torch.stack([pattern, -pattern])
    grey, black = ArrayStore(torch.full((4, 1, 4, 4), 0.5)), ArrayStore(torch.zeros(4, 1, 4, 4))
    often, seldom = torch.tensor([0, 1, 1, 0]), torch.tensor([0, 0, 0, 1])
    assert varying_share(grey, same, often) == 0
    assert varying_share(grey, flipped, often) == pytest.approx(1, abs=0.05)  # of 2000 pairs
    assert varying_share(grey, flipped, seldom) == pytest.approx(0.75, abs=0.05)
    assert varying_share(black, flipped, often) == 0  # what leaves [0, 1] is reflected
    assert varying_share(black, same * torch.tensor([0.0, 1.0])[:, None, None, None], often) > 0.3


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
    found = features(cloud, lambda x: 2 * x)(torch.tensor([4, 1]))
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


def test_decoders_that_start_over_are_judged_after_as_much_training_with_and_without_change():
    running = contest(replace(CONFIG, batch=8, decoder_rate=1e-2))
    first, reports = weights(running.model.decoder), []
    running.advance(12)
    running.reset_decoders()
    assert all(torch.equal(first[k], v) for k, v in running.model.decoder.state_dict().items())
    untrained = running.losses(changed=False)
    before = refit_losses(running, reports.append, changed=False)
    after = refit_losses(running, reports.append, changed=True)
    assert max(before) < min(untrained)
    assert before != after
    assert len(reports) == 2 * 36  # batches of the contest itself, where it is short
    running.change.epsilon = 0.0
    assert refit_losses(running, reports.append, changed=True) == before


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 0.0}, r"epsilon must lie in \(0, 1\], got 0.0"),
        ({"restarts": 3, "ensemble": 2}, "restarts must be at least 4, got 3"),
        ({"levels": 1}, "levels must be at least 2, got 1"),
        ({"learning_rate": -1.0}, "learning_rate of the change must be positive"),
        ({"base": replace(BASE, data=Noisy(BASE.data, 0.1))}, "base must be of an original"),
        (
            {"base": replace(BASE, objective=AE(), model=replace(MODEL, posterior="delta"))},
            "base must be a beta-vae, got ae",
        ),
    ],
)
def test_bad_recipes_say_what_is_wrong(change, message):
    with pytest.raises(ValueError, match=message):
        replace(CONFIG, **change)


def test_a_recipe_names_its_twin():
    others = replace(CONFIG, seed=1), replace(CONFIG, base=replace(BASE, seed=1))
    assert len({config.identity() for config in (CONFIG, *others)}) == 3
    assert CONFIG.data().recipe == CONFIG.identity()
    assert [config.seed for config in others[1].candidates()] == [1, 2, 3]


@pytest.mark.slow
def test_a_twin_is_made_once_and_goes_on_where_it_was_killed(tmp_path, monkeypatch):
    monkeypatch.setenv("UNPICK_DATA", str(tmp_path / "data"))
    runs, killed = tmp_path / "runs", []
    whole = perturb(CONFIG, Runner(runs, progress=False, jobs=1))
    assert whole.folder == tmp_path / "data" / "twins" / f"shapes3d-{CONFIG.identity()}"

    def kill(self, until, advance=Contest.advance):
        if self.step >= 6 and not killed:
            killed.append(self.step)
            raise KeyboardInterrupt
        return advance(self, until)

    monkeypatch.setattr(Contest, "advance", kill)
    runner = Runner(runs, progress=False, checkpoint_seconds=0.0)
    again = str(tmp_path / "again")
    with pytest.raises(KeyboardInterrupt):
        perturb(CONFIG, runner, path=again)
    assert killed
    assert len(list(runs.glob("*-change-*/checkpoint-*"))) == 1
    second = perturb(CONFIG, runner, path=again)
    documents = [json.loads((t.folder / "twin.json").read_text()) for t in (whole, second)]
    assert documents[0] == documents[1]  # the checksum of the change among them
    assert not list(runs.glob("*-change-*"))
    names = {file.name for file in second.folder.iterdir()}
    pictures = {"images.png", "family.png", "losses.png"}
    assert names == {"twin.json", "change.safetensors", *pictures}
    report = documents[0]["report"]
    scores = {each["seed"]: each["score"] for each in report["candidates"]}
    assert scores[report["disentangled"][0]] == max(scores.values())
    assert scores[report["entangled"][0]] == min(scores.values())
    monkeypatch.setattr(Contest, "__init__", None)  # read, not made
    assert perturb(CONFIG, runner, path=again) == second
    with pytest.raises(ValueError, match="holds a twin made in another way"):
        perturb(replace(CONFIG, seed=5), runner, path=again)
    on_twin = replace(BASE, data=second, steps=2)
    assert make([on_twin], Runner(runs, progress=False))[0].path.name.startswith(
        "shapes3d-perturbed"
    )


@pytest.mark.slow
def test_the_command_makes_a_twin_that_train_takes(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("UNPICK_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    options = ["--size", "8", "--network", "mlp", "--encoder", "8", "--decoder", "8"]
    of_change = ["--change-steps", "5", "--restarts", "2", "--out", "twin", "--epsilon", "0.2"]
    with pytest.raises(SystemExit) as stop:
        main(["perturb", "shapes3d", *options, *of_change, "--steps", "5", "--jobs", "1"])
    out = capsys.readouterr().out
    assert stop.value.code == 0
    assert f'load("shapes3d", size=8, perturbed="{tmp_path / "twin"}")' in out
    assert "allowed 0.2" in out
    change = load("shapes3d", size=8, perturbed="twin").observe(torch.arange(99))
    change = change - load("shapes3d", size=8).observe(torch.arange(99))
    assert 0 < change.abs().max() <= 0.2 + 1e-6
    command = out.splitlines()[-1].split()
    assert command[:4] == ["unpick", "train", "shapes3d", "--size"]
    with pytest.raises(SystemExit) as stop:
        main([*command[1:], *options[2:], "--steps", "3", "--jobs", "1"])
    assert stop.value.code == 0
    assert "shapes3d-perturbed-beta-vae-seed0" in capsys.readouterr().out
    (run,) = Path("runs").glob("shapes3d-beta-vae-seed0-*")
    trained = len([*Path("runs").iterdir()])
    of_change[of_change.index("twin")] = "again"
    with pytest.raises(SystemExit) as stop:  # its set-up, and its other seeds beside it
        main(["perturb", str(run), *of_change])
    assert stop.value.code == 0
    assert len([*Path("runs").iterdir()]) == trained
    documents = [json.loads(Path(name, "twin.json").read_text()) for name in ("twin", "again")]
    assert documents[0] == documents[1]
    monkeypatch.chdir(run)  # whose folder has its name here, too
    assert read_run_config(Path()).identity() == run.name[-12:]
    (misled,) = Path("..").glob("shapes3d-perturbed-beta-vae-seed0-*")
    with pytest.raises(SystemExit) as stop:
        main(["perturb", str(misled), "--restarts", "2"])
    assert stop.value.code == 2
    assert "is of a twin; start from a run on the original" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "which data set?"),
        (["sprits"], "did you mean sprites"),
        (["sprites", "--epsilon", "2"], "epsilon must lie in (0, 1], got 2.0"),
        (["sprites", "ae"], "base must be a beta-vae, got ae"),
        (["synth-lin"], "twins are of data in [0, 1], and synth-lin leaves it"),
        (["sprites", "--decoder-rate", "0"], "decoder_rate must be positive"),
        (["sprites", "--change-rate", "0"], "learning_rate of the change must be positive"),
        (["sprites", "--change-steps", "0"], "steps of the change must be at least 1, got 0"),
        (["sprites", "--choose", "udr", "--restarts", "2"], "restarts must be at least 3, got 2"),
        (["sprites", "--latents", "1"], "latents must be at least 2 to be entangled, got 1"),
        ([".", "--restarts", "2"], "is neither a data set nor the folder of a run"),
        ([".", "--preset", "thesis"], ". is a folder: a run has its own set-up and objective"),
        ([".", "beta-vae"], ". is a folder: a run has its own set-up and objective"),
    ],
)
def test_mistakes_exit_2_with_one_line(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(["perturb", *arguments])
    error = capsys.readouterr().err
    assert stop.value.code == 2
    assert message in error
    assert error.count("\n") == 1
